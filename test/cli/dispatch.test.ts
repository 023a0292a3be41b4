import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { exitCodeOfStops } from '../../src/cli/exit-code.ts';
import { narrowFolder } from '../support/narrowed.ts';
import { type Json, repository, runCli, runJson, temporaryFolder } from './run-cli.ts';

const DEVICE = ['--device', 'virtual:l4', '--threads', '1'];
const SMALL = { rows: 64, columns: 64 };
/** The first two differ in their caches alone; the last is not declared. */
const WORKLOADS = ['small', 'small-cold', 'rows=16,columns=512'];
const NAMES = ['small', 'small-cold', 'rows16columns512'];

let place: string;
let store: string[];
let outcome: { code: number | null; json: Json };

beforeAll(async () => {
  place = temporaryFolder();
  store = ['--store', join(place, 'store')];
  const problem = join(place, 'row-sum');
  cpSync(join(repository, 'examples/row-sum'), problem, { recursive: true });
  narrowFolder(problem, ['rows * columns <= 20000']);
  const file = join(problem, 'problem.json');
  const declared = JSON.parse(readFileSync(file, 'utf8')) as Json;
  declared.workloads = [
    { name: 'small', dimensions: SMALL },
    { name: 'small-cold', dimensions: SMALL, cache: 'cold' },
  ];
  writeFileSync(file, JSON.stringify(declared));
  const workloads = WORKLOADS.flatMap((text) => ['--workload', text]);
  const options = ['--objective', 'per-workload', '--max-evaluations', '9', '--no-ablation'];
  outcome = await runJson(['optimize', problem, ...DEVICE, ...store, ...workloads, ...options]);
});

describe('optimize --objective per-workload', () => {
  it('makes a run of each workload, the budget shared out, and a table of the winners', () => {
    expect(outcome.code).toBe(0);
    expect(outcome.json).toMatchObject({ schemaVersion: 1, kind: 'per-workload' });
    expect(outcome.json.runs.map((run: Json) => [run.workload.name, run.objective.workloads.length])).toEqual(
      NAMES.map((name) => [name, 1]),
    );
    expect(outcome.json.runs.map((run: Json) => run.workload.cache)).toEqual(['hot', 'cold', 'hot']);
    const [first, second] = outcome.json.runs.map((run: Json) => run.budgets.maximumEvaluations);
    expect(first).toBe(3);
    expect(second).toBe(Math.floor((9 - outcome.json.runs[0].evaluationsUsed) / 2));
    const { dispatch } = outcome.json;
    // A call does not tell what lies in the cache: of two workloads of equal dimensions only one can be reached.
    expect(dispatch.entries.map(({ workload, kind }: Json) => [workload, kind])).toEqual([
      ['small', 'predicted'],
      ['rows16columns512', 'predicted'],
    ]);
    expect(dispatch.notes).toEqual([
      'small-cold (cold) is not in the table: a call of its dimensions goes to small (hot)',
    ]);
    for (const { seed } of dispatch.entries) expect(outcome.json.runs.map((run: Json) => run.seed)).toContain(seed);
    for (const file of dispatch.files) expect(existsSync(join(dispatch.folder, file))).toBe(true);
    expect(JSON.parse(readFileSync(join(dispatch.folder, 'dispatch.json'), 'utf8')).entries).toEqual(dispatch.entries);
    expect(readFileSync(join(dispatch.folder, 'dispatch.hpp'), 'utf8')).toContain('namespace row_sum_dispatch {');
  });

  it('gives each workload a kernel within 2 % of the fastest there', () => {
    const { entries, times } = outcome.json.dispatch;
    for (const { workload, candidate, medianNs } of entries) {
      expect(times[workload][candidate.id]).toBe(medianNs);
      expect(medianNs).toBeLessThanOrEqual(1.02 * Math.min(...(Object.values(times[workload]) as number[])));
    }
  });

  it('exits as the worst of its runs does, whichever came last', () => {
    expect(exitCodeOfStops(['evaluations-spent', 'no-moves-left'])).toBe(0);
    expect(exitCodeOfStops(['start-failed', 'evaluations-spent'])).toBe(1);
    expect(exitCodeOfStops(['device-failed', 'start-failed'])).toBe(3);
    expect(exitCodeOfStops(['start-failed', 'interrupted'])).toBe(130);
  });
});

describe('dispatch', () => {
  it('makes the same table of runs that are there', async () => {
    const runs = readdirSync(join(place, 'store/runs'));
    const folder = join(place, 'again');
    const again = await runJson(['dispatch', ...runs, ...DEVICE, ...store, '-o', folder]);
    expect(again.code).toBe(0);
    expect(again.json.entries).toEqual(outcome.json.dispatch.entries);
    expect(again.json.fallback).toEqual(outcome.json.dispatch.fallback);
    const text = await runCli(['dispatch', ...runs, ...DEVICE, ...store, '-o', folder]);
    expect(text.stdout).toMatch(new RegExp(`Dispatch table for NVIDIA L4 .*: 2 workloads.*Folder: ${folder}\\n$`, 's'));
    expect(text.stderr).toContain('Note: small-cold (cold) is not in the table: ');
  });

  it('refuses a folder of another’s before it judges anything', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'thesis.txt'), 'mine');
    // Not even the runs are read before.
    const refused = await runJson(['dispatch', 'nothere', ...DEVICE, ...store, '-o', folder]);
    expect(refused).toMatchObject({ code: 2, json: { error: { code: 'folder-not-empty' } } });
    expect(readdirSync(folder)).toEqual(['thesis.txt']);
  });

  it.each([
    ['same-workload-twice', ['latest', 'latest'], 'virtual:l4'],
    ['dispatch-needs-one-device', ['latest'], 'virtual:h200'],
    ['unknown-run', ['nothere'], 'virtual:l4'],
  ])('refuses: %s', async (code, runs, device) => {
    const refused = await runJson(['dispatch', ...runs, '--device', device, ...store, '-o', join(place, 'refused')]);
    expect(refused).toMatchObject({ code: 2, json: { error: { code } } });
    expect(existsSync(join(place, 'refused'))).toBe(false);
  });
});
