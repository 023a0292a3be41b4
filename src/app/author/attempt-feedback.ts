import { type Feedback, feedbackOf } from '../../reports/feedback.ts';
import { attemptOf, type Submitted } from './lineage.ts';
import type { Turn } from './turn.ts';

/** Feedback on an attempt; undefined if its evaluation is no longer in the store. */
export function feedbackOn(turn: Turn, attempt: Submitted): Feedback | undefined {
  const evaluation = turn.evaluationOf(attempt);
  if (!evaluation) return undefined;
  const { parent, predictedRatio, ratioToParent, ratioToStart } = attempt.authored;
  const before = parent === null ? undefined : attemptOf(turn.lineage(), parent);
  return feedbackOf({
    evaluation,
    parent: before && turn.evaluationOf(before),
    ratioToParent,
    ratioToStart,
    predictedRatio,
  });
}
