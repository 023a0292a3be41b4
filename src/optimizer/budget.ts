import type { Evaluation } from '../core/evaluation.ts';
import { type Allowance, type Budgets, type Ledger, NO_TIMES, plusTimes } from '../store/events.ts';
import { describeAllowance, sumOf } from './allowance.ts';

const MS_PER_MINUTE = 60_000;
const MS_PER_HOUR = 3_600_000;

export type SpentReason = 'evaluations-spent' | 'time-spent' | 'gpu-time-spent' | 'money-spent';

export interface Spent {
  readonly reason: SpentReason;
  readonly detail: string;
}

/** What a run may spend and has spent. Checked before each evaluation, never during one. */
export interface Budget {
  /** The limits, with the reserve for the time after the search. */
  readonly limits: ResolvedBudgets;
  readonly evaluationsUsed: number;
  /** Of the whole run; `null` if evaluations are not limited. */
  readonly evaluationsLeft: number | null;
  /** Those of them that the search may use. */
  readonly searchEvaluationsLeft: number | null;
  readonly ledger: Ledger;
  spend(evaluation: Evaluation): void;
  /** Sets other limits from now on. Expenses so far still count. */
  extend(limits: ResolvedBudgets): void;
  minutesUsed(): number;
  /** The budget that does not allow the search `needed` more evaluations, if any, with the figures. */
  spent(needed?: number): Spent | undefined;
  /** The same for steps after the search, which must leave `kept` evaluations for later steps. */
  spentAfterSearch(kept: number): Spent | undefined;
}

/** Budgets with their reserve computed. */
export type ResolvedBudgets = Budgets & { readonly allowance: Allowance };

/** @param clockMs monotonic clock, in milliseconds. */
export function createBudget(initial: ResolvedBudgets, clockMs: () => number): Budget {
  let limits = initial;
  const startedMs = clockMs();
  let evaluationsUsed = 0;
  let sums = NO_TIMES;
  const minutesUsed = () => (clockMs() - startedMs) / MS_PER_MINUTE;
  const money = () => (limits.gpuPricePerHour === null ? null : (sums.gpuMs / MS_PER_HOUR) * limits.gpuPricePerHour);
  const leftBut = (kept: number) =>
    limits.maximumEvaluations === null ? null : Math.max(0, limits.maximumEvaluations - kept - evaluationsUsed);
  const used = () => `${evaluationsUsed} of ${limits.maximumEvaluations} evaluations used`;
  /** Every other budget: used, limit, and the text for messages. */
  const checks = (): readonly [
    SpentReason,
    number | null,
    number | null,
    (used: number, limit: number) => string,
  ][] => [
    ['time-spent', minutesUsed(), limits.maximumMinutes, (a, b) => `${a.toFixed(1)} of ${b} minutes used`],
    [
      'gpu-time-spent',
      sums.gpuMs / MS_PER_MINUTE,
      limits.maximumGpuMinutes,
      (a, b) => `${a.toFixed(1)} of ${b} minutes of GPU time used`,
    ],
    ['money-spent', money(), limits.maximumMoney, (a, b) => `${a.toFixed(2)} of ${b} spent on GPU time`],
  ];
  const otherSpent = (): Spent | undefined => {
    for (const [reason, spent, limit, describe] of checks()) {
      if (spent !== null && limit !== null && spent >= limit) return { reason, detail: describe(spent, limit) };
    }
    return undefined;
  };
  return {
    get limits() {
      return limits;
    },
    get evaluationsUsed() {
      return evaluationsUsed;
    },
    get evaluationsLeft() {
      return leftBut(0);
    },
    get searchEvaluationsLeft() {
      return leftBut(sumOf(limits.allowance));
    },
    get ledger() {
      return { ...sums, money: money() };
    },
    spend(evaluation) {
      evaluationsUsed += 1;
      sums = plusTimes(sums, evaluation);
    },
    extend(larger) {
      limits = larger;
    },
    minutesUsed,
    spent(needed = 1) {
      const left = leftBut(sumOf(limits.allowance));
      if (left === null || left >= needed) return otherSpent();
      const kept = describeAllowance(limits.allowance);
      return {
        reason: 'evaluations-spent',
        detail: [
          used(),
          kept === '' ? [] : `the rest is kept for ${kept}`,
          left === 0 ? [] : `a change may take ${needed}`,
        ]
          .flat()
          .join('; '),
      };
    },
    spentAfterSearch(kept) {
      const left = leftBut(kept);
      if (left === null || left > 0) return otherSpent();
      return {
        reason: 'evaluations-spent',
        detail: kept === 0 ? used() : `${used()}; the rest is reserved for confirmation, ablation and advice`,
      };
    },
  };
}
