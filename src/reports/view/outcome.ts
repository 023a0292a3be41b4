import type { ParameterValues } from '../../core/kernel.ts';
import { type CandidateReference, isAccepted, type Said } from '../../store/events.ts';
import type { ProgressionRow, TimeFigure } from './progression.ts';

/** Differences of the best candidate from the start. */
export interface BestChanges {
  kernel: { from: string; to: string } | null;
  /** `null` where one of them has no such parameter. */
  parameters: { name: string; from: number | null; to: number | null }[];
  /** Kept changes in the order they were made. `energyRatio`: of runs that minimise energy, what each was kept for. */
  steps: { evaluationId: string; change: string; ratio: number | null; energyRatio?: number }[];
}

/** Kernel and parameters of `after` that are not those of `before`. */
export const settingChanges = (
  before: Omit<CandidateReference, 'id'>,
  after: Omit<CandidateReference, 'id'>,
): Pick<BestChanges, 'kernel' | 'parameters'> => ({
  kernel: before.kernel === after.kernel ? null : { from: before.kernel, to: after.kernel },
  parameters: changedParameters(before.parameters, after.parameters),
});

function changedParameters(start: ParameterValues, best: ParameterValues): BestChanges['parameters'] {
  const names = Object.keys({ ...start, ...best });
  return names
    .map((name) => ({ name, from: start[name] ?? null, to: best[name] ?? null }))
    .filter(({ from, to }) => from !== to);
}

/**
 * The differences of the best from the start.
 *
 * @param kept rows of kept changes that still stand, in order.
 */
export function bestChanges(
  start: CandidateReference,
  best: CandidateReference,
  kept: readonly ProgressionRow[],
): BestChanges {
  return {
    ...settingChanges(start, best),
    steps: kept
      .filter(({ why }) => why)
      .map(({ evaluationId, change, ratioToPreviousBest: ratio, energy }) => ({
        ...{ evaluationId, change, ratio },
        energyRatio: energy?.compared?.ratio,
      })),
  };
}

/** Start's time ÷ best's time; measured ones as its confirmation measured them, `null` where it had none. */
export function speedupOf(
  start: TimeFigure | null,
  best: (TimeFigure & { candidate: CandidateReference }) | null,
  confirmations: readonly Said<'confirmation'>[],
  /** Runs over several workloads: the objective as the run's end says it. */
  objective: number | null,
): number | null {
  if (!start || !best || start.kind !== best.kind) return null;
  if (best.evaluationId === start.evaluationId) return 1;
  if (start.kind === 'predicted') return objective ?? start.medianNs / best.medianNs;
  const last = confirmations.at(-1);
  return isAccepted(last, best.candidate) ? last.ratio : null;
}
