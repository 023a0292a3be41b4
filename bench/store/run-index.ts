/**
 * What the index of all runs saves: `runs` and `patterns` over a store of many runs, with the index as it is, after one more
 * run, made anew, and without any (the same worked out from the logs).
 *
 *     node bench/store/run-index.ts [--run .warpsmith/runs/…] [--runs 1000] [--output docs/results/run-index.json]
 *
 * The store is made of copies of one run. Without --run, softmax is optimised on the virtual L4 first.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { INDEX_FILE, withRunIndex } from '../../src/store/index/run-index.ts';
import { openDatabase } from '../../src/store/sqlite.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const REPEATS = 3;
/** An index of a newer warpsmith is left alone, and everything is worked out from the logs. */
const NEWER_VERSION = 1_000_000;

const { values } = parseArgs({
  options: { run: { type: 'string' }, runs: { type: 'string', default: '1000' }, output: { type: 'string' } },
});
const runCount = Number(values.runs);

function warpsmith(...args: string[]): number {
  const startMs = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'bin', 'warpsmith.mjs'), ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  if (status !== 0) throw new Error(`warpsmith ${args.join(' ')} exited with ${status}: ${stderr}`);
  return performance.now() - startMs;
}

/** One run to copy. */
function newRun(folder: string): string {
  const limits = ['--device', 'virtual:l4', '--max-evaluations', '12'];
  warpsmith('optimize', join(ROOT, 'problems', 'softmax'), ...limits, '--store', folder);
  return join(folder, 'runs', readdirSync(join(folder, 'runs'))[0]!);
}

/** Seconds: the median of several. */
function seconds(measure: () => number): number {
  const times = Array.from({ length: REPEATS }, measure).sort((a, b) => a - b);
  return Number((times[Math.floor(REPEATS / 2)]! / 1000).toFixed(3));
}

const folder = mkdtempSync(join(tmpdir(), 'warpsmith-run-index-'));
try {
  const log = join(values.run ?? newRun(join(folder, 'one')), 'events.jsonl');
  const store = join(folder, 'store');
  const copy = (index: number): void =>
    cpSync(log, join(store, 'runs', `2026-01-01T00-00-00-copy-${String(index).padStart(6, '0')}`, 'events.jsonl'));
  for (let index = 0; index < runCount; index++) copy(index);
  const index = join(store, INDEX_FILE);
  const both = (measure: (command: string) => number) => ({
    runs: seconds(() => measure('runs')),
    patterns: seconds(() => measure('patterns')),
  });
  const ask = (command: string): number => warpsmith(command, '--json', '--store', store);

  const madeAnew = both((command) => {
    rmSync(index, { force: true });
    return ask(command);
  });
  const indexBytes = statSync(index).size;
  const upToDate = both(ask);
  let next = runCount;
  const oneRunLater = both((command) => {
    copy(next++);
    return ask(command);
  });
  for (let added = runCount; added < next; added++)
    rmSync(join(store, 'runs', `2026-01-01T00-00-00-copy-${String(added).padStart(6, '0')}`), { recursive: true });
  withRunIndex(store, () => {});
  const database = openDatabase(index);
  database.exec(`PRAGMA user_version = ${NEWER_VERSION}`);
  database.close();
  const none = both(ask);
  const recording = {
    schemaVersion: 1,
    recordedAt: new Date().toISOString(),
    cores: availableParallelism(),
    runs: runCount,
    logBytes: statSync(log).size,
    evaluations: readFileSync(log, 'utf8').match(/"type":"evaluation-finished"/g)?.length ?? 0,
    indexBytes,
    /** Seconds of the whole command, the median of three. */
    seconds: { upToDate, oneRunLater, madeAnew, none },
  };
  const text = `${JSON.stringify(recording, undefined, 1)}\n`;
  process.stdout.write(text);
  if (values.output !== undefined) writeFileSync(values.output, text);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
