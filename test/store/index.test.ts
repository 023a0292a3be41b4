import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeCandidate } from '../../src/core/candidate.ts';
import { WHILE_TIMED } from '../../src/core/evaluation.ts';
import type { EvaluationStatus } from '../../src/core/status.ts';
import { EVENT_SCHEMA_VERSION, NOTHING_KEPT, type RunEvent, UNLIMITED } from '../../src/store/events.ts';
import { readPriors } from '../../src/store/index/read-priors.ts';
import { INDEX_FILE, type RunIndex, withRunIndex } from '../../src/store/index/run-index.ts';
import { INDEX_VERSION } from '../../src/store/index/tables.ts';
import { createRunFolder, runFolderPath } from '../../src/store/run-folder.ts';
import { openDatabase } from '../../src/store/sqlite.ts';
import { kernel, runLoop, scriptedAuthor, scriptedEvaluator } from '../optimizer/fakes.ts';
import { longTestOf } from '../support/sampling/long-tests.ts';

let store: string;
beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), 'warpsmith-index-'));
});
afterEach(() => rmSync(store, { recursive: true, force: true }));

const L4 = { id: 'virtual:l4', kind: 'virtual', name: 'NVIDIA L4 (virtual)' } as const;
const H200 = { id: 'cuda:0', kind: 'cuda', name: 'NVIDIA H200' } as const;

interface Attempt {
  pattern: string;
  /** Old time ÷ new time; undefined when the candidate did not pass. */
  ratio?: number;
  status?: EvaluationStatus;
  compileMs?: number;
  isRepeated?: boolean;
}

interface RunOptions {
  problem?: string;
  device?: typeof L4 | typeof H200;
  attempts?: Attempt[];
  isFinished?: boolean;
}

const evaluated = (
  number: number,
  device: typeof L4 | typeof H200,
  { status = 'passed', compileMs = 100, isRepeated = false }: Partial<Attempt> = {},
): RunEvent => ({
  type: 'evaluation-finished',
  iteration: number - 1,
  evaluation: {
    schemaVersion: 1,
    id: `e${number}`,
    candidate: {
      id: `c${number}`,
      kernel: number === 1 ? '01_first' : '02_second',
      folder: '',
      parameters: { TILE: number },
    },
    device,
    workload: { name: 'n', dimensions: {} },
    status,
    findings: [],
    elapsedMs: isRepeated
      ? { compile: 0, verify: 0, time: 0, total: 1 }
      : { compile: compileMs, verify: 10, time: 2, total: compileMs + 12 },
    ...(isRepeated && { repeated: { evaluatedAt: '2025-11-20T18:41:03Z', elapsedMs: 112 } }),
    ...(status === 'passed' && {
      timing: {
        kind: device.kind === 'cuda' ? 'measured' : 'predicted',
        medianNs: 1000 / number,
        intervalNs: [1, 2],
        vetoNs: 1,
        attainableNs: 2,
        bindingResource: 'dram',
      },
    }),
  },
  sources: {},
});

function* eventsOf({
  problem = 'scale',
  device = L4,
  attempts = [],
  isFinished = true,
}: RunOptions): Generator<RunEvent> {
  const workload = { name: 'n', dimensions: {}, cache: 'hot' } as const;
  yield {
    type: 'run-started',
    problem: { name: problem, folder: '/problem' },
    start: { id: 'c1', kernel: '01_first', parameters: {} },
    workload,
    workloads: [{ ...workload, weight: 1 }],
    device,
    seed: 1,
    strategy: 'guided',
    budgets: UNLIMITED,
    goal: null,
    priors: { patterns: [], costs: [] },
    request: { target: '/problem' },
    environment: {},
  };
  yield evaluated(1, device);
  yield {
    type: 'decision',
    iteration: 0,
    evaluationId: 'e1',
    decision: 'keep',
    comparedWith: null,
    ratio: null,
    reason: 'the start',
  };
  for (const [index, attempt] of attempts.entries()) {
    const { pattern, ratio } = attempt;
    const iteration = index + 1;
    yield {
      type: 'move-proposed',
      iteration,
      moveKey: `${pattern}/02_second`,
      pattern: { id: pattern, title: pattern },
      finding: { id: 'occupancy', evaluationId: 'e1', estimatedSpeedup: 2, evidence: 'warps 4, below 8' },
      move: { kind: 'rung', from: '01_first', to: '02_second' },
      candidate: { id: `c${iteration + 1}`, kernel: '02_second', parameters: {} },
      expectedGain: 1.5,
      confidence: 0.5,
      reason: 'why not',
    };
    yield evaluated(iteration + 1, device, attempt);
    yield {
      type: 'decision',
      iteration,
      evaluationId: `e${iteration + 1}`,
      decision: ratio !== undefined && ratio > 1.03 ? 'keep' : 'revert',
      comparedWith: 'e1',
      ratio: ratio ?? null,
      reason: 'decided',
    };
  }
  if (!isFinished) return;
  const kept = attempts.findLastIndex(({ ratio = 0 }) => ratio > 1.03);
  yield { type: 'run-finished', stopReason: 'no-moves-left', detail: 'all tried', best: `e${kept + 2}`, speedup: 2 };
}

function writeRun(id: string, options: RunOptions = {}): string {
  const run = createRunFolder(store, id);
  for (const event of eventsOf(options)) run.log.append(event);
  run.log.close();
  return run.path;
}

const indexPath = () => join(store, INDEX_FILE);
const ids = (index: RunIndex) => index.runs().map(({ id }) => id);

/** The runs, asked of the index file, which must be there and up to date afterwards. */
function listed(): string[] {
  const found = withRunIndex(store, ids);
  const database = openDatabase(indexPath(), { readOnly: true });
  const stored = database.prepare('SELECT id FROM runs ORDER BY id').all() as { id: string }[];
  database.close();
  expect(stored.map(({ id }) => id)).toEqual(found);
  return found;
}

describe('the index', () => {
  test('knows what the logs say', () => {
    writeRun('a', {
      attempts: [
        { pattern: 'p', ratio: 2 },
        { pattern: 'q', status: 'wrong' },
      ],
    });
    withRunIndex(store, (index) => {
      expect(index.runs()).toMatchObject([
        {
          id: 'a',
          problem: 'scale',
          device: L4.name,
          kind: 'predicted',
          evaluations: 3,
          stopReason: 'no-moves-left',
          best: 'e2',
          bestKernel: '02_second',
          startNs: 1000,
          bestNs: 500,
          speedup: 2,
          error: null,
        },
      ]);
      expect(index.moves()).toMatchObject([
        { pattern: 'p', evaluation: 'e2', decision: 'keep', ratio: 2, expectedGain: 1.5, evidence: 'warps 4, below 8' },
        { pattern: 'q', evaluation: 'e3', decision: 'revert', ratio: null, status: 'wrong' },
      ]);
      expect(index.evaluationsOf('c3')).toMatchObject([{ run: 'a', id: 'e3', status: 'wrong', medianNs: null }]);
    });
  });

  test('a run that has no end is known as far as it came, its best and its speed-up so far', () => {
    const attempts = [
      { pattern: 'p', ratio: 2 },
      { pattern: 'p', ratio: 1.5 },
      { pattern: 'p', ratio: 0.5 },
    ];
    writeRun('a', { attempts, isFinished: false });
    writeRun('b', { attempts, isFinished: false, device: H200 });
    expect(withRunIndex(store, (index) => index.runs())).toMatchObject([
      { stopReason: null, best: 'e3', speedup: 3 },
      // A measured gain counts once it is confirmed.
      { stopReason: null, best: 'e3', speedup: null },
    ]);
  });

  test('follows the logs: new runs, runs that went on, runs that were deleted', () => {
    writeRun('a', { isFinished: false });
    expect(listed()).toEqual(['a']);
    writeRun('b');
    expect(listed()).toEqual(['a', 'b']);
    rmSync(runFolderPath(store, 'a'), { recursive: true });
    writeRun('a', { attempts: [{ pattern: 'p', ratio: 2 }] });
    expect(withRunIndex(store, (index) => index.runs()[0])).toMatchObject({ id: 'a', evaluations: 2 });
    rmSync(runFolderPath(store, 'b'), { recursive: true });
    expect(listed()).toEqual(['a']);
    expect(withRunIndex(store, (index) => index.moves())).toHaveLength(1);
  });

  test('logs that did not change are not read again', () => {
    const log = join(writeRun('a'), 'events.jsonl');
    expect(listed()).toEqual(['a']);
    const { atime, mtime, size } = statSync(log);
    utimesSync(log, atime, new Date(1e9));
    expect(listed()).toEqual(['a']);
    // The same size and time as when it was read: what it holds does not matter.
    const state = statSync(log);
    writeFileSync(log, ' '.repeat(size));
    utimesSync(log, state.atime, new Date(1e9));
    expect(withRunIndex(store, (index) => index.runs()[0]?.error)).toBeNull();
    utimesSync(log, atime, mtime);
    expect(withRunIndex(store, (index) => index.runs()[0]?.error)).toMatch(/ended before it began/);
  });

  test('is made anew when it is missing, no database, damaged, or of an older version', () => {
    writeRun('a');
    expect(listed()).toEqual(['a']);
    rmSync(indexPath());
    expect(listed()).toEqual(['a']);
    writeFileSync(indexPath(), 'this is no database, and longer than a header: '.repeat(100));
    expect(listed()).toEqual(['a']);
    const bytes = readFileSync(indexPath());
    bytes.fill(0xff, 4096);
    writeFileSync(indexPath(), bytes);
    expect(listed()).toEqual(['a']);
    const older = openDatabase(indexPath());
    older.exec('DROP TABLE moves; PRAGMA user_version = 0');
    older.close();
    expect(listed()).toEqual(['a']);
    expect(withRunIndex(store, (index) => index.moves())).toEqual([]);
  });

  test('--rebuild forgets what it knew', () => {
    writeRun('a');
    listed();
    const database = openDatabase(indexPath());
    database.exec("UPDATE runs SET problem = 'nonsense'");
    database.close();
    const problems = (index: RunIndex) => index.runs().map(({ problem }) => problem);
    expect(withRunIndex(store, problems)).toEqual(['nonsense']);
    expect(withRunIndex(store, problems, { rebuild: true })).toEqual(['scale']);
  });

  test('of a newer version is left alone, and the logs are read instead', () => {
    writeRun('a');
    listed();
    const newer = openDatabase(indexPath());
    newer.exec(`DELETE FROM runs; PRAGMA user_version = ${INDEX_VERSION + 1}`);
    newer.close();
    expect(withRunIndex(store, ids)).toEqual(['a']);
    const left = openDatabase(indexPath(), { readOnly: true });
    expect(left.prepare('SELECT count(*) AS runs FROM runs').get()).toEqual({ runs: 0 });
    left.close();
  });

  test('is not needed: where none can be written, the logs say the same', () => {
    writeRun('a', { attempts: [{ pattern: 'p', ratio: 2 }] });
    // A folder in its place refuses everyone, root too.
    mkdirSync(indexPath());
    expect(withRunIndex(store, (index) => [ids(index), index.moves().length])).toEqual([['a'], 1]);
    expect(readdirSync(store).sort()).toEqual([INDEX_FILE, 'runs']);
  });

  test('nothing is written where there are no runs', () => {
    expect(withRunIndex(join(store, 'none'), ids)).toEqual([]);
    expect(existsSync(join(store, 'none'))).toBe(false);
  });

  test('a log that can not be read is a run that can not be read', () => {
    writeRun('a');
    writeFileSync(join(writeRun('b'), 'events.jsonl'), 'garbage\n');
    const newer = join(writeRun('c'), 'events.jsonl');
    writeFileSync(newer, `{"schemaVersion":${EVENT_SCHEMA_VERSION + 1},"sequence":1}\n`);
    expect(withRunIndex(store, (index) => index.runs().map(({ error }) => error))).toEqual([
      null,
      expect.stringContaining('is not JSON'),
      expect.stringContaining('newer warpsmith'),
    ]);
  });

  longTestOf(import.meta.filename)(
    'processes that fill it at the same time all get the right answer, and leave it whole',
    async () => {
      for (let run = 0; run < 20; run += 1) writeRun(`run-${run}`, { attempts: [{ pattern: 'p', ratio: 2 }] });
      const module = new URL('../../src/store/index/run-index.ts', import.meta.url).href;
      const code = `import { withRunIndex } from ${JSON.stringify(module)};
      console.log(withRunIndex(${JSON.stringify(store)}, (index) => index.moves().length));`;
      const answers = await Promise.all(
        [1, 2, 3].map(
          () =>
            new Promise<string>((resolve, reject) => {
              const child = spawn(process.execPath, ['--input-type=module', '-e', code]);
              let output = '';
              for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
              child.on('error', reject);
              child.on('close', () => resolve(output));
            }),
        ),
      );
      expect(answers).toEqual(['20\n', '20\n', '20\n']);
      expect(listed()).toHaveLength(20);
    },
  );
});

describe('priors', () => {
  const query = { problem: 'scale', device: L4, rungs: ['01_first', '02_second', '03_third'] };
  const failed = { pattern: 'p', ratio: 0.9 };
  const helped = { pattern: 'p', ratio: 2 };

  test('failed attempts count; the gain is the geometric mean of what was kept', () => {
    writeRun('a', { attempts: [helped, { pattern: 'p', ratio: 8 }, failed, { pattern: 'p', status: 'wrong' }] });
    const [prior] = readPriors(store, query).patterns;
    expect(prior).toEqual({
      pattern: 'p',
      scope: 'problem-and-device',
      attempts: 4,
      kept: 2,
      realisedGain: expect.closeTo(4, 9),
    });
  });

  test('what was only repeated is no further attempt, and says nothing of costs', () => {
    const again = { ...helped, isRepeated: true };
    writeRun('a', { attempts: [helped, failed, failed] });
    writeRun('b', { attempts: [again, again, again, again] });
    const { patterns, costs } = readPriors(store, query);
    expect(patterns).toMatchObject([{ attempts: 3, kept: 1, realisedGain: 2 }]);
    expect(costs).toContainEqual({ kernel: '02_second', compileMs: 100, runMs: 12 });
    // The run kept it all the same.
    expect(withRunIndex(store, (index) => index.moves().filter(({ run }) => run === 'b'))).toHaveLength(4);
  });

  test('a pattern that never helped has gained nothing', () => {
    writeRun('a', { attempts: [failed, failed, failed] });
    expect(readPriors(store, query).patterns).toMatchObject([{ attempts: 3, kept: 0, realisedGain: 1 }]);
  });

  test('the narrowest scope with three attempts speaks', () => {
    writeRun('elsewhere', { problem: 'other', device: L4, attempts: [helped, failed] });
    writeRun('here', { attempts: [failed, failed] });
    expect(readPriors(store, query).patterns).toMatchObject([{ scope: 'device', attempts: 4, kept: 1 }]);
    writeRun('here again', { attempts: [failed] });
    expect(readPriors(store, query).patterns).toMatchObject([{ scope: 'problem-and-device', attempts: 3, kept: 0 }]);
    const other = { ...L4, name: 'NVIDIA H100 (virtual)' };
    expect(readPriors(store, { ...query, device: other }).patterns).toMatchObject([{ scope: 'all', attempts: 5 }]);
  });

  test('a predicted gain is no prior for a measured run, nor the other way round', () => {
    writeRun('a', { attempts: [helped, helped, helped] });
    expect(readPriors(store, { ...query, device: H200 }).patterns).toEqual([]);
    writeRun('b', { device: H200, attempts: [failed] });
    expect(readPriors(store, { ...query, device: H200 }).patterns).toMatchObject([{ attempts: 1, kept: 0 }]);
    expect(readPriors(store, query).patterns).toMatchObject([{ attempts: 3, kept: 3 }]);
  });

  test('lessons say what came of a finding, and an empty store has none', () => {
    expect(readPriors(store, query)).toEqual({ patterns: [], costs: [] });
    writeRun('a', { attempts: [helped, failed, failed] });
    writeRun('b', { device: { ...L4, name: 'NVIDIA H100 (virtual)' } as never, attempts: [helped] });
    const { lessons, caught } = readPriors(store, query);
    expect(lessons).toMatchObject([
      { pattern: 'p', device: L4.name, attempts: 3, kept: 1, realisedGain: 2 },
      { pattern: 'p', device: 'NVIDIA H100 (virtual)', attempts: 1 },
    ]);
    expect(caught).toBeUndefined();
  });

  test('an author that was right when verified and wrong when timed is remembered, and what gained most in its words', async () => {
    const run = createRunFolder(store, 'authored');
    const written = (name: string) => ({
      ...({ kind: 'candidate', hypothesis: `${name} is faster`, levers: [], predictedRatio: 2, files: [] } as const),
      candidate: makeCandidate(
        { ...kernel(name, { parameters: undefined }), sources: { 'kernel.cu': `${name}();` } },
        {},
      ),
    });
    await runLoop({
      evaluator: scriptedEvaluator((name) =>
        name.startsWith('cheat')
          ? { status: 'wrong', failedCheck: WHILE_TIMED }
          : { ns: name.startsWith('good') ? 400 : 1000 },
      ),
      author: scriptedAuthor(written('good'), written('cheat'), { kind: 'ended', reason: 'author-failed', detail: '' }),
      emit: (event) => void run.log.append(event),
    });
    run.log.close();
    const { lessons, caught } = readPriors(store, { ...query, problem: 'scale' });
    expect(caught).toEqual([{ author: 'scripted', count: 1 }]);
    expect(lessons).toMatchObject([
      { pattern: 'written', best: { hypothesis: 'good is faster', ratio: 2.5, evidence: 'authored/e2' } },
    ]);
    expect(readPriors(store, { ...query, problem: 'other' }).caught).toBeUndefined();
  });

  test('of those who shared runs it is known what a turn gave and took, the last one of a run, too', async () => {
    const written = (name: string) => ({
      ...({ kind: 'candidate', hypothesis: '', levers: [], predictedRatio: null, files: [] } as const),
      candidate: makeCandidate(
        { ...kernel(name, { parameters: undefined }), sources: { 'kernel.cu': `${name}();` } },
        {},
      ),
    });
    const shared = async (id: string, ...names: string[]): Promise<void> => {
      const run = createRunFolder(store, id);
      const author = scriptedAuthor(...names.map(written), { kind: 'ended', reason: 'author-failed', detail: '' });
      await runLoop({
        ...{ budgets: { ...UNLIMITED, maximumEvaluations: names.length + 1, allowance: NOTHING_KEPT } },
        evaluator: scriptedEvaluator((name) => ({ ns: name.startsWith('good') ? 800 : 1000 })),
        shared: { writers: [{ author, name: 'one' }], isAlone: true, recorded: [], record: () => undefined },
        emit: (event) => void run.log.append(event),
      });
      run.log.close();
    };
    await shared('first', 'slow', 'good');
    await shared('second', 'bad');
    const turns = withRunIndex(store, (index) =>
      index.turns({ problem: 'scale', device: query.device.name, kind: 'predicted' }),
    );
    expect(turns.map(({ run, arm, gain, evaluations }) => [run, arm, gain, evaluations])).toEqual([
      ['first', 'one', 0, 1],
      ['first', 'one', Math.log(1000 / 800), 1],
      ['second', 'one', 0, 1],
    ]);
    const { arms } = readPriors(store, { ...query, problem: 'scale' });
    expect(arms).toEqual([{ arm: 'one', turns: 3, gain: Math.log(1.25) / 3, used: expect.any(Object) }]);
    expect(arms![0]!.used.evaluations).toBe(1);
    expect(readPriors(store, { ...query, problem: 'other' }).arms).toBeUndefined();
    const elsewhere = { ...query, problem: 'scale', device: { name: 'another', kind: 'virtual' } as const };
    expect(readPriors(store, elsewhere).arms).toBeUndefined();
  });

  test('a failure of the device is no attempt', () => {
    writeRun('a', { attempts: [{ pattern: 'p', status: 'device-failed' }] });
    expect(readPriors(store, query).patterns).toEqual([]);
  });

  test('costs are medians of this problem on this device; compiled code from a cache cost nothing to compile', () => {
    const attempts = [100, 300, 0, 200].map((compileMs) => ({ ...failed, compileMs }));
    writeRun('a', { attempts });
    writeRun('b', { problem: 'other', attempts: [{ ...failed, compileMs: 9000 }] });
    expect(readPriors(store, query).costs).toEqual([
      { kernel: '01_first', compileMs: 100, runMs: 12 },
      { kernel: '02_second', compileMs: 200, runMs: 12 },
    ]);
  });

  test('an empty store knows nothing', () => {
    expect(readPriors(store, query)).toEqual({ patterns: [], costs: [] });
  });
});
