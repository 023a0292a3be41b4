import { NOTHING_KEPT, type RecordedEvent, type RunStartedEvent, UNLIMITED } from './events.ts';

/** What version 1 did not log of a run's start, as it was then. Absent fields of a log that says more stand as they are. */
const impliedByVersion1 = ({ workload, problem }: RunStartedEvent) => ({
  workloads: [{ ...workload, weight: 1 }],
  strategy: 'guided',
  priors: { patterns: [], costs: [] },
  request: { target: problem.folder },
});

/** An event with what its own version did not log yet. Its version stays: what was not logged can't be gone on from. */
export function upgradeEvent(event: RecordedEvent): RecordedEvent {
  if (event.type !== 'run-started') return event;
  // The limit was the search's alone, and what followed it went beyond.
  const budgets = { ...UNLIMITED, ...event.budgets, allowance: event.budgets.allowance ?? NOTHING_KEPT };
  if ((event.schemaVersion as number) > 1) return { ...event, budgets };
  return { ...impliedByVersion1(event), ...event, budgets };
}
