import type { Device } from '../core/device.ts';
import type { LoadedModule } from '../core/device-values.ts';
import { type Energy, measuredEnergy } from '../core/energy.ts';
import type { Evaluation, EvaluationRequest } from '../core/evaluation.ts';
import type { Candidate } from '../core/kernel.ts';
import type { LaunchPlan } from '../core/launch-plan.ts';
import type { Comparison, Measurement } from '../core/measurement.ts';
import type { Timing } from '../core/timing.ts';
import { attainableBoundNs, type ProblemWork, vetoBoundNs } from '../hardware/bounds.ts';
import { type Instruments, librariesFor } from './instruments/instruments.ts';
import type { Refused } from './launches/refusal.ts';
import {
  energyBeside,
  type LoadedKernel,
  type MeasuredCandidate,
  measureCandidate,
} from './measure/measure-candidate.ts';
import type { ExpectationCache } from './oracle/expectation-cache.ts';
import { implausibility, type Outcome, refusalOutcome } from './outcome.ts';
import { peaksOf } from './peaks-of.ts';
import { problemWork } from './problem-work.ts';
import type { Verified } from './verify/verify-request.ts';

export interface MeasureOutcomeOptions {
  readonly device: Device;
  readonly request: EvaluationRequest;
  readonly oracle: ExpectationCache;
  readonly instruments?: Instruments | undefined;
  /** What measuring chooses by and no kernel can know. */
  readonly secret: number;
  /** Limit of one launch sequence, in ms. */
  readonly timeoutMs: number;
  /** Compiles and loads a baseline kernel; returns a text if that failed. */
  readonly loadBeside: (candidate: Candidate) => Promise<Omit<LoadedKernel, 'name'> | string>;
  /** What the sanitizer found while the candidate was verified; it runs after the measurement if absent. */
  readonly sanitized?: Pick<Evaluation, 'sanitizer'> | undefined;
}

/** Name of the candidate among the contenders. */
const CANDIDATE = 'candidate';

/** Measures a verified candidate beside the requested baselines, then profiles and sanitizes it if requested. */
export async function measureOutcome(
  options: MeasureOutcomeOptions,
  module: LoadedModule,
  { correctness, coverage, plan }: Verified,
): Promise<Outcome> {
  const { device, request } = options;
  const against: LoadedKernel[] = [];
  try {
    const missing = await loadAgainst(options, against);
    if (missing) return { status: 'device-failed', reason: missing };
    const measured = await timeBeside(options, { name: CANDIDATE, module, plan }, against);
    if (!measured.ok) return { ...refusalOutcome(request.candidate.kernel, measured), correctness, coverage };
    const { measurement, comparisons, baselines, missingBaselines } = measured;
    const timing = await measuredTiming(options, measurement);
    const evidence = {
      timing,
      correctness,
      coverage,
      comparisons: comparisons.length > 0 ? comparisons : undefined,
      baselines: baselines.length > 0 ? baselines : undefined,
      missingBaselines: missingBaselines.length > 0 ? missingBaselines : undefined,
    };
    const implausible = implausibility(timing, vetoBoundNs(workOf(request, measurement), device.spec).arithmetic);
    if (implausible) return { status: 'implausible', reason: implausible, ...evidence };
    const energy = request.energy
      ? await energyBeside(measuringOf(options, { name: CANDIDATE, module, plan }, against))
      : undefined;
    return {
      ...{ status: 'passed', ...evidence, energy },
      ...(await instrument(options, { module, plan, timing }, { comparisons, energy })),
    };
  } finally {
    for (const kernel of against) await device.unload(kernel.module);
  }
}

/** Profiles a candidate that passed before, without measuring. A profile needs no oracle. */
export const profileOutcome = async (
  options: Pick<MeasureOutcomeOptions, 'device' | 'request' | 'oracle' | 'instruments' | 'sanitized'>,
  module: LoadedModule,
  plan: LaunchPlan,
  { timing, ...evidence }: Pick<Verified, 'correctness' | 'coverage'> & { readonly timing: Timing },
): Promise<Outcome> => ({
  status: 'passed',
  ...evidence,
  timing,
  ...(await instrument(options, { module, plan, timing }, { comparisons: [] })),
});

/** A baseline kernel passed before. If it fails now, the candidate is not to blame. */
async function loadAgainst(
  { request, loadBeside }: MeasureOutcomeOptions,
  against: LoadedKernel[],
): Promise<string | undefined> {
  for (const { name, candidate } of request.against ?? []) {
    const loaded = await loadBeside(candidate);
    if (typeof loaded === 'string') return `baseline ${name} can't be loaded any more: ${loaded}`;
    against.push({ name, ...loaded });
  }
  return undefined;
}

async function timeBeside(
  options: MeasureOutcomeOptions,
  candidate: LoadedKernel,
  against: readonly LoadedKernel[],
): Promise<MeasuredCandidate | Refused> {
  const { request, instruments } = options;
  const { problem, workload, seed, libraryBaselines = [] } = request;
  const libraries = await librariesFor(instruments, libraryBaselines, problem, workload, seed);
  const asked = measuringOf(options, candidate, against);
  const measured = await measureCandidate({ ...asked, libraries: libraries.found });
  if (!measured.ok) return measured;
  return { ...measured, missingBaselines: [...libraries.missing, ...measured.missingBaselines] };
}

const measuringOf = (
  { device, request, oracle, instruments, secret, timeoutMs }: Omit<MeasureOutcomeOptions, 'loadBeside'>,
  candidate: LoadedKernel,
  against: readonly LoadedKernel[],
) => ({
  ...{ device, candidate, against, libraries: [], secret, timeoutMs },
  problem: request.problem,
  workload: request.workload,
  tier: request.tier ?? ('screen' as const),
  blocks: request.blocks,
  seed: request.seed,
  deviceReference: instruments?.deviceReference,
  disagree: oracle.disagree,
  signal: request.signal,
});

/** The problem's costs. L2 may serve bytes that stay in it from one round of the ring to the next. */
const workOf = ({ problem, workload }: EvaluationRequest, { conditions }: Measurement): ProblemWork => ({
  ...problemWork(problem, workload),
  cachedReadRatio: conditions.l2Bytes / conditions.ringBytes,
});

async function measuredTiming({ device, request }: MeasureOutcomeOptions, measurement: Measurement): Promise<Timing> {
  const { medianNs, intervalNs } = measurement.summary;
  const work = workOf(request, measurement);
  return {
    kind: 'measured',
    medianNs,
    intervalNs,
    vetoNs: vetoBoundNs(work, device.spec).ns,
    attainableNs: attainableBoundNs(work, device.spec, await peaksOf(device)).ns,
    bindingResource: 'unknown',
    measurement,
  };
}

/** How a candidate did beside its baselines. */
interface Compared {
  readonly comparisons: readonly Comparison[];
  readonly energy?: Energy | undefined;
}

/** Profile, counters, findings and the sanitizer's result, as far as they were requested and are available. */
async function instrument(
  { device, request, oracle, instruments, sanitized }: Parameters<typeof profileOutcome>[0],
  { timing, ...loaded }: { module: LoadedModule; plan: LaunchPlan; timing: Timing },
  compared: Compared,
): Promise<Partial<Evaluation>> {
  const { problem, candidate, workload, seed, profile = 'none', sanitize = false, keep, signal } = request;
  const subject = {
    ...{ device, problem, candidate, workload, seed, oracle, ...loaded },
    signal,
  };
  const sequenceNs = timing.medianNs;
  return {
    ...(profile !== 'none' &&
      isWorthProfiling(request, compared) &&
      (await instruments?.diagnose?.({ ...subject, timing, level: profile, keepReportIn: keep?.store }))),
    ...(sanitize && (sanitized ?? (await instruments?.sanitize?.({ ...subject, sequenceNs })))),
  };
}

/** A candidate gets a profile only if it is faster than every baseline kernel; if energy is minimised, if it needs less than each. */
function isWorthProfiling({ against = [], minimised }: EvaluationRequest, { comparisons, energy }: Compared): boolean {
  if (minimised !== 'energy')
    return comparisons.every(
      ({ verdict, baseline }) => verdict === 'faster' || !against.some(({ name }) => name === baseline),
    );
  const energies = measuredEnergy(energy)?.comparisons ?? [];
  return against.every(({ name }) => energies.some((one) => one.baseline === name && one.verdict === 'less'));
}
