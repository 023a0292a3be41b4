import type { DatabaseSync } from 'node:sqlite';
import type { TurnRow } from './arm-turns.ts';
import type { EvaluationRow, MoveRow, RunRow, RunRows } from './rows.ts';

/** Version of the tables. An older index is rebuilt; a newer one is not used. */
export const INDEX_VERSION = 5;

/** Columns have the names of the row's fields. */
type Columns<Row> = Readonly<Record<keyof Row, string>>;

/** `log` identifies the state of the log from which the rows were made. */
const RUNS: Columns<RunRow & { log: string }> = {
  id: 'TEXT PRIMARY KEY',
  log: 'TEXT NOT NULL',
  problem: 'TEXT',
  workload: 'TEXT',
  workloads: 'INTEGER NOT NULL',
  device: 'TEXT',
  deviceId: 'TEXT',
  kind: 'TEXT',
  strategy: 'TEXT',
  seed: 'INTEGER',
  startedAt: 'TEXT',
  lastAt: 'TEXT',
  stopReason: 'TEXT',
  detail: 'TEXT',
  evaluations: 'INTEGER NOT NULL',
  startKernel: 'TEXT',
  best: 'TEXT',
  bestCandidate: 'TEXT',
  bestKernel: 'TEXT',
  startNs: 'REAL',
  bestNs: 'REAL',
  speedup: 'REAL',
  error: 'TEXT',
};

const EVALUATIONS: Columns<EvaluationRow> = {
  run: 'TEXT NOT NULL',
  id: 'TEXT NOT NULL',
  iteration: 'INTEGER NOT NULL',
  candidate: 'TEXT NOT NULL',
  kernel: 'TEXT NOT NULL',
  parameters: 'TEXT NOT NULL',
  workload: 'TEXT NOT NULL',
  status: 'TEXT NOT NULL',
  kind: 'TEXT',
  medianNs: 'REAL',
  lowNs: 'REAL',
  highNs: 'REAL',
  compileMs: 'REAL NOT NULL',
  runMs: 'REAL NOT NULL',
  decision: 'TEXT',
  ratio: 'REAL',
  minutes: 'REAL',
  money: 'REAL',
};

const MOVES: Columns<MoveRow> = {
  run: 'TEXT NOT NULL',
  sequence: 'INTEGER NOT NULL',
  iteration: 'INTEGER NOT NULL',
  pattern: 'TEXT NOT NULL',
  finding: 'TEXT NOT NULL',
  findingEvaluation: 'TEXT NOT NULL',
  evidence: 'TEXT NOT NULL',
  change: 'TEXT NOT NULL',
  expectedGain: 'REAL NOT NULL',
  confidence: 'REAL NOT NULL',
  candidate: 'TEXT NOT NULL',
  evaluation: 'TEXT NOT NULL',
  repeated: 'INTEGER NOT NULL',
  status: 'TEXT NOT NULL',
  wrongWhenTimed: 'INTEGER NOT NULL',
  decision: 'TEXT NOT NULL',
  ratio: 'REAL',
  low: 'REAL',
  high: 'REAL',
  reason: 'TEXT NOT NULL',
};

const TURNS: Columns<TurnRow> = {
  run: 'TEXT NOT NULL',
  sequence: 'INTEGER NOT NULL',
  arm: 'TEXT NOT NULL',
  gain: 'REAL NOT NULL',
  evaluations: 'INTEGER NOT NULL',
  seconds: 'REAL NOT NULL',
  gpuSeconds: 'REAL NOT NULL',
  money: 'REAL NOT NULL',
  tokens: 'INTEGER NOT NULL',
  tokenMoney: 'REAL NOT NULL',
};

const TABLES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  runs: RUNS,
  evaluations: EVALUATIONS,
  moves: MOVES,
  turns: TURNS,
};

const create = (name: string, columns: Readonly<Record<string, string>>): string =>
  `CREATE TABLE "${name}" (${Object.entries(columns)
    .map(([column, type]) => `"${column}" ${type}`)
    .join(', ')})`;

/** Drops and creates all tables, inside the caller's transaction. */
export function createTables(database: DatabaseSync): void {
  for (const [name, columns] of Object.entries(TABLES)) {
    database.exec(`DROP TABLE IF EXISTS "${name}"`);
    database.exec(create(name, columns));
  }
  database.exec('CREATE INDEX evaluationsOfRun ON evaluations (run)');
  database.exec('CREATE INDEX evaluationsOfCandidate ON evaluations (candidate)');
  database.exec('CREATE INDEX movesOfRun ON moves (run)');
  database.exec('CREATE INDEX turnsOfRun ON turns (run)');
  database.exec('CREATE INDEX movesOfPattern ON moves (pattern)');
  database.exec(`PRAGMA user_version = ${INDEX_VERSION}`);
}

function insert(database: DatabaseSync, table: string, rows: readonly object[]): void {
  const columns = Object.keys(TABLES[table]!);
  const statement = database.prepare(
    `INSERT INTO "${table}" (${columns.map((name) => `"${name}"`).join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  );
  for (const row of rows) {
    const values = row as Readonly<Record<string, string | number | null>>;
    statement.run(...columns.map((name) => values[name] ?? null));
  }
}

/** Forgets a run, inside a transaction of the caller's. */
export function removeRun(database: DatabaseSync, id: string): void {
  for (const table of ['turns', 'moves', 'evaluations']) database.prepare(`DELETE FROM ${table} WHERE run = ?`).run(id);
  database.prepare('DELETE FROM runs WHERE id = ?').run(id);
}

/** Replaces a run's rows, inside the caller's transaction. */
export function replaceRun(database: DatabaseSync, log: string, { run, evaluations, moves, turns }: RunRows): void {
  removeRun(database, run.id);
  insert(database, 'runs', [{ ...run, log }]);
  insert(database, 'evaluations', evaluations);
  insert(database, 'moves', moves);
  insert(database, 'turns', turns);
}
