import { type Allowance, type Budgets, NOTHING_KEPT } from '../store/events.ts';

/** Fewest undone changes and larger workloads that justify a reserve. */
const WANTED = { ablation: 4, advice: 3 } as const;
/** Largest share of the limit that is reserved for ablation and advice; the search has the rest. */
const MOST_SHARE = 1 / 4;

export interface AllowanceRequest {
  readonly budgets: Pick<Budgets, 'maximumEvaluations' | 'allowance'>;
  readonly workloadCount: number;
  /** Whether the run undoes the winner's changes at the end. */
  readonly ablates: boolean;
  /** Whether the problem has dimensions along which workloads can grow. */
  readonly advises: boolean;
}

/** Evaluations per change: one on each workload, and a screen first if times are measured. */
export const evaluationsOfMove = (workloadCount: number, isMeasured: boolean): number =>
  workloadCount + (isMeasured ? 1 : 0);

/** Evaluations of a confirmation: one on each workload. */
export const evaluationsOfConfirmation = (workloadCount: number): number => workloadCount;

/**
 * The evaluations that are reserved for the time after the search. A confirmation comes first, if the limit allows the
 * start, one change and a confirmation at all. Then, within a quarter of the limit, ablation and workload advice. A resumed
 * run keeps its old reserve.
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

/** `confirmation 1, ablation 4, advice 2`, without those that have no reserve. */
export const describeAllowance = (allowance: Allowance): string =>
  (['confirmation', 'ablation', 'advice'] as const)
    .filter((name) => allowance[name] > 0)
    .map((name) => `${name} ${allowance[name]}`)
    .join(', ');
