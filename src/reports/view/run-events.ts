import type { RecordedEvent } from '../../store/events.ts';

type OfType<T extends RecordedEvent['type']> = Extract<RecordedEvent, { type: T }>;

/** The events of one type, in the order they were logged. */
export function ofType<T extends RecordedEvent['type']>(events: readonly RecordedEvent[], type: T): OfType<T>[] {
  return events.filter((event): event is OfType<T> => event.type === type);
}
