import { feedbackOf } from '../../reports/feedback.ts';
import { drawSeed } from '../seed.ts';
import { judgedCandidate } from './list-kernels.ts';
import type { Turn } from './turn.ts';

/** One attempt against another. */
export interface AttemptComparison {
  baseline: string;
  candidate: string;
  kind: 'measured' | 'predicted' | null;
  /** Baseline's time ÷ the candidate's; null if one has no valid time. */
  ratio: number | null;
  /** Measured: with the 95 % interval. */
  verdict: string;
  counters: string[];
}

const BASELINE = 'baseline';

/**
 * Compares two attempts: predictions as they are; on a real GPU both are measured in the same blocks, for one evaluation.
 *
 * @throws WarpsmithError `not-judged`; `budget-spent`.
 */
export async function compareAttempts(
  turn: Turn,
  of: { baseline: string; candidate: string },
): Promise<AttemptComparison> {
  const { candidate: left, evaluation: before } = judgedCandidate(turn, of.baseline);
  const { candidate: right, evaluation: after } = judgedCandidate(turn, of.candidate);
  const { counters } = feedbackOf({ evaluation: after, parent: before });
  const named = { baseline: left.id, candidate: right.id, counters };
  if (before.status !== 'passed' || after.status !== 'passed' || !before.timing || !after.timing) {
    return { ...named, kind: null, ratio: null, verdict: `${before.status} and ${after.status}: no two valid times` };
  }
  if (after.timing.kind === 'predicted') {
    const ratio = before.timing.medianNs / after.timing.medianNs;
    return { ...named, kind: 'predicted', ratio, verdict: 'a ratio of predictions, not a measurement' };
  }
  turn.allowance.take(1);
  const session = await turn.session();
  const measured = await turn.inTurn(() =>
    session.evaluator.evaluate({
      problem: turn.problem,
      candidate: right,
      workload: turn.workload,
      seed: drawSeed(),
      id: 'e0',
      tier: 'accept',
      against: [{ name: BASELINE, candidate: left }],
    }),
  );
  const beside = measured.comparisons?.find(({ baseline }) => baseline === BASELINE);
  if (!beside) return { ...named, kind: null, ratio: null, verdict: measured.reason ?? measured.status };
  const [low, high] = beside.intervalRatio;
  const verdict = `${beside.verdict}, 95 % interval ${low.toFixed(3)} to ${high.toFixed(3)}`;
  return { ...named, kind: 'measured', ratio: beside.ratio, verdict };
}
