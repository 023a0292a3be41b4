import type {
  ConfirmationEvent,
  DecisionEvent,
  EvaluationFinishedEvent,
  MoveProposedEvent,
  RecordedEvent,
} from '../store/events.ts';
import { standingDecisions } from '../store/standing-decisions.ts';

/** A change that a run kept, with its evidence. */
export interface KeptChange {
  readonly event: EvaluationFinishedEvent;
  readonly decision: DecisionEvent;
  /** Absent if a blind strategy asked for it. */
  readonly move?: MoveProposedEvent;
  /** Of the winner of a measured run. */
  readonly confirmation?: ConfirmationEvent;
}

/**
 * The changes between a run's start and its best, in order, without changes whose candidate was refused in its
 * confirmation.
 */
export function keptChanges(events: readonly RecordedEvent[], bestCandidate: string): KeptChange[] {
  const evaluations = events.filter((event) => event.type === 'evaluation-finished');
  const kept = standingDecisions(events)
    .filter(({ comparedWith }) => comparedWith !== null)
    .flatMap((decision): KeptChange[] => {
      const event = evaluations.find(({ evaluation }) => evaluation.id === decision.evaluationId);
      if (!event) return [];
      const { id } = event.evaluation.candidate;
      const move = events.findLast(
        (other) =>
          other.type === 'move-proposed' && other.iteration === decision.iteration && other.candidate.id === id,
      );
      const confirmation = events.findLast((other) => other.type === 'confirmation' && other.candidate.id === id);
      return [
        {
          event,
          decision,
          move: move?.type === 'move-proposed' ? move : undefined,
          confirmation: confirmation?.type === 'confirmation' ? confirmation : undefined,
        },
      ];
    });
  const last = kept.findLastIndex(({ event }) => event.evaluation.candidate.id === bestCandidate);
  return kept.slice(0, last + 1);
}
