import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { WarpsmithError } from '../core/errors.ts';
import { DEFAULT_STORE } from '../core/requests/options.ts';
import type { RequestOf } from '../core/requests/request.ts';
import { type ListedRun, type RunsReport, runState } from '../reports/documents/runs.ts';
import type { Shown, ShownCandidate, ShownEvaluation, ShownRun, StoredSource } from '../reports/documents/show.ts';
import { authoredView } from '../reports/view/authored.ts';
import { openContentStore, textsOf } from '../store/content-store.ts';
import { readEventLog, readingLog } from '../store/event-log.ts';
import { ofType, type RecordedEvent } from '../store/events.ts';
import type { RunRow } from '../store/index/rows.ts';
import { withRunIndex } from '../store/index/run-index.ts';
import { eventsPath, findRun, RUN_FILES, runFolderPath } from '../store/run-folder.ts';
import { isBeingWritten } from '../store/writer-lock.ts';

/** A row of the index, and whether somebody writes the run now. */
export function listed(store: string, row: RunRow): ListedRun {
  const folder = runFolderPath(store, row.id);
  // Only an unfinished run may still be in progress.
  return { ...row, folder, state: runState(row, row.stopReason === null && isBeingWritten(folder)) };
}

/**
 * The runs of a store, newest first.
 *
 * @throws WarpsmithError if an index that must be rebuilt can't be removed.
 */
export function listRuns({ store = DEFAULT_STORE, problem, device, rebuild = false }: RequestOf<'runs'>): RunsReport {
  const rows = withRunIndex(store, (index) => index.runs({ problem, device }), { rebuild });
  return {
    schemaVersion: 1,
    kind: 'runs',
    store: resolve(store),
    runs: rows.map((row) => listed(store, row)).reverse(),
  };
}

const EVALUATION = /^(?:(.*)\/)?(e\d+)$/;
/** Fewest digits that name a candidate; a whole id has 12. */
const CANDIDATE = /^[0-9a-f]{4,12}$/;

/**
 * Describes a run, an evaluation of a run (`<run>/e12`, or `e12` of the newest one) or a candidate.
 *
 * @throws WarpsmithError `unknown-run`, `ambiguous-run`, `no-runs`, `unknown-evaluation`, `unknown-candidate`,
 * `ambiguous-candidate`; as `readEventLog`.
 */
export const show = (store: string, which: string): Shown => readingLog(() => shown(store, which));

function shown(store: string, which: string): Shown {
  const [, run, evaluation] = EVALUATION.exec(which) ?? [];
  if (evaluation !== undefined) return showEvaluation(findRun(store, run ?? 'latest'), evaluation);
  const folder = runOrUndefined(store, which);
  if (folder !== undefined) return showRun(folder);
  return showCandidate(store, which);
}

/** If the text may be a candidate's id, it need not be a run's. */
function runOrUndefined(store: string, which: string): string | undefined {
  try {
    return findRun(store, which);
  } catch (error) {
    const isUnknown = error instanceof WarpsmithError && error.details.code === 'unknown-run';
    if (isUnknown && CANDIDATE.test(which)) return undefined;
    throw error;
  }
}

/** A run outside the store: only its own folder is known. */
const storeOf = (folder: string): string => dirname(dirname(folder));

const existing = (path: string): string | null => (existsSync(path) ? path : null);

function showRun(folder: string): ShownRun {
  const id = basename(folder);
  const store = storeOf(folder);
  const { row, moves } = withRunIndex(store, (index) => ({
    row: index.runs().find((candidate) => candidate.id === id),
    moves: index.moves().filter(({ run }) => run === id),
  }));
  if (!row) throw new Error(`${folder} is not among the runs of its store`);
  return {
    schemaVersion: 1,
    kind: 'run',
    run: listed(store, row),
    kept: moves.filter(({ decision }) => decision === 'keep'),
    revertedCount: moves.filter(({ decision }) => decision === 'revert').length,
    files: {
      log: eventsPath(folder),
      report: existing(join(folder, RUN_FILES.reportHtml)),
      best: existing(join(folder, RUN_FILES.best)),
    },
  };
}

/** @param events of the run's log, where they have been read. */
export function showEvaluation(
  folder: string,
  id: string,
  events: readonly RecordedEvent[] = readEventLog(eventsPath(folder)).events,
): ShownEvaluation {
  const index = events.findIndex((event) => event.type === 'evaluation-finished' && event.evaluation.id === id);
  const finished = events[index];
  if (finished?.type !== 'evaluation-finished') throw unknownEvaluation(folder, id, events);
  const proposal = ofType(events.slice(0, index), 'move-proposed').findLast(
    ({ iteration }) => iteration === finished.iteration,
  );
  // A confirmation at the end proposes nothing.
  const isProposed = proposal?.candidate.id === finished.evaluation.candidate.id;
  const choice = isProposed ? events.slice(0, index).findLast((event) => event.type === 'arm-chosen') : undefined;
  return {
    schemaVersion: 1,
    kind: 'evaluation',
    run: basename(folder),
    evaluation: finished.evaluation,
    proposal: proposal && isProposed ? proposal : null,
    choice,
    decision: ofType(events, 'decision').find(({ evaluationId }) => evaluationId === id) ?? null,
    ...writtenOf(folder, id, events),
    sources: storedSources(folder, finished.sources),
  };
}

function writtenOf(folder: string, id: string, events: readonly RecordedEvent[]): Pick<ShownEvaluation, 'written'> {
  const read = textsOf(openContentStore(join(folder, RUN_FILES.objects)));
  const written = authoredView(events, read)?.written.find(({ evaluationId }) => evaluationId === id);
  return written ? { written } : {};
}

function storedSources(folder: string, sources: Readonly<Record<string, string>>): StoredSource[] {
  const objects = openContentStore(join(folder, RUN_FILES.objects));
  return Object.entries(sources).map(([file, hash]) => ({
    file,
    hash,
    path: objects.pathOf(hash),
    state: objectState(() => objects.get(hash)),
  }));
}

function objectState(read: () => unknown): StoredSource['state'] {
  try {
    read();
    return 'stored';
  } catch (error) {
    if (!(error instanceof WarpsmithError)) throw error;
    return error.details.code === 'missing-object' ? 'missing' : 'damaged';
  }
}

function unknownEvaluation(folder: string, id: string, events: readonly RecordedEvent[]): WarpsmithError {
  const count = events.filter(({ type }) => type === 'evaluation-finished').length;
  return new WarpsmithError({
    code: 'unknown-evaluation',
    message: `Run ${basename(folder)} has no evaluation ${id}.`,
    file: folder,
    received: id,
    expected: count === 0 ? 'a run with evaluations' : `e1 to e${count}`,
    hint: `warpsmith report ${basename(folder)} lists them.`,
  });
}

function showCandidate(store: string, start: string): ShownCandidate {
  const evaluations = withRunIndex(store, (index) => index.evaluationsOf(start));
  const ids = [...new Set(evaluations.map(({ candidate }) => candidate))];
  const last = evaluations.at(-1);
  if (ids.length !== 1 || !last) throw notOneCandidate(store, start, ids);
  const { events } = readEventLog(eventsPath(runFolderPath(store, last.run)));
  const finished = ofType(events, 'evaluation-finished').find(({ evaluation }) => evaluation.id === last.id);
  return {
    schemaVersion: 1,
    kind: 'candidate',
    id: ids[0]!,
    kernel: last.kernel,
    parameters: JSON.parse(last.parameters),
    evaluations,
    sources: storedSources(runFolderPath(store, last.run), finished?.sources ?? {}),
  };
}

const notOneCandidate = (store: string, start: string, ids: readonly string[]): WarpsmithError =>
  new WarpsmithError({
    code: ids.length === 0 ? 'unknown-candidate' : 'ambiguous-candidate',
    message:
      ids.length === 0
        ? `No run and no candidate is called ${start}.`
        : `${ids.length} candidates begin with ${start}: ${ids.join(', ')}.`,
    file: resolve(store),
    received: start,
    expected: 'a run, a run/evaluation such as latest/e3, or a candidate’s id',
    hint: 'warpsmith runs lists the runs; reports and logs name candidates.',
  });
