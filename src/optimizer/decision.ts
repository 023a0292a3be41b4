import type { Evaluation } from '../core/evaluation.ts';
import type { Timing } from '../core/timing.ts';

/** Least ratio of times (best so far ÷ candidate) at which a change is kept. */
export const KEEP_RATIO = 1.03;

export interface Decision {
  decision: 'keep' | 'revert';
  /** Time of the best so far ÷ time of the candidate; `null` when the candidate has no valid time. */
  ratio: number | null;
  reason: string;
}

/** An evaluation that passed and has a time. */
export type TimedEvaluation = Evaluation & { status: 'passed'; timing: Timing };

export const isTimed = (evaluation: Evaluation): evaluation is TimedEvaluation =>
  evaluation.status === 'passed' && evaluation.timing !== undefined && evaluation.timing.medianNs > 0;

const percent = (ratio: number): string => `${((ratio - 1) * 100).toFixed(1)} %`;

/** `predicted 1.4× faster`, `predicted 1.1× slower`, `measured …`: a ratio never comes without its kind. */
export function describeRatio(kind: Timing['kind'], ratio: number): string {
  return ratio >= 1 ? `${kind} ${ratio.toFixed(2)}× faster` : `${kind} ${(1 / ratio).toFixed(2)}× slower`;
}

/**
 * Keep a change if the candidate passed and the ratio of times is at least {@link KEEP_RATIO}; else revert.
 *
 * @throws Error when a measured time would be compared with a predicted one (a caller's bug).
 */
export function decide(best: TimedEvaluation, candidate: Evaluation): Decision {
  if (!isTimed(candidate)) {
    const why = candidate.reason ?? (candidate.status === 'passed' ? 'it has no time' : 'no reason given');
    return { decision: 'revert', ratio: null, reason: `${candidate.status}: ${why}` };
  }
  if (candidate.timing.kind !== best.timing.kind) {
    throw new Error(
      `a ${candidate.timing.kind} time of ${candidate.id} can't be compared with a ${best.timing.kind} one`,
    );
  }
  const ratio = best.timing.medianNs / candidate.timing.medianNs;
  const described = describeRatio(candidate.timing.kind, ratio);
  if (ratio >= KEEP_RATIO) return { decision: 'keep', ratio, reason: `${described} than ${best.id}` };
  const reason =
    ratio >= 1
      ? `${described} than ${best.id}: a gain of ${percent(ratio)}, below the ${percent(KEEP_RATIO)} needed to keep a change`
      : `${described} than ${best.id}`;
  return { decision: 'revert', ratio, reason };
}
