import type { ListedRun } from '../../reports/documents/runs.ts';
import { formatMove } from '../../reports/format.ts';
import { type OptionsRankedEvent, ofType, type RecordedEvent } from '../../store/events.ts';
import { followLog } from '../../store/follow-log.ts';
import { type EvaluationRow, rowsOf } from '../../store/index/rows.ts';
import { eventsPath, runFolderPath } from '../../store/run-folder.ts';
import { listed } from '../runs.ts';

/** One option of the last turn, with the arithmetic of its rank. */
export interface WatchedOption {
  readonly move: string;
  readonly pattern: string;
  readonly finding: string;
  readonly evaluationId: string;
  readonly arithmetic: string;
  readonly evidence: string;
  readonly state: string;
}

/** What has changed of a run since the last time. */
export interface RunChange {
  readonly run: ListedRun;
  /** Rows from `from` on are these; earlier ones stay. */
  readonly from: number;
  readonly evaluations: readonly EvaluationRow[];
  readonly options: readonly WatchedOption[];
  /** What is being tried now, in words; absent between turns. */
  readonly trying?: string;
  /** `null`: not limited. */
  readonly evaluationsLeft: number | null;
}

/**
 * Follows a run through its log, whoever writes it, until the signal fires. The first change is the run so far; the last may be
 * that nobody writes it any longer.
 */
export async function* watchRun(store: string, id: string, signal: AbortSignal): AsyncGenerator<RunChange> {
  let events: RecordedEvent[] = [];
  let sent: string[] = [];
  let last: ListedRun | undefined;
  for await (const { events: appended, isAnew } of followLog(eventsPath(runFolderPath(store, id)), signal)) {
    if (last && !isAnew && appended.length === 0 && listed(store, last).state === last.state) continue;
    events = [...(isAnew ? [] : events), ...appended.map(withoutCounters)];
    const { run, evaluations } = rowsOf(id, events);
    const now = evaluations.map((row) => JSON.stringify(row));
    const same = now.findIndex((text, index) => text !== sent[index]);
    const from = same < 0 ? now.length : same;
    sent = now;
    last = listed(store, run);
    yield { run: last, from, evaluations: evaluations.slice(from), ...turnOf(events) };
  }
}

/** They are most of a log, and no row has any. */
function withoutCounters(event: RecordedEvent): RecordedEvent {
  if (event.type !== 'evaluation-finished') return event;
  const { counters: _counters, findings: _findings, coverage: _coverage, timing, ...evaluation } = event.evaluation;
  const { bounds: _bounds, launches: _launches, measurement: _measurement, ...time } = timing ?? {};
  return { ...event, evaluation: { ...evaluation, timing: timing && time } } as RecordedEvent;
}

function turnOf(events: readonly RecordedEvent[]): Pick<RunChange, 'options' | 'trying' | 'evaluationsLeft'> {
  const ranked = events.findLast((event) => event.type === 'options-ranked');
  const budget = events.findLast((event) => event.type === 'budget');
  const decided = new Set(ofType(events, 'decision').map(({ iteration }) => iteration));
  // Several may be judged at a time.
  const proposed = ofType(events, 'move-proposed').findLast(({ iteration }) => !decided.has(iteration));
  return {
    options: ranked ? ranked.options.map(watchedOption) : [],
    trying: proposed && formatMove(proposed.move),
    evaluationsLeft: budget?.evaluationsLeft ?? null,
  };
}

const watchedOption = (option: OptionsRankedEvent['options'][number]): WatchedOption => ({
  move: formatMove(option.move),
  pattern: option.pattern.title,
  finding: option.finding.id,
  evaluationId: option.finding.evaluationId,
  arithmetic: option.arithmetic,
  evidence: `${option.evidence.kept} of ${option.evidence.attempts}`,
  state: option.state,
});
