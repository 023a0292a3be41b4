import type { Budgets } from '../store/events.ts';

const MS_PER_MINUTE = 60_000;

/** What a run may spend, and what it has spent. Checked before each evaluation, never in the middle of one. */
export interface Budget {
  readonly limits: Budgets;
  readonly evaluationsUsed: number;
  spendEvaluation(): void;
  minutesUsed(): number;
  /** Which budget is spent, if any. */
  spent(): 'evaluations-spent' | 'time-spent' | undefined;
}

/** @param clockMs monotonic clock, in milliseconds. */
export function createBudget(limits: Budgets, clockMs: () => number): Budget {
  const startedMs = clockMs();
  let evaluationsUsed = 0;
  const minutesUsed = () => (clockMs() - startedMs) / MS_PER_MINUTE;
  return {
    limits,
    get evaluationsUsed() {
      return evaluationsUsed;
    },
    spendEvaluation() {
      evaluationsUsed += 1;
    },
    minutesUsed,
    spent() {
      if (limits.maximumEvaluations !== null && evaluationsUsed >= limits.maximumEvaluations)
        return 'evaluations-spent';
      if (limits.maximumMinutes !== null && minutesUsed() >= limits.maximumMinutes) return 'time-spent';
      return undefined;
    },
  };
}
