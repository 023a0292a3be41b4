import type { Device } from '../../core/device.ts';
import type { LoadedModule } from '../../core/device-values.ts';
import type { Energy } from '../../core/energy.ts';
import { type BaselineMeasurement, type Evaluation, WHILE_TIMED } from '../../core/evaluation.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import type { Comparison, Measurement, Tier } from '../../core/measurement.ts';
import type { Problem, Workload } from '../../core/problem.ts';
import { besideAndAlone } from '../../stats/baseline-steadiness.ts';
import { compareContenders } from '../../stats/compare-contenders.ts';
import type { Refused } from '../launches/refusal.ts';
import type { DeviceReference, WorkOutDisagreement } from '../oracle/expectations.ts';
import type { Contender } from './contender.ts';
import { createKernelContender } from './kernel-contender.ts';
import { type FailedContender, type MeasuredContenders, measureContenders } from './measure-contenders.ts';
import { measureEnergy } from './measure-energy.ts';
import { createSlotJudge } from './slot-judge.ts';

/** A kernel that is loaded and known to be right. */
export interface LoadedKernel {
  readonly name: string;
  readonly module: LoadedModule;
  readonly plan: LaunchPlan;
}

/** A library call to measure beside the candidate, with its description. */
export interface LibraryContender {
  readonly contender: Contender;
  /** After measuring: e.g. versions, and the GPU kernels that ran. */
  describe(): Promise<Pick<BaselineMeasurement, 'versions' | 'gpuKernels'>>;
}

export interface MeasureCandidateRequest {
  readonly device: Device;
  readonly problem: Problem;
  readonly workload: Workload;
  readonly candidate: LoadedKernel;
  readonly against: readonly LoadedKernel[];
  readonly libraries: readonly LibraryContender[];
  readonly tier: Tier;
  readonly blocks?: number;
  readonly seed: number;
  readonly secret?: number | undefined;
  readonly timeoutMs: number;
  readonly deviceReference?: DeviceReference | undefined;
  /** Works out what slots should hold; this thread does if absent. */
  readonly disagree?: WorkOutDisagreement | undefined;
  readonly signal?: AbortSignal;
}

/** The candidate's own measurement, and its comparisons with its baselines. */
export interface MeasuredCandidate {
  readonly ok: true;
  readonly measurement: Measurement;
  readonly comparisons: Comparison[];
  readonly baselines: BaselineMeasurement[];
  /** Baselines that could not be measured, and why. */
  readonly missingBaselines: NonNullable<Evaluation['missingBaselines']>;
}

/** Times a candidate beside other kernels and library calls. Failures of the candidate are values. */
export async function measureCandidate(request: MeasureCandidateRequest): Promise<MeasuredCandidate | Refused> {
  const { device, problem, workload, candidate, against, libraries, tier, blocks, seed, secret, signal } = request;
  const kernels = [candidate, ...against].map((kernel) => kernelContender(request, kernel));
  const measured = await measureContenders({
    contenders: [...kernels, ...libraries.map(({ contender }) => contender)],
    cache: workload.cache,
    l2Bytes: device.measuring!.l2Bytes,
    tier,
    blocks,
    seed,
    secret,
    state: () => device.measuring!.state(),
    use: device.measuring!.use,
    signal,
  });
  const measurement = measured.measurements.get(candidate.name);
  const failure = measured.failed.find(({ contender }) => contender === candidate.name);
  if (failure && failure.status !== 'device-failed')
    return { ok: false, status: failure.status, reason: failure.reason, failedCheck: WHILE_TIMED };
  if (!measurement || measured.isDeviceLost || !(measurement.summary.medianNs > 0))
    return unmeasured(problem, candidate.name, measured);
  return {
    ok: true,
    measurement,
    ...(await besideIt(request, measured)),
    missingBaselines: measured.failed.map(asMissing),
  };
}

/** The energy of a candidate that was timed just now, beside that of the same baseline kernels. */
export const energyBeside = (request: MeasureCandidateRequest & { readonly secret: number }): Promise<Energy> =>
  measureEnergy({
    measuring: request.device.measuring!,
    contenders: [request.candidate, ...request.against].map((kernel) => kernelContender(request, kernel)),
    cache: request.workload.cache,
    seed: request.seed,
    secret: request.secret,
    signal: request.signal,
  });

function kernelContender(request: MeasureCandidateRequest, { name, module, plan }: LoadedKernel): Contender {
  const { device, problem, workload, timeoutMs, deviceReference, disagree, signal } = request;
  const { dimensions } = workload;
  const judge = createSlotJudge({ problem, dimensions, deviceReference, disagree, signal });
  return createKernelContender({ name, device, module, plan, problem, dimensions, judge, timeoutMs });
}

/** Another contender ended the device process, or no block counted. */
function unmeasured(
  problem: Problem,
  candidate: string,
  { failed, blocks, isDeviceLost }: MeasuredContenders,
): Refused {
  const status = 'device-failed';
  const others = failed.filter(({ contender }) => contender !== candidate);
  const missingBaselines = others.length > 0 ? others.map(asMissing) : undefined;
  if (isDeviceLost) {
    const [other] = others;
    const reason = other
      ? `${other.contender}, which ran in the same blocks, ended the device process: ${other.reason}`
      : failed[0]!.reason;
    return { ok: false, status, reason, missingBaselines };
  }
  const discarded = blocks.filter((block) => block.discarded !== undefined).length;
  const reason = `no block of the measurement of ${problem.file.name} counts: ${discarded} of ${blocks.length} were discarded`;
  return { ok: false, status, reason, missingBaselines };
}

const asMissing = ({ contender, reason }: FailedContender): { name: string; reason: string } => ({
  name: contender,
  reason,
});

async function besideIt(
  { candidate, against, libraries, seed }: MeasureCandidateRequest,
  { measurements, blocks, aloneNs }: MeasuredContenders,
): Promise<Pick<MeasuredCandidate, 'comparisons' | 'baselines'>> {
  const baselines: BaselineMeasurement[] = [];
  for (const { name } of against) {
    const measurement = measurements.get(name);
    if (measurement) baselines.push({ name, kind: 'kernel', measurement });
  }
  for (const { contender, describe } of libraries) {
    const measurement = measurements.get(contender.name);
    if (measurement) baselines.push({ name: contender.name, kind: 'library', measurement, ...(await describe()) });
  }
  const comparisons = baselines.map(({ name }) => {
    const comparison = compareContenders(blocks, { candidate: candidate.name, baseline: name }, seed);
    const alone = aloneNs.get(name);
    return alone ? besideAndAlone(comparison, blocks, alone) : comparison;
  });
  return { comparisons, baselines };
}
