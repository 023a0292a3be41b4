import type { RecordedEvent, RunEvent } from '../../store/events.ts';

type OfType<T extends RecordedEvent['type']> = Extract<RecordedEvent, { type: T }>;

/** The events of one type, in the order they were logged. */
export function ofType<T extends RecordedEvent['type']>(events: readonly RecordedEvent[], type: T): OfType<T>[] {
  return events.filter((event): event is OfType<T> => event.type === type);
}

/** What an event says, without what the log adds to every event. */
export type Logged<T extends RunEvent['type']> = Omit<Extract<RunEvent, { type: T }>, 'type'>;

/** What all events of one type say, in the order they were logged. */
export const logged = <T extends RunEvent['type']>(events: readonly RecordedEvent[], type: T): Logged<T>[] =>
  ofType(events, type).map(({ schemaVersion, sequence, time, type: _, ...said }) => said as unknown as Logged<T>);

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
