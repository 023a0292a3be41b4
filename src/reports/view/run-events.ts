import type { RecordedEvent } from '../../store/events.ts';

type OfType<T extends RecordedEvent['type']> = Extract<RecordedEvent, { type: T }>;

/** The events of one type, in the order they were logged. */
export function ofType<T extends RecordedEvent['type']>(events: readonly RecordedEvent[], type: T): OfType<T>[] {
  return events.filter((event): event is OfType<T> => event.type === type);
}

/** Where a search goes on after it had ended. */
const GOES_ON: readonly RecordedEvent['type'][] = ['move-proposed', 'budgets-extended'];

/** Evaluations made while no candidates were looked for any more. */
export function countAfterSearch(events: readonly RecordedEvent[]): number {
  let hasEnded = false;
  let count = 0;
  for (const { type } of events) {
    if (type === 'search-ended') hasEnded = true;
    else if (GOES_ON.includes(type)) hasEnded = false;
    else if (type === 'evaluation-finished' && hasEnded) count++;
  }
  return count;
}
