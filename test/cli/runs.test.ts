import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openFakeSession } from '../../bench/soak/fake-session.ts';
import { requestOf, SCENARIOS } from '../../bench/soak/scenarios.ts';
import { prepareRun, runLoop } from '../../src/app/optimize.ts';
import { readEventLog } from '../../src/store/event-log.ts';
import { createRunFolder, eventsPath, findRun, openRunFolder } from '../../src/store/run-folder.ts';
import { unwrapped } from '../support/printed.ts';
import { runCli, runJson, temporaryFolder } from './run-cli.ts';

let store: string;

/** A run with evaluations made up, ended by its budget or, with `diesAfter`, by nothing. */
async function fakeRun(id: string, scenario: string, diesAfter?: number): Promise<void> {
  const settings = SCENARIOS[scenario]!;
  const controller = new AbortController();
  const prepared = await prepareRun({
    ...requestOf(settings, store, 12),
    signal: controller.signal,
    onEvent: (event) => {
      if (event.type === 'budget' && event.evaluationsUsed === diesAfter) controller.abort();
    },
  });
  const session = openFakeSession({ kind: settings.kind, pauseMs: 0, journal: join(store, 'journal') });
  const run = createRunFolder(store, id);
  await runLoop(prepared, session, run, { priors: { patterns: [], costs: [] } });
  // A run that was killed has no `run-finished`.
  if (diesAfter !== undefined) openRunFolder(run.path, {}, (events) => events.length - 1).log.close();
}

beforeAll(async () => {
  store = temporaryFolder();
  mkdirSync(store, { recursive: true });
  await fakeRun('1-predicted', 'guided');
  await fakeRun('2-measured', 'guided-measured');
  await fakeRun('3-died', 'guided', 4);
});

describe('runs', () => {
  test('lists them, the newest first, each time and ratio with its kind', async () => {
    const { code, stdout } = await runCli(['runs', '--store', store]);
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^3 runs in /);
    expect(lines[2]).toMatch(/^run +(workload +)?state +(best +)?time +speed-up +age$/);
    expect(lines.slice(3, 6).map((line) => line.split(' ')[0])).toEqual(['3-died', '2-measured', '1-predicted']);
    expect(lines[3]).toMatch(/ died .*predicted [\d.]+ µs +predicted [\d.]+× so far +now$/);
    expect(lines[4]).toMatch(/ evaluations-spent +measured [\d.]+ µs +measured [\d.]+× +now$/);
    expect(stdout).toContain('warpsmith resume 3-died');
  });

  test('--json; only of a problem or a device, by its id or its name', async () => {
    const ids = async (...filter: string[]) =>
      (await runJson(['runs', '--store', store, ...filter])).json.runs.map(({ id }: { id: string }) => id);
    expect(await ids()).toEqual(['3-died', '2-measured', '1-predicted']);
    expect(await ids('--device', 'cuda:0')).toEqual(['2-measured']);
    expect(await ids('--device', 'NVIDIA L4 (virtual)')).toEqual(['3-died', '1-predicted']);
    expect(await ids('--problem', 'scale', '--device', 'virtual:l4')).toHaveLength(2);
    expect(await ids('--problem', 'gemm')).toEqual([]);
  });

  test('--rebuild makes the index anew; without --store there are none here', async () => {
    const index = join(store, 'index.sqlite');
    expect(existsSync(index)).toBe(true);
    rmSync(index);
    const { json } = await runJson(['runs', '--store', store, '--rebuild']);
    expect(json).toMatchObject({ schemaVersion: 1, kind: 'runs', store });
    expect(existsSync(index)).toBe(true);
    const empty = temporaryFolder();
    expect((await runCli(['runs'], { cwd: empty })).stdout).toBe(`No runs in ${join(empty, '.warpsmith')}.\n`);
    expect(existsSync(join(empty, '.warpsmith'))).toBe(false);
  });
});

describe('show', () => {
  test('a run: what was kept and why, and where its files lie', async () => {
    const { code, stdout } = await runCli(['show', '1-predicted', '--store', store]);
    expect(code).toBe(0);
    expect(stdout).toContain('finished: ');
    expect(unwrapped(stdout)).toMatch(
      /e\d+: .* → .*: predicted [\d.]+× faster than the best before, because of \S+ of e\d+/,
    );
    expect(unwrapped(stdout)).toContain(`events: ${join(store, 'runs/1-predicted/events.jsonl')} `);
    expect(unwrapped(stdout)).toContain(`report: ${join(store, 'runs/1-predicted/report.html')} `);
    expect((await runCli(['show', '3-died', '--store', store])).stdout).toContain('warpsmith resume 3-died');
  });

  test('an evaluation: what led to it, what it is, what was decided, its sources', async () => {
    const { stdout } = await runCli(['show', '1-predicted/e2', '--store', store]);
    expect(stdout).toMatch(/^Evaluation e2 of run 1-predicted\n\nWhy\n {2}.* for \S+ of e1: figure/);
    expect(stdout).toMatch(/\nDecision\n {2}(keep|revert): /);
    expect(unwrapped(stdout)).toMatch(/ Sources(?: kernel\.\w+: \S+\/objects\/[0-9a-f]{2}\/[0-9a-f]{62})+/);
    const { json } = await runJson(['show', 'e1', '--store', store]);
    expect(json).toMatchObject({ kind: 'evaluation', run: '3-died', proposal: null, decision: { decision: 'keep' } });
    expect(readFileSync(json.sources[0].path, 'utf8')).toContain('__global__');
  });

  test('a candidate, wherever it was evaluated', async () => {
    const { events } = readEventLog(eventsPath(findRun(store, '1-predicted')));
    const first = events.find((event) => event.type === 'evaluation-finished');
    const { id } = first?.type === 'evaluation-finished' ? first.evaluation.candidate : { id: '' };
    const { json } = await runJson(['show', id.slice(0, 8), '--store', store]);
    expect(json).toMatchObject({ kind: 'candidate', id, kernel: '01_strided' });
    expect(json.sources).toContainEqual(expect.objectContaining({ file: 'kernel.cu', state: 'stored' }));
    const runs = new Set(json.evaluations.map(({ run }: { run: string }) => run));
    expect([...runs]).toEqual(['1-predicted', '2-measured', '3-died']);
    expect((await runCli(['show', id, '--store', store])).stdout).toMatch(/2-measured +e1 +n16384 +passed +measured/);
  });

  test.each([
    ['latest/e99', 'unknown-evaluation'],
    ['nothing', 'unknown-run'],
    ['deadbeef', 'unknown-candidate'],
  ])('%s: %s', async (what, code) => {
    const { code: exitCode, json } = await runJson(['show', what, '--store', store]);
    expect(exitCode).toBe(2);
    expect(json.error).toMatchObject({ code, received: expect.any(String), hint: expect.any(String) });
  });
});

describe('patterns', () => {
  test('every pattern, what it realised, measured and predicted apart', async () => {
    const { json } = await runJson(['patterns', '--store', store]);
    const tuned = json.patterns.find(({ id }: { id: string }) => id === 'tune-neighbours');
    expect(tuned.tallies.measured.attempts).toBeGreaterThan(0);
    expect(tuned.tallies.predicted.attempts).toBeGreaterThan(0);
    expect(tuned.tallies.measured.kept).toBeLessThan(tuned.tallies.measured.attempts);
    expect(tuned.moves).toBeUndefined();
    const onGpu = await runJson(['patterns', '--store', store, '--device', 'cuda:0']);
    const measured = onGpu.json.patterns.find(({ id }: { id: string }) => id === 'tune-neighbours');
    expect(measured.tallies).toEqual({ ...tuned.tallies, predicted: expect.objectContaining({ attempts: 0 }) });
  });

  test('--evidence: each move with its finding, what it expected and what it realised', async () => {
    const { code, stdout } = await runCli(['patterns', '--evidence', '--store', store]);
    expect(code).toBe(0);
    expect(unwrapped(stdout)).toMatch(
      /1-predicted\/e\d+: .*; \S+ of e\d+: figure .*; expected [\d.]+×, predicted [\d.]+×: (keep|revert)/,
    );
    expect(unwrapped(stdout)).toMatch(/2-measured\/e\d+: .*, measured [\d.]+× \[[\d.]+, [\d.]+\]: (keep|revert)/);
    expect(unwrapped(stdout)).toContain('never added up');
    expect(stdout).toMatch(/tune-neighbours: Try the neighbouring value of each parameter\n {2}source: /);
  });

  test('a store without runs: every pattern, tried by none', async () => {
    const { json } = await runJson(['patterns', '--store', join(store, 'none')]);
    expect(json.patterns.length).toBeGreaterThan(10);
    expect(
      json.patterns.every((p: { tallies: { measured: { attempts: number } } }) => p.tallies.measured.attempts === 0),
    ).toBe(true);
  });
});
