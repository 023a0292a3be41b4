import type { LaunchCounters } from '../core/counters.ts';
import type { Device, LoadedModule } from '../core/device.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { Correctness } from '../core/evaluation.ts';
import type { Candidate } from '../core/kernel.ts';
import type { LaunchPlan } from '../core/launch-plan.ts';
import type { Dimensions, Problem } from '../core/problem.ts';
import { CheckRuns } from './check-runs.ts';
import { type Check, checksFor, describeCheck } from './checks.ts';
import { CorrectnessTally } from './correctness-tally.ts';
import { judgeCheck } from './judge-check.ts';
import type { Oracle } from './oracle.ts';
import { planRefusal } from './plan-refusal.ts';
import type { Refused } from './refusal.ts';
import { allocateCheckMemory } from './run-once.ts';

export interface VerifyRequest {
  readonly device: Device;
  readonly module: LoadedModule;
  readonly problem: Problem;
  readonly candidate: Candidate;
  /** The main workload's. */
  readonly dimensions: Dimensions;
  readonly seed: number;
  readonly oracle: Oracle;
  /** The launch sequence for these dimensions. May throw WarpsmithError, which makes the candidate `invalid`. */
  readonly planFor: (dimensions: Dimensions) => LaunchPlan;
  /** Wall-clock limit of each run, in ms. */
  readonly timeoutMs: number;
  /** Warp instructions one CTA may execute; the device's own limit when absent. */
  readonly instructionsPerCta?: number;
  readonly signal?: AbortSignal;
}

/** A candidate that computes the right thing on every check, with the main workload's plan and counters. */
export interface Verified {
  readonly ok: true;
  readonly correctness: Correctness;
  readonly plan: LaunchPlan;
  readonly counters: LaunchCounters[];
}

/**
 * Runs a candidate on every check, each at least twice: natural order over NaN poison, then a seeded CTA and warp order
 * over finite poison. Every output of every run is compared whole. Stops at the first failure.
 *
 * @throws the signal's reason when aborted; WarpsmithError when the problem itself is at fault.
 */
export const verify = async (request: VerifyRequest): Promise<Verified | Refused> => {
  const tally = new CorrectnessTally();
  let main: { plan: LaunchPlan; counters: LaunchCounters[] } | undefined;
  const { problem, candidate, dimensions, seed } = request;
  const { kernel, parameters } = candidate;
  for (const check of checksFor({ problem: problem.file, kernel: kernel.file, parameters, dimensions, seed })) {
    request.signal?.throwIfAborted();
    const result = await verifyCheck(request, check, tally);
    const correctness = tally.summary();
    if (!result.ok) return { ...result, ...(correctness && { correctness }) };
    if (check.isMain) main = result;
  }
  return { ok: true, correctness: tally.summary()!, ...main! };
};

type CheckResult = { ok: true; plan: LaunchPlan; counters: LaunchCounters[] } | Refused;

const verifyCheck = async (request: VerifyRequest, check: Check, tally: CorrectnessTally): Promise<CheckResult> => {
  const { device, problem, seed, oracle } = request;
  const name = describeCheck(check);
  const plan = planOrRefusal(request, check.dimensions, name);
  if ('ok' in plan) return plan;
  const prepared = oracle.check({ problem, seed, dimensions: check.dimensions, generatorSet: check.generatorSet });
  const memory = await allocateCheckMemory(device, plan, prepared.inputs.bytes);
  try {
    const runs = new CheckRuns({ ...request, name, memory, isMain: check.isMain });
    const outcome = await judgeCheck({
      runs,
      prepared,
      tally,
      isBitwise: problem.file.determinism === 'bitwise',
    });
    return outcome.ok ? { ok: true, plan, counters: outcome.counters } : outcome;
  } finally {
    await memory.close();
  }
};

const planOrRefusal = (request: VerifyRequest, dimensions: Dimensions, failedCheck: string): LaunchPlan | Refused => {
  try {
    return request.planFor(dimensions);
  } catch (error) {
    if (!(error instanceof WarpsmithError)) throw error;
    return { ok: false, ...planRefusal(error), failedCheck };
  }
};
