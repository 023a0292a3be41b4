import type { Allowance, Budgets } from '../store/events.ts';
import { NOTHING_KEPT } from '../store/events.ts';

/** Least changes to undo and larger workloads to try that are worth keeping evaluations for. */
const WANTED = { ablation: 4, advice: 3 } as const;
/** At most this share of the limit is kept for what explains a winner; the rest looks for one. */
const MOST_SHARE = 1 / 4;

export interface AllowanceRequest {
  readonly budgets: Pick<Budgets, 'maximumEvaluations' | 'allowance'>;
  readonly workloadCount: number;
  /** Whether the winner's changes are undone in the end. */
  readonly ablates: boolean;
  /** Whether the problem has dimensions along which a larger workload can be tried. */
  readonly advises: boolean;
}

/** Evaluations of a change: on each workload, and where times are measured a screen before. */
export const evaluationsOfMove = (workloadCount: number, isMeasured: boolean): number =>
  workloadCount + (isMeasured ? 1 : 0);

/** Evaluations of a confirmation: one on each workload. */
export const evaluationsOfConfirmation = (workloadCount: number): number => workloadCount;

/**
 * What of the limit in evaluations is kept for the time after the search: first a confirmation, wherever the limit allows
 * the start, one change and a confirmation at all; then, within a quarter of the limit, ablation and workload advice.
 * What the run was given already, as a run that goes on, stays.
 */
export function allowanceOf({ budgets, workloadCount, ablates, advises }: AllowanceRequest): Allowance {
  const { maximumEvaluations: limit, allowance } = budgets;
  if (allowance) return allowance;
  if (limit === null) return NOTHING_KEPT;
  const least = workloadCount + evaluationsOfMove(workloadCount, true) + evaluationsOfConfirmation(workloadCount);
  if (limit < least) return NOTHING_KEPT;
  const confirmation = evaluationsOfConfirmation(workloadCount);
  const most = Math.max(0, Math.floor(limit * MOST_SHARE) - confirmation);
  const ablation = ablates ? Math.min(WANTED.ablation, most) : 0;
  const advice = advises ? Math.min(WANTED.advice, most - ablation) : 0;
  return { confirmation, ablation, advice };
}

export const sumOf = ({ confirmation, ablation, advice }: Allowance): number => confirmation + ablation + advice;

/** `confirmation 1, ablation 4, advice 2`; what is kept for nothing is left out. */
export const describeAllowance = (allowance: Allowance): string =>
  (['confirmation', 'ablation', 'advice'] as const)
    .filter((name) => allowance[name] > 0)
    .map((name) => `${name} ${allowance[name]}`)
    .join(', ');
