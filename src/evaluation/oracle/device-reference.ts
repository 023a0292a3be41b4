import { makeCandidate } from '../../core/candidate.ts';
import type { Device } from '../../core/device.ts';
import type { LoadedModule } from '../../core/device-values.ts';
import { WarpsmithError } from '../../core/errors.ts';
import { createTurns } from '../../core/in-turn.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import { deviceReferenceWorkspaces } from '../../core/plan/device-reference-workspaces.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import { failedLimit } from '../../core/plan/limits.ts';
import { completeParameters } from '../../core/plan/parameters.ts';
import type { Problem, ReferenceTensors } from '../../core/problem.ts';
import { decode } from '../../core/rounding.ts';
import type { Toolchain } from '../../toolchains/toolchain.ts';
import { elementCountOf } from '../launches/layout.ts';
import { planLaunches } from '../launches/plan-launches.ts';
import { allocateCheckMemory } from '../launches/run-once.ts';
import { startOnDemand } from '../launches/start-on-demand.ts';
import type { DeviceReference, ReferenceRequest } from './expectations.ts';
import { devicePerturbation } from './perturbed-inputs.ts';
import { type PerturbedRun, type ReferenceRuns, runsNeeded } from './reference-runs.ts';
import { perturbBeside } from './threads/beside.ts';
import type { OracleThreads } from './threads/oracle-threads.ts';

export interface DeviceReferenceOptions {
  /**
   * A separate device, which the caller owns: expected outputs must not lie in memory of the process that runs candidates.
   */
  readonly device: Device;
  readonly toolchain: Toolchain;
  /** Wall-clock limit of one run, in ms. */
  readonly timeoutMs?: number;
  /** Perturb inputs beside this thread. */
  readonly threads?: OracleThreads | undefined;
}

const DEFAULT_TIMEOUT_MS = 120_000;

const NOTHING = (): void => {};

/** A problem's reference, compiled and loaded. */
interface LoadedReference {
  readonly candidate: Candidate;
  readonly module: LoadedModule;
}

/** Runs the problems' device references, one at a time. */
export function createDeviceReference(options: DeviceReferenceOptions): DeviceReference {
  const loaded = startOnDemand((problem: Problem) => load(options, problem));
  const inTurn = createTurns();
  return {
    run: (request) =>
      inTurn(async () => {
        const { problem, dimensions } = request;
        const { deviceReference } = problem;
        if (!deviceReference || failedLimit(deviceReference.file, dimensions) !== undefined) return undefined;
        const reference = await loaded.get(problem);
        try {
          return await runReferences(options, reference, request);
        } catch (error) {
          // The loaded code may have gone with the device's process, so the next run loads it again.
          loaded.forget(problem);
          await options.device.unload(reference.module).catch(() => {});
          throw error;
        }
      }),
    // Why it can't be loaded is said when it is run.
    prepare: (problem) => inTurn(() => loaded.get(problem)).then(NOTHING, NOTHING),
    close: () =>
      inTurn(async () => {
        for (const { module } of await loaded.started()) await options.device.unload(module);
        loaded.forgetAll();
      }),
  };
}

/** @throws WarpsmithError if the reference does not compile or load, which is a fault of the problem or the machine. */
async function load({ device, toolchain }: DeviceReferenceOptions, problem: Problem): Promise<LoadedReference> {
  const kernel = problem.deviceReference!;
  const candidate = makeCandidate(kernel, completeParameters(kernel.file, {}));
  const compiled = await toolchain.compile({ candidate, architecture: device.spec.architecture });
  if (!compiled.ok) throw failed(problem, 'does not compile', compiled.message);
  const outcome = await device.load(compiled.code);
  if (!outcome.ok) throw failed(problem, `does not load on ${device.identity.id}`, outcome.message);
  return { candidate, module: outcome.module };
}

/** The oracle and, if the comparison needs them, the naive run and oracles of perturbed inputs. */
async function runReferences(
  options: DeviceReferenceOptions,
  reference: LoadedReference,
  request: ReferenceRequest,
): Promise<ReferenceRuns> {
  const { problem, dimensions, inputs, tensors, leastTolerances = false, sure = false } = request;
  const buffers = expandBuffers(problem.file, dimensions);
  const needed = runsNeeded(problem, buffers, { sure });
  // Threads perturb while the device runs.
  const changed = Array.from({ length: leastTolerances ? 0 : needed.perturbedRuns }, (_, run) =>
    perturbBeside(options.threads, problem, dimensions, { inputs, tensors }, run),
  );
  for (const one of changed) one.catch(() => {}); // Whoever waits for it is told.
  const { oracle, naive } = await runOnDevice(options, reference, request);
  const perturbed: PerturbedRun[] = [];
  for (const begun of changed) {
    const { oracle: outputs } = await runOnDevice(options, reference, { ...request, inputs: await begun }, ['oracle']);
    perturbed.push({ relative: devicePerturbation(buffers), outputs });
  }
  return { oracle, naive: needed.naive ? naive : undefined, perturbed: perturbed.length > 0 ? perturbed : undefined };
}

async function runOnDevice(
  { device, timeoutMs = DEFAULT_TIMEOUT_MS }: DeviceReferenceOptions,
  { candidate, module }: LoadedReference,
  { problem, dimensions, inputs }: ReferenceRequest,
  wanted: readonly ('oracle' | 'naive')[] = ['oracle', 'naive'],
): Promise<{ oracle: ReferenceTensors; naive: ReferenceTensors }> {
  const plan = planLaunches({ problem, candidate, dimensions, spec: device.spec, module });
  const memory = await allocateCheckMemory(device, plan, inputs);
  try {
    for (const { name, role, init } of plan.buffers) {
      if (role === 'inout') await device.write(memory.buffers.get(name)!, inputs.get(name)!);
      if (init === 'zero') await device.fill(memory.buffers.get(name)!, new Uint8Array(1));
    }
    const outcome = await device.run(module, plan, memory.buffers, { orderSeed: 0, count: false, timeoutMs });
    if (!outcome.ok) throw failed(problem, `fails on ${device.identity.id}`, outcome.message);
    const runs = { oracle: {} as Record<string, Float64Array>, naive: {} as Record<string, Float64Array> };
    for (const { name, output, run, dtype } of deviceReferenceWorkspaces(problem.file)) {
      if (!wanted.includes(run) || !plan.buffers.some((buffer) => buffer.name === output)) continue;
      const bytes = await device.read(memory.buffers.get(name)!);
      runs[run][output] = dtype === 'f64' ? asNumbers(bytes) : decode(bytes, dtype);
      checkSize(problem, plan, name, output, runs[run][output].length);
    }
    return runs;
  } finally {
    await memory.close();
  }
}

/** The float64 numbers that were read, where they lie if nothing else lies there: a copy of millions takes as long as reading them. */
const asNumbers = (bytes: Uint8Array): Float64Array =>
  bytes.buffer instanceof ArrayBuffer && bytes.buffer.byteLength === bytes.byteLength
    ? new Float64Array(bytes.buffer)
    : decode(bytes, 'f64');

function checkSize(problem: Problem, plan: LaunchPlan, name: string, output: string, received: number): void {
  const expected = elementCountOf(plan.buffers.find((buffer) => buffer.name === output)!);
  if (received !== expected)
    throw failed(problem, `has a workspace ${name} of ${received} elements`, `${expected} expected`);
}

const failed = (problem: Problem, what: string, message: string): WarpsmithError =>
  new WarpsmithError({
    code: 'device-reference-failed',
    message: `the device reference of ${problem.file.name} ${what}: ${message}`,
    file: `${problem.deviceReference!.folder}/kernel.json`,
    hint: 'Without `deviceReference` in problem.json, the reference on the host is used for every shape.',
  });

/**
 * A device reference that opens its device when a problem first needs it.
 *
 * @param options.openDevice opens the GPU in a process of its own; closing the reference closes it.
 */
export function lazyDeviceReference(options: {
  readonly openDevice: () => Promise<Device>;
  readonly toolchain: Toolchain;
  readonly threads?: OracleThreads | undefined;
}): DeviceReference {
  const opened = startOnDemand(async (_only: 'reference') => {
    const device = await options.openDevice();
    return { device, reference: createDeviceReference({ ...options, device }) };
  });
  return {
    async run(request) {
      if (!request.problem.deviceReference) return undefined;
      return (await opened.get('reference')).reference.run(request);
    },
    async prepare(problem) {
      if (problem.deviceReference)
        await opened.get('reference').then(({ reference }) => reference.prepare?.(problem), NOTHING);
    },
    async close() {
      for (const { device, reference } of await opened.started()) {
        await reference.close();
        await device.close();
      }
    },
  };
}
