import { accessSync, constants, lstatSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { WarpsmithError } from '../../core/errors.ts';
import { readEventLog, readingLog } from '../event-log.ts';
import { eventsPath, listRuns, runFolderPath } from '../run-folder.ts';
import { isDamaged, isDatabaseError, openDatabase } from '../sqlite.ts';
import { withStorageErrors } from '../storage-error.ts';
import type { TurnRow } from './arm-turns.ts';
import { type EvaluationRow, type MoveRow, type RunRow, type RunRows, rowsOf, unreadableRun } from './rows.ts';
import { createTables, INDEX_VERSION, removeRun, replaceRun } from './tables.ts';

/** The index lies beside `runs/`. It can be deleted at any time. */
export const INDEX_FILE = 'index.sqlite';

/** Another process may be reading many logs into it. */
const PATIENCE_MS = 5_000;

/** Queries over all logs of a store. Answers agree with the logs at the time of opening. */
export interface RunIndex {
  /** Oldest first. */
  runs(filter?: Omit<MoveFilter, 'pattern'>): RunRow[];
  /** A run with its evaluations in their order; undefined if the store has none of this id. */
  run(id: string): RunWithEvaluations | undefined;
  /** Evaluations of the candidates whose ids begin so; those of the newest run come last. */
  evaluationsOf(candidateStart: string): EvaluationRow[];
  /** Those of one run, in its order. */
  evaluationsIn(run: string): EvaluationRow[];
  /** Moves with their runs. Omits device failures, because they say nothing about a move. */
  moves(filter?: MoveFilter): MoveWithRun[];
  /** Evaluations with their run's problem, device and kind. */
  costs(filter: { problem: string; device: string; kind: string }): EvaluationRow[];
  /** What those who shared the runs gave and took. */
  turns(filter: { problem: string; device: string; kind: string }): TurnRow[];
}

export interface RunWithEvaluations {
  readonly run: RunRow;
  readonly evaluations: EvaluationRow[];
}

export interface MoveFilter {
  pattern?: string | undefined;
  problem?: string | undefined;
  device?: string | undefined;
  kind?: string | undefined;
}

export interface MoveWithRun extends MoveRow {
  problem: string;
  workload: string;
  device: string;
  kind: NonNullable<RunRow['kind']>;
  startedAt: string;
}

/**
 * Updates the store's index and queries it. If there can be no index (a read-only store, a full disk, an index of a newer
 * warpsmith), computes the same from the logs in memory: the index only saves time.
 *
 * @param use may be called twice.
 */
export function withRunIndex<T>(
  store: string,
  use: (index: RunIndex) => T,
  { rebuild = false }: { rebuild?: boolean } = {},
): T {
  const path = join(resolve(store), INDEX_FILE);
  if (rebuild) withStorageErrors(path, () => removeIndex(path));
  if (listRuns(store).length === 0) return inMemory(store, use);
  try {
    return inFile(path, store, use);
  } catch (error) {
    if (!isDatabaseError(error)) throw error;
    if (!isDamaged(error)) return inMemory(store, use);
  }
  try {
    removeIndex(path);
    return inFile(path, store, use);
  } catch {
    return inMemory(store, use);
  }
}

function removeIndex(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${suffix}`, { force: true });
}

function inFile<T>(path: string, store: string, use: (index: RunIndex) => T): T {
  const database = openDatabase(path, { timeout: PATIENCE_MS });
  try {
    if (userVersion(database) > INDEX_VERSION) return inMemory(store, use);
    database.exec('PRAGMA journal_mode = WAL');
    if (userVersion(database) !== INDEX_VERSION) transaction(database, () => ensureTables(database));
    refresh(database, store);
    return use(indexOf(database));
  } finally {
    database.close();
  }
}

function inMemory<T>(store: string, use: (index: RunIndex) => T): T {
  const database = openDatabase(':memory:');
  try {
    createTables(database);
    refresh(database, store);
    return use(indexOf(database));
  } finally {
    database.close();
  }
}

const userVersion = (database: DatabaseSync): number =>
  (database.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;

/** Another process may have made them since. */
function ensureTables(database: DatabaseSync): void {
  if (userVersion(database) !== INDEX_VERSION) createTables(database);
}

function transaction(database: DatabaseSync, work: () => void): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    work();
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

/** Size and time of a log; appending changes both. Undefined if the log was deleted meanwhile. */
function stateOf(log: string): string | undefined {
  const options = { throwIfNoEntry: false, bigint: true } as const;
  try {
    const stats = statSync(log, options) ?? lstatSync(log, options); // of a link that leads nowhere, its own
    if (stats?.isFile()) accessSync(log, constants.R_OK);
    return stats && `${stats.size} ${stats.mtimeNs}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return REFUSED;
    throw error;
  }
}

/** Of a log that this user may not read: permissions change neither size nor time, so it is tried again each time. */
const REFUSED = 'refused';

/** Logs that changed since they were read, and deleted runs. */
function staleRuns(database: DatabaseSync, store: string): { changed: Map<string, string>; gone: string[] } {
  const known = new Map(
    (database.prepare('SELECT id, log FROM runs').all() as { id: string; log: string }[]).map(({ id, log }) => [
      id,
      log,
    ]),
  );
  const changed = new Map<string, string>();
  for (const id of listRuns(store)) {
    const state = stateOf(eventsPath(runFolderPath(store, id)));
    if (state === undefined) continue;
    if (known.get(id) !== state || state === REFUSED) changed.set(id, state);
    known.delete(id);
  }
  return { changed, gone: [...known.keys()] };
}

function refresh(database: DatabaseSync, store: string): void {
  const { changed, gone } = staleRuns(database, store);
  if (changed.size === 0 && gone.length === 0) return;
  // Reads logs outside the transaction, so that another process waits only for the writes.
  const rows = [...changed].map(([id, state]) => ({ state, rows: readRows(store, id) }));
  transaction(database, () => {
    for (const id of gone) removeRun(database, id);
    for (const { state, rows: ofRun } of rows) replaceRun(database, state, ofRun);
  });
}

function readRows(store: string, id: string): RunRows {
  try {
    const path = eventsPath(runFolderPath(store, id));
    return readingLog(() => rowsOf(id, readEventLog(path).events));
  } catch (error) {
    if (error instanceof WarpsmithError) return unreadableRun(id, error.message);
    throw error;
  }
}

/** The SQL condition of each field of a filter. A device may be given by name or by id. */
const CONDITIONS: Readonly<Record<keyof MoveFilter, string>> = {
  problem: 'runs.problem = ?',
  device: '? IN (runs.device, runs.deviceId)',
  kind: 'runs.kind = ?',
  pattern: 'moves.pattern = ?',
};

function where(filter: MoveFilter): { sql: string; values: string[] } {
  const given = Object.entries(filter).filter((entry): entry is [keyof MoveFilter, string] => entry[1] !== undefined);
  return {
    sql: given.map(([field]) => ` AND ${CONDITIONS[field]}`).join(''),
    values: given.map(([, value]) => value),
  };
}

function indexOf(database: DatabaseSync): RunIndex {
  const all = <Row>(sql: string, values: readonly SQLInputValue[]): Row[] =>
    database
      .prepare(sql)
      .all(...values)
      .map((row) => ({ ...row })) as Row[];
  const runsWhere = (sql: string, values: readonly string[]): RunRow[] =>
    all<RunRow & { log?: string }>(`SELECT * FROM runs WHERE 1${sql} ORDER BY id`, values).map(
      ({ log: _log, ...row }) => row,
    );
  const filtered = <Row>(filter: MoveFilter, query: (conditions: string) => string): Row[] => {
    const { sql, values } = where(filter);
    return all(query(sql), values);
  };
  const evaluationsIn = (run: string): EvaluationRow[] =>
    all('SELECT * FROM evaluations WHERE run = ? ORDER BY rowid', [run]);
  return {
    runs(filter = {}) {
      const { sql, values } = where(filter);
      return runsWhere(sql, values);
    },
    run(id) {
      const [run] = runsWhere(' AND id = ?', [id]);
      return run && { run, evaluations: evaluationsIn(id) };
    },
    evaluationsOf: (candidateStart) =>
      all('SELECT * FROM evaluations WHERE substr(candidate, 1, ?) = ? ORDER BY run, rowid', [
        candidateStart.length,
        candidateStart,
      ]),
    evaluationsIn,
    moves: (filter = {}) =>
      filtered(
        filter,
        (sql) =>
          `SELECT moves.*, runs.problem, runs.workload, runs.device, runs.kind, runs.startedAt
           FROM moves JOIN runs ON runs.id = moves.run
           WHERE moves.status NOT IN ('device-failed', 'unsupported')${sql} ORDER BY moves.run, moves.sequence`,
      ),
    costs: (filter) =>
      filtered(
        filter,
        (sql) =>
          `SELECT evaluations.* FROM evaluations JOIN runs ON runs.id = evaluations.run
           WHERE 1${sql} ORDER BY evaluations.run, evaluations.rowid`,
      ),
    turns: (filter) =>
      filtered(
        filter,
        (sql) =>
          `SELECT turns.* FROM turns JOIN runs ON runs.id = turns.run WHERE 1${sql} ORDER BY turns.run, turns.sequence`,
      ),
  };
}
