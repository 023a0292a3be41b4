import type { Evaluation } from '../core/evaluation.ts';
import type { Budgets, Ledger } from '../store/events.ts';

const MS_PER_MINUTE = 60_000;
const MS_PER_HOUR = 3_600_000;

export type SpentReason = 'evaluations-spent' | 'time-spent' | 'gpu-time-spent' | 'money-spent';

/** What a run may spend, and what it has spent. Checked before each evaluation, never in the middle of one. */
export interface Budget {
  readonly limits: Budgets;
  readonly evaluationsUsed: number;
  /** `null` where evaluations are not limited. */
  readonly evaluationsLeft: number | null;
  readonly ledger: Ledger;
  spend(evaluation: Evaluation): void;
  /** Other limits from here on; what was spent stays spent. */
  extend(limits: Budgets): void;
  minutesUsed(): number;
  /** Which budget is spent, if any, with the figures. */
  spent(): { reason: SpentReason; detail: string } | undefined;
}

/** @param clockMs monotonic clock, in milliseconds. */
export function createBudget(initial: Budgets, clockMs: () => number): Budget {
  let limits = initial;
  const startedMs = clockMs();
  let evaluationsUsed = 0;
  const sums = { compileMs: 0, verifyMs: 0, timeMs: 0, gpuMs: 0 };
  const minutesUsed = () => (clockMs() - startedMs) / MS_PER_MINUTE;
  const money = () => (limits.gpuPricePerHour === null ? null : (sums.gpuMs / MS_PER_HOUR) * limits.gpuPricePerHour);
  /** Each budget: used, limit, and how to say it. */
  const checks = (): readonly [
    SpentReason,
    number | null,
    number | null,
    (used: number, limit: number) => string,
  ][] => [
    ['evaluations-spent', evaluationsUsed, limits.maximumEvaluations, (a, b) => `${a} of ${b} evaluations used`],
    ['time-spent', minutesUsed(), limits.maximumMinutes, (a, b) => `${a.toFixed(1)} of ${b} minutes used`],
    [
      'gpu-time-spent',
      sums.gpuMs / MS_PER_MINUTE,
      limits.maximumGpuMinutes,
      (a, b) => `${a.toFixed(1)} of ${b} minutes of GPU time used`,
    ],
    ['money-spent', money(), limits.maximumMoney, (a, b) => `${a.toFixed(2)} of ${b} spent on GPU time`],
  ];
  return {
    get limits() {
      return limits;
    },
    get evaluationsUsed() {
      return evaluationsUsed;
    },
    get evaluationsLeft() {
      return limits.maximumEvaluations === null ? null : Math.max(0, limits.maximumEvaluations - evaluationsUsed);
    },
    get ledger() {
      return { ...sums, money: money() };
    },
    spend({ elapsedMs, device }) {
      evaluationsUsed += 1;
      sums.compileMs += elapsedMs.compile;
      sums.verifyMs += elapsedMs.verify;
      sums.timeMs += elapsedMs.time;
      // Whatever is not compiling happens on the GPU: profiling and sanitizing too.
      if (device.kind === 'cuda') sums.gpuMs += Math.max(0, elapsedMs.total - elapsedMs.compile);
    },
    extend(larger) {
      limits = larger;
    },
    minutesUsed,
    spent() {
      for (const [reason, used, limit, describe] of checks()) {
        if (used !== null && limit !== null && used >= limit) return { reason, detail: describe(used, limit) };
      }
      return undefined;
    },
  };
}
