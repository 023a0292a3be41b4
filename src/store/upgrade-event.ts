import { NOTHING_KEPT, type RecordedEvent, type RunStartedEvent, UNLIMITED } from './events.ts';

/** Values of a run's start that version 1 did not log. Fields that a log does have stay unchanged. */
const impliedByVersion1 = ({ workload, problem }: RunStartedEvent) => ({
  workloads: [{ ...workload, weight: 1 }],
  strategy: 'guided',
  priors: { patterns: [], costs: [] },
  request: { target: problem.folder },
});

/** The fp16 product was a problem of its own, in a folder of its own. */
const renamedProblem = ({ problem }: RunStartedEvent): RunStartedEvent['problem'] => ({
  ...problem,
  ...(problem.name === 'gemm-f16' &&
    problem.dtype === undefined && { folder: problem.folder.replace(/gemm-f16$/, 'gemm'), dtype: 'f16' as const }),
});

/** Adds to an event the fields that its version did not log. The version stays, because such a log can't be resumed. */
export function upgradeEvent(recorded: RecordedEvent): RecordedEvent {
  if (recorded.type !== 'run-started') return recorded;
  const event = { ...recorded, problem: renamedProblem(recorded) };
  // The limit applied to the search alone; the steps after it went beyond.
  const budgets = { ...UNLIMITED, ...event.budgets, allowance: event.budgets.allowance ?? NOTHING_KEPT };
  if ((event.schemaVersion as number) > 1) return { ...event, budgets };
  return { ...impliedByVersion1(event), ...event, budgets };
}
