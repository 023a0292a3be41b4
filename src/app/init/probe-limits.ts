import { makeCandidate } from '../../core/candidate.ts';
import type { CompiledCode } from '../../core/compiled-code.ts';
import type { Device } from '../../core/device.ts';
import type { DeviceFailure, LoadedModule } from '../../core/device-values.ts';
import { unlessRefused } from '../../core/errors.ts';
import type { Kernel, KernelSource, ParameterValues } from '../../core/kernel.ts';
import type { Dimensions, Problem, ProblemSource } from '../../core/problem.ts';
import { bindKernelFile, parseProblemFile } from '../../core/schemas/parse-files.ts';
import { openDevice } from '../../devices/open-device.ts';
import { planLaunches } from '../../evaluation/launches/plan-launches.ts';
import { NAN_POISON } from '../../evaluation/launches/poison.ts';
import { allocateCheckMemory, type RunResult, runOnce } from '../../evaluation/launches/run-once.ts';
import { drawInputs } from '../../evaluation/oracle/draw-inputs.ts';

/** Dimension → what it must be a multiple of. */
export type Multiples = ReadonlyMap<string, number>;

/** Powers of two that a tile may be, each with a size that is a multiple of it and not of the next. */
const TILES = [1, 2, 4, 8, 16, 32, 64, 128].map((tile) => ({ tile, size: tile * (tile < 16 ? 64 / tile + 1 : 3) }));
/** Sizes that tiles divide, for the dimensions that are not being looked at. */
const EVEN = [128, 256];
const RAGGED = [33, 65, 17, 3, 2];
const RUN_TIMEOUT_MS = 5000;
const PROBE_MS = 20_000;

/**
 * Runs a kernel on small shapes of a virtual GPU, to find the dimensions whose sizes it takes only as multiples of a tile: those
 * at which it reads or writes outside of a buffer otherwise. Compares no results.
 *
 * @param open dimensions that may vary. Returns undefined if no shape was found on which the kernel stays inside.
 */
export async function probeMultiples(
  problem: ProblemSource,
  kernel: KernelSource,
  code: CompiledCode,
  open: readonly string[],
): Promise<Multiples | undefined> {
  const device = await openDevice('virtual:l4');
  try {
    const loaded = await device.load(code);
    if (!loaded.ok) return new Map();
    const file = parseProblemFile(JSON.stringify(problem), 'problem.json');
    const parts: Parts = {
      device,
      module: loaded.module,
      problem: { folder: '.', file, reference: async () => ({}) },
      kernel: { folder: kernel.name, file: bindKernelFile(kernel, undefined, 'kernel.json'), sources: {} },
      parameters: {},
      fixed: problem.checkShapes[0]!.dimensions,
    };
    return await multiplesOf(parts, open);
  } finally {
    await device.close();
  }
}

export interface RunParts {
  readonly device: Device;
  readonly module: LoadedModule;
  readonly problem: Problem;
  readonly kernel: Kernel;
  readonly parameters: ParameterValues;
  /** Wall time, which a busy machine has little of; by default so short that a kernel that hangs does not hold up the others. */
  readonly timeoutMs?: number;
}

interface Parts extends RunParts {
  /** Of dimensions that may not vary. */
  readonly fixed: Dimensions;
}

async function multiplesOf(parts: Parts, open: readonly string[]): Promise<Multiples | undefined> {
  const deadline = performance.now() + PROBE_MS;
  const stays = (sizes: Dimensions): Promise<boolean> => staysInside(parts, { ...parts.fixed, ...sizes });
  const all = (size: (i: number) => number): Dimensions => Object.fromEntries(open.map((name, i) => [name, size(i)]));
  if (await stays(all((i) => RAGGED[i % RAGGED.length]!))) return new Map();
  for (const even of EVEN) {
    const base = all(() => even);
    if (!(await stays(base))) continue;
    const multiples = new Map<string, number>();
    for (const name of open) {
      for (const { tile, size } of TILES) {
        if (performance.now() > deadline) return undefined;
        if (!(await stays({ ...base, [name]: size }))) continue;
        if (tile > 1) multiples.set(name, tile);
        break;
      }
    }
    return multiples;
  }
  return undefined;
}

async function staysInside(parts: Parts, dimensions: Dimensions): Promise<boolean> {
  const result = await runAt(parts, dimensions);
  return result !== undefined && (result.ok || result.status !== 'unsafe');
}

/** One run over drawn inputs; undefined where the launches can't be planned, as where `M / 64` is no CTA. */
export async function runAt(
  { device, module, problem, kernel, parameters, timeoutMs = RUN_TIMEOUT_MS }: RunParts,
  dimensions: Dimensions,
): Promise<RunResult | DeviceFailure | undefined> {
  const candidate = makeCandidate(kernel, parameters);
  const plan = unlessRefused(() => planLaunches({ problem, candidate, dimensions, spec: device.spec }));
  if (plan === undefined) return undefined;
  const { bytes } = drawInputs({ problem, buffers: plan.buffers, dimensions, seed: 1, generatorSet: 'declared' });
  const memory = await allocateCheckMemory(device, plan, bytes);
  const conditions = { name: 'probe', orderSeed: 1, poison: NAN_POISON, count: false, timeoutMs };
  try {
    return await runOnce(memory, module, conditions);
  } finally {
    await memory.close();
  }
}
