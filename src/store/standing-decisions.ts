import type { DecisionEvent, RecordedEvent } from './events.ts';

/**
 * Decisions to keep a candidate that no confirmation revoked, in order from the start to the best. Omits refused
 * candidates: the previous best took their place, so later candidates were compared with that.
 */
export function standingDecisions(events: readonly RecordedEvent[]): DecisionEvent[] {
  const refused = new Set(
    events.flatMap((event) =>
      event.type === 'confirmation' && event.outcome === 'refused' ? [event.candidate.id] : [],
    ),
  );
  const candidates = new Map(
    events.flatMap((event) =>
      event.type === 'evaluation-finished' ? [[event.evaluation.id, event.evaluation.candidate.id] as const] : [],
    ),
  );
  return events.filter(
    (event): event is RecordedEvent & DecisionEvent =>
      event.type === 'decision' && event.decision === 'keep' && !refused.has(candidates.get(event.evaluationId) ?? ''),
  );
}
