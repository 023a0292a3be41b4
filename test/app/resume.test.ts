import { spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openFakeSession } from '../../bench/soak/fake-session.ts';
import { CHILD, logOf, withoutTimes } from '../../bench/soak/kill-runs.ts';
import type { ChildRequest } from '../../bench/soak/killed-child.ts';
import { PROBLEM, requestOf, SCENARIOS } from '../../bench/soak/scenarios.ts';
import { type OptimizeOutcome, type OptimizeRequest, prepareRun, runLoop } from '../../src/app/optimize.ts';
import { type ResumeOutcome, type ResumeRequest, resumeRun } from '../../src/app/resume.ts';
import { listRuns, show } from '../../src/app/runs.ts';
import type { Session } from '../../src/app/session.ts';
import type { Evaluation, EvaluationRequest } from '../../src/core/evaluation.ts';
import type { RecordedEvent } from '../../src/store/events.ts';
import { createRunFolder, eventsPath, findRun, openRunFolder } from '../../src/store/run-folder.ts';
import { longTests, sampled } from '../support/sampling/matrix.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const EVALUATIONS = 20;

let folder: string;
let store: string;
/** A copy of the problem, to be changed. */
let problem: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-resume-'));
  store = join(folder, 'store');
  problem = join(folder, 'scale');
  cpSync(PROBLEM, problem, { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const code = (expected: string, details: object = {}) =>
  expect.objectContaining({ details: expect.objectContaining({ code: expected, ...details }) });

type ScenarioName = 'guided' | 'guided-measured' | 'random' | 'tpe';

interface SessionChanges {
  /** Stands in for an evaluation. */
  evaluate?: (request: EvaluationRequest, honest: () => Promise<Evaluation>) => Promise<Evaluation>;
  change?: (session: Session) => Session;
}

/** A session whose evaluations are counted in the journal. */
function sessionOf(name: ScenarioName, { evaluate, change = (same) => same }: SessionChanges = {}): Session {
  const session = openFakeSession({ kind: SCENARIOS[name]!.kind, pauseMs: 0, journal: join(folder, 'journal') });
  const { evaluator } = session;
  if (!evaluate) return change(session);
  const judging = (request: EvaluationRequest) => evaluate(request, () => evaluator.evaluate(request));
  return change({ ...session, evaluator: { ...evaluator, evaluate: judging } });
}

interface StartOptions extends SessionChanges, Partial<OptimizeRequest> {
  evaluations?: number;
}

async function start(name: ScenarioName, options: StartOptions = {}): Promise<OptimizeOutcome> {
  const { evaluate, change, evaluations = EVALUATIONS, ...request } = options;
  const prepared = await prepareRun({
    ...requestOf(SCENARIOS[name]!, store, evaluations),
    target: problem,
    ...request,
  });
  const run = createRunFolder(prepared.request.store, name);
  const changes = { ...(evaluate && { evaluate }), ...(change && { change }) };
  return runLoop(prepared, sessionOf(name, changes), run, { priors: { patterns: [], costs: [] } });
}

interface Resumed extends SessionChanges {
  extendBudgets?: Pick<ResumeRequest, 'maximumEvaluations' | 'maximumMinutes' | 'maximumGpuMinutes' | 'maximumMoney'>;
  onEvent?: (event: RecordedEvent) => void;
}

const resume = (name: ScenarioName, { extendBudgets, onEvent, ...changes }: Resumed = {}): Promise<ResumeOutcome> =>
  resumeRun({ store, run: 'latest', ...extendBudgets, onEvent }, async () => sessionOf(name, changes));

/** The log of the same run, left alone. */
async function uninterrupted(name: ScenarioName, evaluations = EVALUATIONS): Promise<unknown[]> {
  const elsewhere = join(folder, 'uninterrupted');
  await start(name, { store: elsewhere, evaluations });
  return logOf(elsewhere).map(withoutTimes);
}

const log = () => logOf(store).map(withoutTimes);
const begun = () =>
  readFileSync(join(folder, 'journal'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('begin ')).length;

/** Starts a run and interrupts it, as Ctrl-C does, during this evaluation. */
async function interrupted(name: ScenarioName, during = 6): Promise<OptimizeOutcome> {
  const controller = new AbortController();
  return start(name, {
    signal: controller.signal,
    async evaluate({ id }, honest) {
      if (id === `e${during}`) controller.abort();
      return honest();
    },
  });
}

describe('a run that was interrupted', () => {
  sampled('runs that are resumed', ['guided', 'guided-measured', 'random', 'tpe'] as const, {
    oneIn: 2,
    placeOf: () => 'src/search',
  })('%s: goes on as if nothing had been', async (name) => {
    expect((await interrupted(name)).result.stopReason).toBe('interrupted');
    const before = begun();
    const { result } = await resume(name);
    expect(result.stopReason).not.toBe('interrupted');
    expect(begun() - before).toBe(result.evaluationsUsed - 5);
    expect(log()).toEqual(await uninterrupted(name));
  });

  long('again and again, down to the confirmation', async () => {
    const whole = await uninterrupted('guided-measured');
    const last = (whole.filter((event) => (event as RecordedEvent).type === 'evaluation-finished') as unknown[]).length;
    await interrupted('guided-measured', 3);
    for (let during = 5; during <= last; during += 3) {
      const controller = new AbortController();
      await resumeRun({ store, run: 'latest', signal: controller.signal }, async () =>
        sessionOf('guided-measured', {
          async evaluate({ id }, honest) {
            if (id === `e${during}`) controller.abort();
            return honest();
          },
        }),
      );
    }
    await resume('guided-measured');
    expect(log()).toEqual(whole);
  });

  test('goes on once its reports are written, which is after its log says that it has ended', async () => {
    await interrupted('random');
    const { log: writing } = openRunFolder(findRun(store, 'latest'));
    let isWritten = false;
    setTimeout(() => {
      isWritten = true;
      writing.close();
    }, 50);
    await resume('random');
    expect(isWritten).toBe(true);
  });

  test('has its session until it has ended', async () => {
    await interrupted('random');
    let ended = false;
    let closedAfter: boolean | undefined;
    const change = (session: Session): Session => ({
      ...session,
      async [Symbol.asyncDispose]() {
        closedAfter = ended;
      },
    });
    await resume('random', { change, onEvent: ({ type }) => (ended ||= type === 'run-finished') });
    expect(closedAfter).toBe(true);
  });

  test('leaves a report and the best kernel that say what a whole run’s say', async () => {
    await interrupted('guided');
    const { reportPath, bestKernelPath, view } = await resume('guided');
    expect(existsSync(reportPath)).toBe(true);
    expect(readFileSync(bestKernelPath!, 'utf8')).toContain(`of warpsmith run ${view.runId}`);
    expect(view.complete).toBe(true);
  });
});

describe('a run that ended', () => {
  test('is left alone, and said so', async () => {
    const whole = await start('random');
    const before = readFileSync(eventsPath(whole.runFolder));
    const again = await resume('random');
    expect(again).toMatchObject({
      isFinishedAlready: true,
      result: { stopReason: 'evaluations-spent', evaluationsUsed: whole.result.evaluationsUsed },
      reportPath: whole.reportPath,
      bestKernelPath: whole.bestKernelPath,
    });
    expect(readFileSync(eventsPath(whole.runFolder))).toEqual(before);
  });

  test('but was killed before its report: the report is written', async () => {
    const { reportPath } = await start('random');
    const before = readFileSync(reportPath, 'utf8');
    rmSync(reportPath);
    await resume('random');
    expect(readFileSync(reportPath, 'utf8')).toBe(before);
    // Left by an earlier part of the run, which was interrupted.
    writeFileSync(reportPath, 'interrupted');
    utimesSync(reportPath, 1, 1);
    await resume('random');
    expect(readFileSync(reportPath, 'utf8')).toBe(before);
  });

  test('because its device failed goes on from before the failure', async () => {
    let fails = true;
    const evaluate: SessionChanges['evaluate'] = async ({ id }, honest) => {
      const evaluation = await honest();
      if (!fails || Number(id!.slice(1)) < 7) return evaluation;
      const { timing: _timing, comparisons: _comparisons, ...rest } = evaluation;
      return { ...rest, status: 'device-failed', reason: 'fell off the bus', findings: [] };
    };
    expect((await start('random', { evaluate })).result.stopReason).toBe('device-failed');
    fails = false;
    await resume('random', { evaluate });
    expect(log()).toEqual(await uninterrupted('random'));
  });

  test('because its budget was spent goes on with a larger one, and evaluates nothing twice', async () => {
    const short = await start('random');
    const { result, view } = await resume('random', { extendBudgets: { maximumEvaluations: 30 } });
    expect(result.stopReason).toBe('evaluations-spent');
    // Of 30, some are kept for the end.
    expect(result.evaluationsUsed).toBeGreaterThan(20);
    expect(result.evaluationsUsed).toBeLessThanOrEqual(30);
    expect(view.evaluationsUsed).toBe(result.evaluationsUsed);
    const types = logOf(store).map(({ type }) => type);
    expect(types.filter((type) => type === 'budgets-extended')).toHaveLength(1);
    expect(types.filter((type) => type === 'run-finished')).toHaveLength(1);
    // What followed the first end is kept beside the log.
    const tails = readdirSync(short.runFolder).filter((name) => /^events\.after-\d+\.jsonl$/.test(name));
    expect(tails).toHaveLength(1);
    const searched = logOf(store).flatMap((event) => (event.type === 'move-proposed' ? [event.candidate.id] : []));
    expect(new Set(searched).size).toBe(searched.length);
  });

  sampled('interruptions of a run whose budget grew', [8, 22, 28], { oneIn: 3, placeOf: () => 'src/app' })(
    'a run whose budget grew can be interrupted again, at e%i',
    async (during) => {
      const one = await uninterruptedExtension();
      await start('random');
      const controller = new AbortController();
      const extension = { maximumEvaluations: 30 };
      await resumeRun({ store, run: 'latest', signal: controller.signal, ...extension }, async () =>
        sessionOf('random', {
          async evaluate({ id }, honest) {
            if (id === `e${during}`) controller.abort();
            return honest();
          },
        }),
      );
      await resume('random');
      expect(log()).toEqual(one);
    },
  );

  async function uninterruptedExtension(): Promise<unknown[]> {
    const kept = store;
    store = join(folder, 'extended');
    await start('random');
    await resume('random', { extendBudgets: { maximumEvaluations: 30 } });
    const events = log();
    store = kept;
    return events;
  }

  test('a run that was cut short goes on with a larger budget at once', async () => {
    await interrupted('random');
    const { result } = await resume('random', { extendBudgets: { maximumEvaluations: 30 } });
    // Of 30, some are kept for the end.
    expect(result.evaluationsUsed).toBeGreaterThan(20);
    expect(result.evaluationsUsed).toBeLessThanOrEqual(30);
    expect(begun()).toBe(result.evaluationsUsed + 1);
  });

  test.each([
    [{ maximumEvaluations: EVALUATIONS }, '--max-evaluations', `more than ${EVALUATIONS}`],
    [{ maximumMinutes: 5 }, '--max-minutes', 'nothing: this budget has no limit'],
  ])('a budget that is not larger is refused: %j', async (extendBudgets, path, expected) => {
    await start('random');
    await expect(resume('random', { extendBudgets })).rejects.toThrow(code('budget-not-larger', { path, expected }));
  });
});

describe('a run that can not go on', () => {
  const edit = (file: string, from: string, to: string) => {
    const path = join(problem, file);
    const text = readFileSync(path, 'utf8');
    expect(text).toContain(from);
    writeFileSync(path, text.replace(from, to));
  };

  test.each([
    ['02_coalesced/kernel.cu', '2.0f', '2.00f', 'kernel-changed'],
    ['01_strided/kernel.json', '"default": 8', '"default": 7', 'kernel-changed'],
    [
      '01_strided/kernel.json',
      '[1, 2, 3, 4, 5, 6, 7, 8],\n      "default": 1',
      '[1, 2],\n      "default": 1',
      'kernel-changed',
    ],
    ['problem.json', '"N": 16384', '"N": 16385', 'problem-changed'],
    ['reference.ts', '2 * value', 'value + value', 'problem-changed'],
  ])('%s was changed from %s to %s', async (file, from, to, expected) => {
    await interrupted('random', 12);
    const before = readFileSync(eventsPath(findRun(store, 'latest')));
    edit(file, from, to);
    await expect(resume('random')).rejects.toThrow(code(expected, { file: join(problem, file) }));
    expect(readFileSync(eventsPath(findRun(store, 'latest')))).toEqual(before);
  });

  test('a kernel or the whole problem is gone', async () => {
    await interrupted('random');
    rmSync(join(problem, '02_coalesced'), { recursive: true });
    await expect(resume('random')).rejects.toThrow(code('no-such-folder'));
    rmSync(problem, { recursive: true });
    await expect(resume('random')).rejects.toThrow(code('no-such-folder', { file: problem }));
  });

  test.each([
    ['uuid', 'GPU-1'],
    ['driver', '581.00'],
    ['name', 'NVIDIA H200'],
  ])('another device: its %s is %s', async (name, value) => {
    await interrupted('guided-measured');
    const change = (session: Session): Session => ({
      ...session,
      device: { ...session.device, identity: { ...session.device.identity, [name]: value } },
    });
    await expect(resume('guided-measured', { change })).rejects.toThrow(
      code('device-changed', { path: name, received: value }),
    );
  });

  test('another compiler', async () => {
    await interrupted('random');
    const change = (session: Session): Session => ({
      ...session,
      environment: { ...session.environment, compiler: 'clang 22' },
    });
    await expect(resume('random', { change })).rejects.toThrow(
      code('environment-changed', { path: 'compiler', received: 'clang 22', expected: 'none' }),
    );
  });

  test('another process writes it', async () => {
    await interrupted('random');
    const run = openRunFolder(findRun(store, 'latest'), {}, (events) => events.length - 1);
    await expect(resume('random')).rejects.toThrow(`process ${process.pid}`);
    run.log.close();
    await resume('random');
  });

  test('its log was written by another version, tampered with, or never begun', async () => {
    await interrupted('random');
    const path = eventsPath(findRun(store, 'latest'));
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replaceAll('"schemaVersion":2,"sequence"', '"schemaVersion":1,"sequence"'));
    await expect(resume('random')).rejects.toThrow(code('older-event-log'));
    writeFileSync(path, text.replaceAll('"schemaVersion":2,"sequence"', '"schemaVersion":3,"sequence"'));
    await expect(resume('random')).rejects.toThrow(code('newer-event-log'));
    writeFileSync(path, text.replace('"comparedWith":"e1"', '"comparedWith":"e2"'));
    await expect(resume('random')).rejects.toThrow(code('contradictory-log'));
    writeFileSync(path, text.replace(/("type":"decision".*?"reason":")/, '$1not '));
    await expect(resume('random')).rejects.toThrow(code('history-differs'));
    writeFileSync(path, '');
    await expect(resume('random')).rejects.toThrow(code('nothing-to-resume'));
    rmSync(path);
    await expect(resume('random')).rejects.toThrow(code('no-runs'));
  });
});

describe('a store that fails in mid-run', () => {
  /** A run in a process of its own that can't write files beyond so many blocks of 512 bytes. */
  function startLimited(blocks: number): Promise<{ exitCode: number | null; stderr: string }> {
    const request: ChildRequest = {
      store,
      journal: join(folder, 'journal'),
      scenario: 'random',
      evaluations: EVALUATIONS,
      pauseMs: 0,
    };
    const limited = `ulimit -f ${blocks}; exec "$0" "$@"`;
    const child = spawn('sh', ['-c', limited, process.execPath, CHILD, JSON.stringify(request)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (text) => {
      stderr += text;
    });
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (exitCode) => resolve({ exitCode, stderr }));
    });
  }

  long('full: a clear error, every event whole, nothing half-written; it goes on when there is room', async () => {
    const { exitCode, stderr } = await startLimited(40);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('is over the limit on the size of files (EFBIG)');
    expect(logOf(store).at(-1)).not.toMatchObject({ stopReason: 'evaluations-spent' });
    expect(readFileSync(eventsPath(findRun(store, 'latest')), 'utf8').endsWith('\n')).toBe(true);
    const names = readdirSync(store, { recursive: true, encoding: 'utf8' });
    expect(names.filter((name) => name.endsWith('.partial'))).toEqual([]);
    problem = PROBLEM;
    await resume('random');
    expect(log()).toEqual(await uninterrupted('random'));
  });

  test.skipIf(process.getuid?.() === 0)('read-only: it can be looked at, and nothing else', async () => {
    const { runFolder } = await interrupted('random');
    chmodSync(runFolder, 0o555);
    chmodSync(store, 0o555);
    try {
      expect(listRuns({ store }).runs).toMatchObject([{ state: 'finished', stopReason: 'interrupted' }]);
      await expect(resume('random')).rejects.toThrow(code('store-not-writable', { file: runFolder }));
    } finally {
      chmodSync(store, 0o755);
      chmodSync(runFolder, 0o755);
    }
    await resume('random');
  });

  test('the run’s folder is deleted: a clear error, and no part of it comes back', async () => {
    const evaluate: SessionChanges['evaluate'] = async ({ id }, honest) => {
      if (id === 'e5') rmSync(findRun(store, 'latest'), { recursive: true });
      return honest();
    };
    await expect(start('random', { evaluate })).rejects.toThrow(code('run-folder-deleted'));
    expect(readdirSync(join(store, 'runs'))).toEqual([]);
  });

  test('stored sources are deleted or changed: shown as such, and stored again by a resumed run', async () => {
    await interrupted('random');
    const states = () => {
      const shown = show(store, 'latest/e1');
      return shown.kind === 'evaluation' ? [...new Set(shown.sources.map(({ state }) => state))] : [];
    };
    expect(states()).toEqual(['stored']);
    rmSync(join(findRun(store, 'latest'), 'objects'), { recursive: true });
    expect(states()).toEqual(['missing']);
    await resume('random');
    expect(states()).toEqual(['stored']);
    const shown = show(store, 'latest/e1');
    if (shown.kind === 'evaluation') writeFileSync(shown.sources[0]!.path, 'tampered');
    expect(states()).toContain('damaged');
  });
});
