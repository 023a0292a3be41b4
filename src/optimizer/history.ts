import { WarpsmithError } from '../core/errors.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Budgets, RecordedEvent, RunEvent } from '../store/events.ts';

/**
 * The log of a resumed run. The loop is deterministic, so it runs again from the start. While the log lasts, it takes
 * evaluations from the log, and its events must equal those of the log.
 */
export interface History {
  readonly isOver: boolean;
  /**
   * Whether the log already holds this event.
   * @throws WarpsmithError `history-differs` if the log holds another event in its place.
   */
  accountsFor(event: RunEvent): boolean;
  /** The evaluation with this id, if the log has it. Throws as {@link History.accountsFor}. */
  evaluation(id: string): Evaluation | undefined;
  /** @throws WarpsmithError `history-differs`: the log holds something else here than what happened. */
  refuse(happened: string): never;
  /** Larger budgets, if the user gave them at this point. */
  extension(): Budgets | undefined;
  /** What the log says next. */
  next(): RecordedEvent | undefined;
  /** Milliseconds since the run started, without the pauses between its parts. */
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
    refuse(happened) {
      throw differs(events[position]!, happened);
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

/** The run's time so far, as last logged. The times of events would include the pauses between parts of a run. */
function timeUsedMs(events: readonly RecordedEvent[]): number {
  const last = events.findLastIndex(({ type }) => type === 'budget');
  const budget = events[last];
  const sinceMs = events
    .slice(last + 1)
    .reduce((sum, event) => sum + (event.type === 'evaluation-finished' ? event.evaluation.elapsedMs.total : 0), 0);
  return (budget?.type === 'budget' ? budget.minutesUsed * MS_PER_MINUTE : 0) + sinceMs;
}

/**
 * The part of an event that must be equal when the run is repeated: everything except times and descriptions of the
 * machine.
 */
const TIMES: Readonly<Partial<Record<RunEvent['type'], readonly string[]>>> = {
  budget: ['minutesUsed', 'minutesLeft', 'ledger'],
  'run-started': ['environment', 'roofline', 'repository'],
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
