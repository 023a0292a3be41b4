import type { EnergyRatio } from '../core/energy.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Comparison } from '../core/measurement.ts';
import type { Timing } from '../core/timing.ts';
import type { Verdict } from '../core/vocabulary.ts';

/** Least ratio of predicted times (best so far ÷ candidate) at which the loop keeps a change. */
export const KEEP_RATIO = 1.03;

/** The least gain that is not printed as 0.0 %. */
const LEAST_SHOWN_GAIN = 1.0005;

export interface Decision {
  decision: 'keep' | 'revert';
  /** Time of the best so far ÷ time of the candidate; `null` when the candidate has no valid time. */
  ratio: number | null;
  verdict?: Verdict;
  intervalRatio?: readonly [low: number, high: number];
  /** Of runs that minimise energy, which is what decides; absent where it was not measured. */
  energy?: EnergyRatio;
  reason: string;
}

/** An evaluation that passed and has a time. */
export type TimedEvaluation = Evaluation & { status: 'passed'; timing: Timing };

export const isTimed = (evaluation: Evaluation): evaluation is TimedEvaluation =>
  evaluation.status === 'passed' && evaluation.timing !== undefined && evaluation.timing.medianNs > 0;

const percent = (ratio: number): string => `${((ratio - 1) * 100).toFixed(1)} %`;

/**
 * `predicted 1.40× faster`, `predicted 1.10× slower than e3`, `predicted as fast as e3`: a ratio always states its kind.
 *
 * @param other the evaluation it is compared with; if absent, a caller may add `than …`.
 */
export function describeRatio(kind: Timing['kind'], ratio: number, other?: string): string {
  const [times, word] = ratio >= 1 ? [ratio.toFixed(2), 'faster'] : [(1 / ratio).toFixed(2), 'slower'];
  if (other === undefined) return `${kind} ${times}× ${word}`;
  return times === '1.00' ? `${kind} as fast as ${other}` : `${kind} ${times}× ${word} than ${other}`;
}

/** If a screen's ratio is below this, the candidate is not measured longer. A screen is accurate to a few per cent. */
export const SCREEN_RATIO = 0.98;

/** Comparison of a measured candidate with the best so far, from the same blocks. */
const comparisonWithBest = ({ comparisons }: Evaluation): Comparison | undefined => comparisons?.[0];

/**
 * Whether a screened candidate may be faster than the best, and so deserves a measurement with a verdict.
 *
 * @param gained how much faster the best became since the candidate was screened beside it.
 */
export const isWorthAccepting = (screened: Evaluation, gained: number): boolean =>
  isTimed(screened) && (comparisonWithBest(screened)?.ratio ?? 0) / gained >= SCREEN_RATIO;

/** e.g. `measured 1.42× faster [1.40, 1.44] than e3`. */
export const describeComparison = ({
  ratio,
  intervalRatio: [low, high],
}: {
  ratio: number;
  intervalRatio: readonly [low: number, high: number];
}): string => `measured ${ratio.toFixed(3)}× [${low.toFixed(3)}, ${high.toFixed(3)}]`;

/** Measured times: the verdict decides; a screen can only revert. */
function decideMeasured(best: TimedEvaluation, candidate: TimedEvaluation): Decision {
  const comparison = comparisonWithBest(candidate);
  if (!comparison) {
    const missing = candidate.missingBaselines?.map(({ name, reason }) => `${name}: ${reason}`).join('; ');
    const reason = `${best.id} could not be measured in the same blocks${missing ? ` (${missing})` : ''}`;
    return { decision: 'revert', ratio: null, reason };
  }
  const { ratio, verdict, intervalRatio } = comparison;
  const isScreen = candidate.timing.measurement?.conditions.tier === 'screen';
  const described = `${describeComparison(comparison)} the speed of ${best.id}`;
  return {
    decision: !isScreen && verdict === 'faster' ? 'keep' : 'revert',
    ratio,
    verdict,
    intervalRatio,
    reason: isScreen ? `${described} in the screen: not worth measuring longer` : `${verdict}: ${described}`,
  };
}

/**
 * Predicted times: keeps a change if the candidate passed and the ratio of times is at least {@link KEEP_RATIO}. Measured
 * times: keeps it if the verdict is `faster`. Otherwise reverts.
 *
 * @throws Error if a measured time would be compared with a predicted one (a caller's bug).
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
  if (candidate.timing.kind === 'measured') return decideMeasured(best, candidate);
  const ratio = best.timing.medianNs / candidate.timing.medianNs;
  const described = describeRatio(candidate.timing.kind, ratio, best.id);
  if (ratio >= KEEP_RATIO) return { decision: 'keep', ratio, reason: described };
  const reason =
    ratio >= LEAST_SHOWN_GAIN
      ? `${described}: a gain of ${percent(ratio)}, below the ${percent(KEEP_RATIO)} needed to keep a change`
      : described;
  return { decision: 'revert', ratio, reason };
}
