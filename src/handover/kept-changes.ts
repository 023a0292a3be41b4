import {
  type ConfirmationEvent,
  type DecisionEvent,
  type EvaluationFinishedEvent,
  type MoveProposedEvent,
  ofType,
  type RecordedEvent,
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
  const evaluations = ofType(events, 'evaluation-finished');
  const moves = ofType(events, 'move-proposed');
  const confirmations = ofType(events, 'confirmation');
  const kept = standingDecisions(events)
    .filter(({ comparedWith }) => comparedWith !== null)
    .flatMap((decision): KeptChange[] => {
      const event = evaluations.find(({ evaluation }) => evaluation.id === decision.evaluationId);
      if (!event) return [];
      const { id } = event.evaluation.candidate;
      return [
        {
          event,
          decision,
          move: moves.findLast(({ iteration, candidate }) => iteration === decision.iteration && candidate.id === id),
          confirmation: confirmations.findLast(({ candidate }) => candidate.id === id),
        },
      ];
    });
  const last = kept.findLastIndex(({ event }) => event.evaluation.candidate.id === bestCandidate);
  return kept.slice(0, last + 1);
}
