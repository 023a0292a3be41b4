import { WarpsmithError } from '../core/errors.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Budgets, RecordedEvent, RunEvent } from '../store/events.ts';

/**
 * The log of a run that goes on. The loop is deterministic, so it is run again from the start: as long as the log lasts,
 * evaluations are taken from it instead of being made, and what happens must be what the log says.
 */
export interface History {
  readonly isOver: boolean;
  /**
   * Whether the log holds this event already.
   * @throws WarpsmithError `history-differs` when the log says that something else happened.
   */
  accountsFor(event: RunEvent): boolean;
  /** The evaluation with this id, if the log got that far. Throws as {@link History.accountsFor}. */
  evaluation(id: string): Evaluation | undefined;
  /** Larger budgets, if they were given at this point. */
  extension(): Budgets | undefined;
  /** What the log says next. */
  next(): RecordedEvent | undefined;
  /** Milliseconds since the run started, what passed between its parts left out. */
  clockMs(): number;
}

/** @param events without `run-finished`; @param clockMs monotonic clock, in milliseconds. */
export function createHistory(events: readonly RecordedEvent[], clockMs: () => number): History {
  let position = 0;
  let wentOnMs: number | undefined;
  const advance = () => {
    position += 1;
    if (position === events.length) wentOnMs = clockMs();
  };
  return {
    get isOver() {
      return position >= events.length;
    },
    accountsFor(event) {
      const logged = events[position];
      if (!logged) return false;
      if (comparable(event) !== comparable(logged)) throw differs(logged, event.type);
      advance();
      return true;
    },
    evaluation(id) {
      const logged = events[position];
      if (!logged) return undefined;
      if (logged.type !== 'evaluation-finished' || logged.evaluation.id !== id)
        throw differs(logged, `evaluation ${id}`);
      return logged.evaluation;
    },
    extension() {
      const logged = events[position];
      if (logged?.type !== 'budgets-extended') return undefined;
      advance();
      return logged.budgets;
    },
    next: () => events[position],
    clockMs() {
      if (events.length === 0) return clockMs();
      const usedMs = timeUsedMs(events.slice(0, position));
      return wentOnMs === undefined ? usedMs : usedMs + clockMs() - wentOnMs;
    },
  };
}

const MS_PER_MINUTE = 60_000;

/** The run's time up to here, as it was last logged. Times of events would count the nights between two parts of a run. */
function timeUsedMs(events: readonly RecordedEvent[]): number {
  const last = events.findLastIndex(({ type }) => type === 'budget');
  const budget = events[last];
  const sinceMs = events
    .slice(last + 1)
    .reduce((sum, event) => sum + (event.type === 'evaluation-finished' ? event.evaluation.elapsedMs.total : 0), 0);
  return (budget?.type === 'budget' ? budget.minutesUsed * MS_PER_MINUTE : 0) + sinceMs;
}

/** What must be the same when a run is run again: everything but times, and what the machine says of itself. */
const TIMES: Readonly<Partial<Record<RunEvent['type'], readonly string[]>>> = {
  budget: ['minutesUsed', 'minutesLeft', 'ledger'],
  'run-started': ['environment', 'roofline'],
  'search-ended': ['detail'],
};

const IN_EVERY_EVENT = ['schemaVersion', 'sequence', 'time'];

function comparable(event: RunEvent | RecordedEvent): string {
  const left = [...IN_EVERY_EVENT, ...(TIMES[event.type] ?? [])];
  return JSON.stringify(Object.fromEntries(Object.entries(event).filter(([name]) => !left.includes(name))));
}

const differs = (logged: RecordedEvent, happened: string): WarpsmithError =>
  new WarpsmithError({
    code: 'history-differs',
    message: `Replaying the run gives other events than its log from event ${logged.sequence} on.`,
    path: `event ${logged.sequence}`,
    received: happened,
    expected: logged.type,
    hint: 'The kernels, the problem or warpsmith itself have changed since; start a new run.',
  });
