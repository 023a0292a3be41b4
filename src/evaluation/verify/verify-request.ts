import type { LaunchCounters } from '../../core/counters.ts';
import type { Device } from '../../core/device.ts';
import type { LoadedModule } from '../../core/device-values.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { Correctness, Coverage } from '../../core/evaluation.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { LaunchPlan, PlannedLaunch } from '../../core/launch-plan.ts';
import type { Printed } from '../../core/printed.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import type { Suite } from '../../core/suites.ts';
import type { ExpectationCache } from '../oracle/expectation-cache.ts';

export interface VerifyRequest {
  readonly device: Device;
  readonly module: LoadedModule;
  readonly problem: Problem;
  readonly candidate: Candidate;
  /** The main workload's. */
  readonly dimensions: Dimensions;
  /** Cache state at the start of the counted run; `cold` by default. */
  readonly cache?: 'hot' | 'cold';
  readonly seed: number;
  /** On more shapes, with every generator set. */
  readonly thorough?: boolean;
  /** Also on shapes as large as users' own; of a thorough verification. */
  readonly large?: boolean;
  /** Shapes to verify besides, once each. */
  readonly suites?: readonly Suite[] | undefined;
  readonly oracle: ExpectationCache;
  /**
   * The launch sequence for these dimensions, on a device with the device's own number of multiprocessors unless another is given. May throw
   * WarpsmithError, which makes the candidate `invalid`.
   */
  readonly planFor: (dimensions: Dimensions, multiprocessors?: number) => LaunchPlan;
  /**
   * What so many of the next checks expect is worked out while one is judged. By default, as many as idle cores can work out; none on a
   * virtual device, which uses all cores itself.
   */
  readonly checksAhead?: number | undefined;
  /** Wall-clock limit of each run, in ms. */
  readonly timeoutMs: number;
  /** Warp instructions one CTA may execute; the device's own limit when absent. */
  readonly instructionsPerCta?: number;
  readonly signal?: AbortSignal;
  /** Told before each check. */
  readonly onCheck?: (check: { readonly check: string; readonly index: number; readonly count: number }) => void;
}

/** A candidate that passed every check, with the main workload's plan and counters. */
export interface Verified {
  readonly ok: true;
  /** Absent if nothing was compared, which only a sample of CTAs allows. */
  readonly correctness: Correctness | undefined;
  readonly coverage: Coverage;
  readonly plan: LaunchPlan;
  readonly counters: LaunchCounters[];
  /** What the kernels printed in the counted run. */
  readonly printed?: Printed;
}

/** Drawing shapes plans hundreds of them, so that longer sequences would take longer to plan than to run. */
const MOST_PLANNED_LAUNCHES = 256;

export const isLong = ({ planFor, dimensions }: VerifyRequest): boolean =>
  launchesOf(() => planFor(dimensions)).length > MOST_PLANNED_LAUNCHES;

/** All launches of the sequence; none if the plan has a mistake, which is reported elsewhere. */
export function launchesOf(plan: () => LaunchPlan): PlannedLaunch[] {
  try {
    return plan().steps.filter((step) => step.kind === 'launch');
  } catch (error) {
    if (error instanceof WarpsmithError) return [];
    throw error;
  }
}
