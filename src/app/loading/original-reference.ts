import { makeCandidate } from '../../core/candidate.ts';
import type { Device } from '../../core/device.ts';
import type { LoadedModule } from '../../core/device-values.ts';
import { WarpsmithError } from '../../core/errors.ts';
import { createTurns } from '../../core/in-turn.ts';
import type { Candidate, Kernel } from '../../core/kernel.ts';
import { completeParameters } from '../../core/plan/parameters.ts';
import type { Problem, ProblemFile, ReferenceRun, ReferenceTensors, RunReference } from '../../core/problem.ts';
import { decode } from '../../core/rounding.ts';
import { openDevice } from '../../devices/open-device.ts';
import { planLaunches } from '../../evaluation/launches/plan-launches.ts';
import { NAN_POISON } from '../../evaluation/launches/poison.ts';
import { allocateCheckMemory, runOnce } from '../../evaluation/launches/run-once.ts';
import { encodeInputs } from '../../evaluation/oracle/perturbed-bytes.ts';
import { createClangToolchain } from '../../toolchains/clang.ts';

/** Every original runs there, whatever judges: results are the same on every machine. */
const DEVICE = 'virtual:l4';
const RUN_TIMEOUT_MS = 120_000;
const IDLE_MS = 1000;

/** An original that is compiled and loaded. */
interface Loaded {
  readonly device: Device;
  readonly module: LoadedModule;
  readonly candidate: Candidate;
}

/**
 * A kernel as reference: its results on a virtual GPU are right by definition. Inputs are rounded to their dtypes, and results are
 * as exact as the kernel's own arithmetic. One run at a time; the device closes when idle.
 */
export function originalReference(file: ProblemFile, kernel: Kernel): RunReference {
  let loaded: Promise<Loaded> | undefined;
  let idle: NodeJS.Timeout | undefined;
  const inTurn = createTurns();
  const close = async (): Promise<void> => {
    const open = loaded;
    loaded = undefined;
    await (await open?.catch(() => undefined))?.device.close();
  };
  return (run) =>
    inTurn(async () => {
      run.signal?.throwIfAborted();
      clearTimeout(idle);
      refuseRounding(file, run, kernel);
      loaded ??= load(file, kernel);
      try {
        return await runOriginal(file, await loaded, run);
      } catch (error) {
        await close();
        throw error;
      } finally {
        clearTimeout(idle);
        idle = setTimeout(() => void close(), IDLE_MS);
      }
    });
}

async function load(file: ProblemFile, kernel: Kernel): Promise<Loaded> {
  const candidate = makeCandidate(kernel, completeParameters(kernel.file, {}));
  const device = await openDevice(DEVICE);
  const toolchain = await createClangToolchain();
  try {
    const compiled = await toolchain.compile({ candidate, architecture: device.spec.architecture });
    if (!compiled.ok) throw failed(file, kernel, 'does not compile', compiled.message);
    const outcome = await device.load(compiled.code);
    if (!outcome.ok) throw failed(file, kernel, `does not load on ${DEVICE}`, outcome.message);
    return { device, module: outcome.module, candidate };
  } catch (error) {
    await device.close();
    throw error;
  } finally {
    await toolchain.close?.();
  }
}

async function runOriginal(
  file: ProblemFile,
  { device, module, candidate }: Loaded,
  { inputs, dimensions }: ReferenceRun,
): Promise<ReferenceTensors> {
  const { kernel } = candidate;
  const problem: Problem = { folder: kernel.folder, file, reference: async () => ({}) };
  const plan = planLaunches({ problem, candidate, dimensions, spec: device.spec, module });
  const memory = await allocateCheckMemory(device, plan, encodeInputs(plan.buffers, inputs));
  try {
    const conditions = { name: 'original', orderSeed: 0, poison: NAN_POISON, count: false, timeoutMs: RUN_TIMEOUT_MS };
    const result = await runOnce(memory, module, conditions);
    if (!result.ok) throw failed(file, kernel, `is ${result.status}`, result.message);
    const results = plan.buffers.filter(({ name }) => result.outputs.has(name));
    return Object.fromEntries(results.map(({ name, dtype }) => [name, decode(result.outputs.get(name)!, dtype)]));
  } finally {
    await memory.close();
  }
}

/** What a kernel rounds is fixed. */
function refuseRounding({ name }: ProblemFile, { rounding, mistake }: ReferenceRun, { folder }: Kernel): void {
  if (mistake === undefined && rounding === 'exact') return;
  throw new WarpsmithError({
    code: 'reference-rounds-nothing',
    message: `the original of ${name} is a kernel, whose intermediate results can't be changed`,
    file: `${folder}/kernel.json`,
    received: mistake ?? JSON.stringify(rounding),
    expected: 'a comparison without roundings, and no mistakes',
    hint: 'Write a reference for what needs one.',
  });
}

const failed = ({ name }: ProblemFile, { folder }: Kernel, what: string, message: string): WarpsmithError =>
  new WarpsmithError({
    code: 'original-failed',
    message: `the original of ${name} ${what}: ${message}`,
    file: `${folder}/kernel.json`,
    received: message,
    expected: `a kernel that runs on ${DEVICE} at every shape that problem.json admits`,
    hint: 'Correct the original or the shapes, or write a reference.',
  });
