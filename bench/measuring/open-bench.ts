import type { MeasuredWith } from '../../scripts/results/measured-with.ts';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { packageVersion } from '../../src/app/package-version.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Device } from '../../src/core/device.ts';
import type { LoadedModule } from '../../src/core/device-values.ts';
import type { ParameterValues } from '../../src/core/kernel.ts';
import type { LaunchPlan } from '../../src/core/launch-plan.ts';
import type { Comparison } from '../../src/core/measurement.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';
import type { Problem, Workload } from '../../src/core/problem.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { planLaunches } from '../../src/evaluation/launches/plan-launches.ts';
import type { Contender } from '../../src/evaluation/measure/contender.ts';
import { createKernelContender } from '../../src/evaluation/measure/kernel-contender.ts';
import { measureContenders } from '../../src/evaluation/measure/measure-contenders.ts';
import { createSlotJudge } from '../../src/evaluation/measure/slot-judge.ts';
import { createDeviceReference } from '../../src/evaluation/oracle/device-reference.ts';
import { createExpectationCache } from '../../src/evaluation/oracle/expectation-cache.ts';
import type { DeviceReference, WorkOutDisagreement } from '../../src/evaluation/oracle/expectations.ts';
import { createOracleThreads } from '../../src/evaluation/oracle/threads/oracle-threads.ts';
import { compareContenders } from '../../src/stats/compare-contenders.ts';
import { createToolchain } from '../../src/toolchains/create-toolchain.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';

const TIMEOUT_MS = 10_000;

/** A real GPU with a compiler. The kernels measured here are the project's own: nothing about them is verified first. */
export interface Bench extends AsyncDisposable {
  readonly device: Device;
  readonly toolchain: Toolchain;
  readonly deviceReference: DeviceReference;
  /** Works out what slots should hold, as in evaluations. */
  readonly disagree: WorkOutDisagreement;
}

/** What is compared, and how. */
export interface Pair {
  /** Folder of the kernel. */
  readonly kernel: string;
  readonly workload: Workload;
  readonly candidate: Contender;
  readonly baseline: Contender;
}

export async function openBench(deviceId: string): Promise<Bench> {
  const device = await openDevice(deviceId);
  const toolchain = await createToolchain({
    target: 'cuda',
    driverVersion: device.identity.driver,
  });
  const threads = createOracleThreads();
  const deviceReference = createDeviceReference({ device, toolchain, threads });
  return {
    device,
    toolchain,
    deviceReference,
    disagree: createExpectationCache({ threads }).disagree,
    async [Symbol.asyncDispose]() {
      await threads?.close();
      await deviceReference.close();
      await toolchain.close?.();
      await device.close();
    },
  };
}

/** A kernel on the device, ready to be launched. */
export interface OpenKernel {
  readonly problem: Problem;
  readonly workload: Workload;
  readonly module: LoadedModule;
  readonly plan: LaunchPlan;
}

/** Compiles and loads a kernel. @throws Error when that is not possible. */
export async function openKernel(
  { device, toolchain }: Bench,
  request: { kernel: string; workload: string; parameters: ParameterValues },
): Promise<OpenKernel> {
  const { kernel, problem } = await loadKernel(request.kernel);
  const workload = resolveWorkload(problem.file, request.workload);
  const candidate = makeCandidate(kernel, request.parameters);
  const compiled = await toolchain.compile({ candidate, architecture: device.spec.architecture });
  if (!compiled.ok) throw new Error(compiled.message);
  const loaded = await device.load(compiled.code);
  if (!loaded.ok) throw new Error(loaded.message);
  const { module } = loaded;
  const { dimensions } = workload;
  return {
    problem,
    workload,
    module,
    plan: planLaunches({ problem, candidate, dimensions, spec: device.spec, module }),
  };
}

/** The kernel as a contender whose outputs are compared with the reference on the device. */
export function contenderOf(
  { device, deviceReference, disagree }: Bench,
  name: string,
  { problem, workload, module, plan }: OpenKernel,
): Contender {
  const { dimensions } = workload;
  const judge = createSlotJudge({ problem, dimensions, deviceReference, disagree });
  return createKernelContender({ name, device, module, plan, problem, dimensions, judge, timeoutMs: TIMEOUT_MS });
}

/** One kernel with two sets of parameters, each loaded by itself: even equal code lies at two places. */
export async function openPair(
  bench: Bench,
  request: { kernel: string; workload: string; candidate: ParameterValues; baseline: ParameterValues },
): Promise<Pair> {
  const { kernel, workload } = request;
  const candidate = await openKernel(bench, { kernel, workload, parameters: request.candidate });
  const baseline = await openKernel(bench, { kernel, workload, parameters: request.baseline });
  return {
    kernel,
    workload: candidate.workload,
    candidate: contenderOf(bench, 'candidate', candidate),
    baseline: contenderOf(bench, 'baseline', baseline),
  };
}

export type ComparedPair =
  | { ok: true; comparison: Comparison; baselineNs: number; discardedBlockCount: number }
  | { ok: false; reason: string };

/** One comparison by the protocol's `accept` tier; of exactly `blocks` blocks where given. */
export async function comparePair(bench: Bench, pair: Pair, seed: number, blocks?: number): Promise<ComparedPair> {
  const measuring = bench.device.measuring;
  if (!measuring) throw new Error(`${bench.device.identity.id} predicts times; it can't measure them`);
  const measured = await measureContenders({
    contenders: [pair.candidate, pair.baseline],
    cache: pair.workload.cache,
    l2Bytes: measuring.l2Bytes,
    tier: 'accept',
    blocks,
    seed,
    state: () => measuring.state(),
    use: measuring.use,
  });
  const [failure] = measured.failed;
  if (failure) return { ok: false, reason: `${failure.contender}: ${failure.status}: ${failure.reason}` };
  return {
    ok: true,
    comparison: compareContenders(measured.blocks, { candidate: 'candidate', baseline: 'baseline' }, seed),
    baselineNs: measured.measurements.get('baseline')!.summary.medianNs,
    discardedBlockCount: measured.blocks.filter(({ discarded }) => discarded !== undefined).length,
  };
}

/** What the recording depends on. */
export const measuredWith = ({
  device,
  toolchain,
}: {
  device: Pick<Device, 'identity'>;
  toolchain: Pick<Toolchain, 'identity'>;
}): MeasuredWith => ({
  device: device.identity.name,
  driver: device.identity.driver ?? 'unknown',
  versions: {
    warpsmith: packageVersion(),
    node: process.versions.node,
    compiler: `${toolchain.identity.name} ${toolchain.identity.version}`,
  },
  recordedAt: new Date().toISOString(),
});
