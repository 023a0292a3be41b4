import { type DecisionEvent, ofType, type RecordedEvent } from './events.ts';

/**
 * Decisions to keep a candidate that no confirmation revoked, in order from the start to the best. Omits refused
 * candidates: the previous best took their place, so later candidates were compared with that.
 */
export function standingDecisions(events: readonly RecordedEvent[]): DecisionEvent[] {
  const refused = new Set(
    ofType(events, 'confirmation').flatMap(({ outcome, candidate }) => (outcome === 'refused' ? [candidate.id] : [])),
  );
  const candidates = new Map(
    ofType(events, 'evaluation-finished').map(({ evaluation: { id, candidate } }) => [id, candidate.id]),
  );
  return ofType(events, 'decision').filter(
    ({ decision, evaluationId }) => decision === 'keep' && !refused.has(candidates.get(evaluationId) ?? ''),
  );
}
