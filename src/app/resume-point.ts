import type { RecordedEvent, RunFinishedEvent, StopReason } from '../store/events.ts';

/** How much of a log a resumed run goes on from. */
export type ResumePoint =
  | { kind: 'go-on'; keep: number }
  /** It ended for a reason that stands. */
  | { kind: 'finished'; event: RunFinishedEvent };

const isSpent = (reason: StopReason): boolean => reason.endsWith('-spent');

/** Ends that say nothing about the search: it goes on where it was. */
const CUT_SHORT: readonly StopReason[] = ['interrupted', 'failed'];

/**
 * Where a run goes on. A run that was killed goes on at the end of its log; one that was interrupted, before it said so;
 * one whose device failed, before the evaluations that failed. One whose budget was spent goes on only with larger
 * budgets, from where its search ended: confirmation and ablation are of the end, and are done again in the end.
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

/** Nothing was searched after it: a confirmation can take an end back. */
const isLastEnd = (events: readonly RecordedEvent[], searchEnded: number): boolean =>
  !events.slice(searchEnded).some(({ type }) => type === 'move-proposed');

/** Index of the first of the evaluations in a row, to the end, in which the device failed. */
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
