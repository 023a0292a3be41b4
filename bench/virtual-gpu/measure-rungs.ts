/** What the programs that measure kernels of problems/ on a virtual device have in common. */
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Device } from '../../src/core/device.ts';
import type { LaunchPlan } from '../../src/core/launch-plan.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { planLaunches } from '../../src/evaluation/launches/plan-launches.ts';
import { NAN_POISON } from '../../src/evaluation/launches/poison.ts';
import {
  allocateCheckMemory,
  type RunConditions,
  type RunResult,
  runOnce,
} from '../../src/evaluation/launches/run-once.ts';
import { takesShape } from '../../src/evaluation/oracle/checks/request.ts';
import { drawInputs } from '../../src/evaluation/oracle/draw-inputs.ts';
import { median } from '../../src/stats/quantile.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';
import { type OpenRecording, openRecording } from '../recording-file.ts';
import { loadRung, type Rung } from './rungs.ts';

const LIMIT_MS = 600_000;

type Conditions = Pick<RunConditions, 'name' | 'count' | 'findsRaces' | 'sampleCtas'> &
  Partial<Pick<RunConditions, 'timeoutMs'>>;

/** A kernel that is compiled and loaded, with inputs. */
export interface ReadyRung {
  readonly rung: Rung;
  readonly device: Device;
  readonly plan: LaunchPlan;
  readonly dimensions: Readonly<Record<string, number>>;
  /** Runs the launches once. @throws Error if they fail. */
  launch(conditions: Conditions): Promise<Launched>;
}

interface Launched extends RunResult {
  readonly processorMs: number;
}

type Measure<T> = (ready: ReadyRung) => Promise<T>;

async function measureOn<T>(device: Device, toolchain: Toolchain, rung: Rung, measure: Measure<T>): Promise<T> {
  const { kernel, problem, workload } = rung;
  const candidate = makeCandidate(kernel, {});
  const { spec } = device;
  const compiled = await toolchain.compile({ candidate, architecture: spec.architecture });
  if (!compiled.ok) throw new Error(compiled.message);
  const loaded = await device.load(compiled.code);
  if (!loaded.ok) throw new Error(loaded.message);
  const { module } = loaded;
  const { dimensions } = resolveWorkload(problem.file, workload);
  const { parameters } = candidate;
  if (!takesShape({ problem: problem.file, kernel: kernel.file, parameters })(dimensions))
    throw new Error(`${kernel.file.name} does not take ${workload}: give another --workload`);
  const plan = planLaunches({ problem, candidate, dimensions, spec, module });
  const { bytes } = drawInputs({ problem, buffers: plan.buffers, dimensions, seed: 1, generatorSet: 'declared' });
  const memory = await allocateCheckMemory(device, plan, bytes);
  const launch: ReadyRung['launch'] = async (conditions) => {
    const before = process.cpuUsage();
    const outcome = await runOnce(memory, module, {
      ...{ orderSeed: 0, poison: NAN_POISON, timeoutMs: LIMIT_MS },
      ...conditions,
    });
    if (!outcome.ok) throw new Error(outcome.message);
    const { user, system } = process.cpuUsage(before);
    return { ...outcome, processorMs: (user + system) / 1000 };
  };
  try {
    return await measure({ rung, device, plan, dimensions, launch });
  } finally {
    await memory.close();
  }
}

/** Median processor times of two kinds of launches, in alternating runs. */
export async function medianMs<K extends string>(
  runs: number,
  kinds: readonly [K, K],
  launch: (kind: K) => Promise<Launched>,
): Promise<Record<K, number>> {
  const taken = Object.fromEntries(kinds.map((kind) => [kind, [] as number[]])) as Record<K, number[]>;
  // The first pair compiles, and is not measured.
  for (let run = 0; run <= runs; run++)
    for (const kind of run % 2 === 0 ? kinds : kinds.toReversed()) {
      const { processorMs } = await launch(kind);
      if (run > 0) taken[kind].push(processorMs);
    }
  return Object.fromEntries(kinds.map((kind) => [kind, median(taken[kind])])) as Record<K, number>;
}

export const rounded = (value: number): number => Number(value.toPrecision(4));

interface Recording<T> {
  /** Day of the last change, UTC. */
  date: string;
  kernels: readonly T[];
}

/**
 * The recording in a file, to be continued; undefined where no file is wanted.
 * @param fresh what a new one starts with.
 * @throws Error if what is there are medians of another number of runs.
 */
export async function openIfWanted<R extends { readonly runs?: number; date: string }>(
  file: string | undefined,
  fresh: R,
): Promise<OpenRecording<R> | undefined> {
  if (file === undefined) return undefined;
  const open = await openRecording(file, () => fresh);
  const { runs } = open.recording;
  if (runs !== fresh.runs) throw new Error(`${file} has medians of ${runs} runs: measure with --runs ${runs}`);
  return open;
}

/**
 * Measures kernels one after the other, each on one thread of the device that it is written for. Prints a line for each. A recording is
 * written after each of them: what is there already stays, unless it is measured again, so that a run that was cut off can go on with
 * what is left.
 * @param nameOf names an entry among those of the recording, which is in the order of these names.
 */
export async function measureRungs<T extends { kernel: string }>(
  rungs: readonly (readonly [folder: string, workload: string | undefined])[],
  open: OpenRecording<Recording<T>> | undefined,
  measure: Measure<T>,
  nameOf: (one: T) => string = ({ kernel }) => kernel,
): Promise<void> {
  const toolchain = await createClangToolchain();
  for (const [folder, workload] of rungs) {
    const rung = await loadRung(folder, workload);
    const device = await openDevice(rung.device, { threads: 1 });
    try {
      const taken = await measureOn(device, toolchain, rung, measure);
      process.stdout.write(`${JSON.stringify(taken)}\n`);
      if (!open) continue;
      const others = open.recording.kernels.filter((one) => nameOf(one) !== nameOf(taken));
      open.recording.kernels = [...others, taken].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
      open.recording.date = new Date().toISOString().slice(0, 10);
      await open.save();
    } catch (error) {
      process.stderr.write(`${folder}: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exitCode = 1;
    } finally {
      await device.close();
    }
  }
}
