import type { DecisionEvent, RecordedEvent } from './events.ts';

/**
 * Decisions to keep a candidate that no confirmation took back, in order: the start's first, the best's last. A refused
 * candidate was never what the next one was compared with in the end: the best before it took its place.
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
