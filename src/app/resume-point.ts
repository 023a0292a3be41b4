import type { RecordedEvent, RunFinishedEvent, StopReason } from '../store/events.ts';

/** The part of a log that a resumed run continues. */
export type ResumePoint =
  | { kind: 'go-on'; keep: number }
  /** It ended for a reason that stands. */
  | { kind: 'finished'; event: RunFinishedEvent };

const isSpent = (reason: StopReason): boolean => reason.endsWith('-spent');

/** Stop reasons that do not end the search; it continues where it was. */
const CUT_SHORT: readonly StopReason[] = ['interrupted', 'failed'];

/**
 * Where a run continues: a killed run at the end of its log; an interrupted one before the interruption; one whose device
 * failed before the failed evaluations. A run whose budget was spent continues only with larger budgets, from the end of
 * its search: confirmation and ablation belong to the end and happen again then.
 */
export function resumePoint(events: readonly RecordedEvent[], extends_: boolean): ResumePoint {
  const searchEnded = events.findLastIndex(({ type }) => type === 'search-ended');
  const ended = events[searchEnded];
  if (extends_ && ended?.type === 'search-ended' && isSpent(ended.reason) && isLastEnd(events, searchEnded)) {
    return { kind: 'go-on', keep: searchEnded };
  }
  const last = events.at(-1);
  if (last?.type !== 'run-finished') return { kind: 'go-on', keep: events.length };
  if (CUT_SHORT.includes(last.stopReason)) return { kind: 'go-on', keep: events.length - 1 };
  if (last.stopReason === 'device-failed') return { kind: 'go-on', keep: beforeDeviceFailures(events) };
  return { kind: 'finished', event: last };
}

/** Whether the search ended here for good. A confirmation can revoke an end. */
const isLastEnd = (events: readonly RecordedEvent[], searchEnded: number): boolean =>
  !events.slice(searchEnded).some(({ type }) => type === 'move-proposed');

/** Index of the first of the trailing evaluations in which the device failed. */
function beforeDeviceFailures(events: readonly RecordedEvent[]): number {
  let keep = events.length - 1;
  for (let index = events.length - 1; index >= 0; index -= 1) {
    const event = events[index]!;
    if (event.type !== 'evaluation-finished') continue;
    if (event.evaluation.status !== 'device-failed') break;
    keep = index;
  }
  return keep;
}
