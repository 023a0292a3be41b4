import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { dispatchKernels } from '../../src/app/dispatch-kernels.ts';
import { narrowFolder } from '../support/narrowed.ts';
import { interrupted } from '../support/sampling/long-tests.ts';
import { type Json, repository, runCli, runJson, temporaryFolder } from './run-cli.ts';

const DEVICE = ['--device', 'virtual:l4', '--threads', '1'];

let place: string;
let problem: string;
let list: string;
let outcome: { code: number | null; json: Json };

const ask = (output: string, ...more: string[]): string[] => [
  ...['dispatch', problem, '--kernels', list, ...DEVICE, '-o', join(place, output), ...more],
];

beforeAll(async () => {
  place = temporaryFolder();
  problem = join(place, 'row-sum');
  cpSync(join(repository, 'examples/row-sum'), problem, { recursive: true });
  narrowFolder(problem, ['rows * columns <= 40000']);
  const file = join(problem, 'problem.json');
  const declared = JSON.parse(readFileSync(file, 'utf8')) as Json;
  declared.workloads = [
    { name: 'tall', dimensions: { rows: 16384, columns: 2 } },
    { name: 'wide', dimensions: { rows: 64, columns: 512 } },
    { name: 'wide-cold', dimensions: { rows: 64, columns: 512 }, cache: 'cold' },
  ];
  writeFileSync(file, JSON.stringify(declared));
  // Quick and wrong: it sums nothing.
  const wrong = join(problem, '03_wrong');
  cpSync(join(problem, '02_warp_per_row'), wrong, { recursive: true });
  const source = readFileSync(join(problem, '01_thread_per_row/kernel.cu'), 'utf8');
  writeFileSync(join(wrong, 'kernel.cu'), source.replace('c < columns', 'c < 1').replace('* 128', '* blockDim.x'));
  const named = readFileSync(join(wrong, 'kernel.json'), 'utf8').replace('02_warp_per_row', '03_wrong');
  writeFileSync(join(wrong, 'kernel.json'), named);
  list = join(place, 'kernels.json');
  const kernels = [
    { kernel: '01_thread_per_row' },
    { kernel: '02_warp_per_row' },
    { kernel: 'row-sum/02_warp_per_row', parameters: { WARPS: 8 }, workloads: ['wide'] },
    { kernel: '03_wrong', workloads: ['wide'] },
  ];
  writeFileSync(list, JSON.stringify({ schemaVersion: 1, kernels }));
  outcome = await runJson(ask('table'));
});

describe('dispatch --kernels', () => {
  it('takes the fastest kernel of each workload, and says what became of the others', () => {
    const { json } = outcome;
    expect(outcome.code).toBe(0);
    expect(json).toMatchObject({ schemaVersion: 1, kind: 'dispatch-table', complete: true });
    expect(json.entries.map(({ workload, candidate, kind }: Json) => [workload, candidate.kernel, kind])).toEqual([
      ['tall', '01_thread_per_row', 'predicted'],
      ['wide', '02_warp_per_row', 'predicted'],
    ]);
    const [tall, wide] = json.rows;
    expect(tall.contenders).toHaveLength(2);
    const namesOf = Object.fromEntries(
      json.kernels.map(({ id, kernel, parameters }: Json) => [id, `${kernel} ${parameters.WARPS ?? ''}`.trim()]),
    );
    const outcomes = wide.contenders.map((one: Json) => [namesOf[one.candidate], one.outcome]);
    expect(outcomes).toContainEqual(['01_thread_per_row', 'ruled-out']);
    expect(outcomes).toContainEqual(['03_wrong 4', 'failed']);
    expect(outcomes.filter(([, what]: string[]) => what === 'timed')).toHaveLength(2);
    for (const { chosen, contenders } of json.rows) {
      const times = contenders.filter(({ outcome: what }: Json) => what === 'timed').map((one: Json) => one.medianNs);
      expect(chosen.fastestNs).toBe(Math.min(...times));
      expect(chosen.medianNs).toBeLessThanOrEqual(1.02 * chosen.fastestNs);
      expect(chosen.loss).toBeCloseTo(chosen.medianNs / chosen.fastestNs - 1);
    }
    expect(json.largestLoss.loss).toBe(Math.max(...json.rows.map((row: Json) => row.chosen.loss)));
    expect(json.notes).toEqual(['wide-cold (cold) is not in the table: a call of its dimensions goes to wide (hot)']);
  });

  it('writes a table whose kernels refuse sizes that were not compared', () => {
    const { folder, files, entries, fallback } = outcome.json;
    for (const file of files) expect(existsSync(join(folder, file))).toBe(true);
    expect(JSON.parse(readFileSync(join(folder, 'dispatch.json'), 'utf8')).entries).toEqual(entries);
    for (const { compared } of [...entries, fallback]) expect(compared.dimensions.rows.most).toBeGreaterThan(0);
  });

  it('prints the same for people', async () => {
    const { code, stdout } = await runCli(ask('table', '--workload', 'tall'));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^tall +01_thread_per_row \(\w{4}\) +[\d.]+ .s/m);
    expect(stdout).toContain('Largest loss: 0 %, at tall.');
    expect(stdout).toContain(`Folder: ${join(place, 'table')}`);
  });

  it('says which workload no contender serves', async () => {
    writeFileSync(join(place, 'wrong.json'), '{ "schemaVersion": 1, "kernels": [{ "kernel": "03_wrong" }] }');
    const asked = ['dispatch', problem, '--kernels', join(place, 'wrong.json'), ...DEVICE, '-o', join(place, 'none')];
    const { code, json } = await runJson([...asked, '--workload', 'wide']);
    expect(code).toBe(1);
    expect(json).toMatchObject({ entries: [], folder: null, rows: [{ chosen: null }], largestLoss: null });
    expect(json.notes).toEqual(['wide is not in the table: no contender passed there']);
    expect(existsSync(join(place, 'none'))).toBe(false);
  });

  interrupted('a comparison of contenders')(
    'ends with the rows that are there when interrupted, and continues with them',
    async () => {
      vi.stubEnv('WARPSMITH_REPEATS', 'on');
      vi.stubEnv('WARPSMITH_CACHE', join(place, 'cache'));
      const rows = join(place, 'rows');
      const ending = new AbortController();
      const call = async (signal?: AbortSignal) => {
        const steps: string[] = [];
        const result = await dispatchKernels({
          targets: [problem],
          kernels: list,
          device: 'virtual:l4',
          threads: 1,
          trust: true,
          output: join(place, 'continued'),
          rows,
          signal,
          onStep: (text) => {
            steps.push(text);
            if (text.startsWith('wide: ')) ending.abort();
          },
        });
        return { result, steps };
      };
      const { result: first } = await call(ending.signal);
      expect(first).toMatchObject({ complete: false, files: [], rows: [{ workload: 'tall' }] });
      expect(first.table).toBeUndefined();
      expect(readdirSync(rows)).toHaveLength(1);
      expect(existsSync(join(place, 'cache/dispatch-rows'))).toBe(false);
      const { result: second, steps } = await call();
      expect(second.complete).toBe(true);
      expect(second.rows[0]).toEqual(first.rows[0]);
      expect(steps).toContain(`tall: judged at ${first.rows[0]!.judgedAt}, before an interruption`);
      expect(readdirSync(rows)).toEqual([]);
      // A complete table leaves nothing: the next call judges anew.
      expect((await call()).steps).toContain('tall: a first look at 01_thread_per_row');
      vi.unstubAllEnvs();
    },
  );

  it.each([
    ['missing-file', ['--kernels', 'nothere.json'], undefined],
    ['dispatch-needs-a-problem', [], 'another'],
    ['unknown-workload', ['--workload', 'nothere'], undefined],
  ])('refuses: %s', async (code, more, target) => {
    const asked = [...ask('refused', ...more), ...(target === undefined ? [] : [target])];
    expect(await runJson(asked)).toMatchObject({ code: 2, json: { error: { code } } });
    expect(readdirSync(place)).not.toContain('refused');
  });

  it('says which entry of the list is wrong', async () => {
    const file = join(place, 'mistaken.json');
    const kernels = [{ kernel: '01_thread_per_row' }, { kernel: '02_warp_per_row', parameters: { WARPS: 3 } }];
    writeFileSync(file, JSON.stringify({ schemaVersion: 1, kernels }));
    const { code, json } = await runJson(['dispatch', problem, '--kernels', file, ...DEVICE, '-o', join(place, 'no')]);
    expect(code).toBe(2);
    expect(json.error).toMatchObject({ code: 'parameter-not-allowed', file, path: 'kernels[1]', received: '3' });
  });

  it.each([
    ['--tier', 'screen'],
    ['--rows', 'rows'],
  ])('refuses options of kernels where runs are given: %s', async (path, value) => {
    const refused = await runJson(['dispatch', 'latest', path, value, ...DEVICE, '-o', join(place, 'no')]);
    expect(refused).toMatchObject({ code: 2, json: { error: { code: 'conflicting-options', path } } });
  });

  it('refuses a recording of several GPUs, and a virtual one among them', async () => {
    const asked = ['dispatch', problem, '--kernels', list, '-o', join(place, 'no')];
    const recorded = await runJson([...asked, '--device', 'cuda:0,cuda:1', '--record', join(place, 'r.jsonl.gz')]);
    expect(recorded).toMatchObject({ code: 2, json: { error: { code: 'conflicting-options', path: '--record' } } });
    const mixed = await runJson([...asked, '--device', 'cuda:0,virtual:l4']);
    expect(mixed).toMatchObject({ code: 2, json: { error: { code: 'bad-option-value', path: '--device' } } });
  });
});
