import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { JudgedRow } from '../../src/app/dispatch-row.ts';
import { type Judge, judgeRows } from '../../src/app/judge-rows.ts';
import { openKeptRows, placeOf, type RowSubject } from '../../src/app/kept-rows.ts';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { chooseWorkloads } from '../../src/app/workload.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Evaluation, Evaluator } from '../../src/core/evaluation.ts';

const ROW_SUM = fileURLToPath(new URL('../../examples/row-sum', import.meta.url));
const ASKED = ['rows=64,columns=8', 'rows=96,columns=8', 'rows=33,columns=8', 'rows=5,columns=8'];

/** A device on which every kernel passes, unless it fails at these rows. @param told [device, rows of the workload] of each evaluation. */
const judge = (name: string, told: [string, number][], failsAt?: number, begins?: (rows: number) => void): Judge => {
  const evaluator: Evaluator = {
    async evaluate({ id, workload, signal }) {
      told.push([name, workload.dimensions.rows!]);
      begins?.(workload.dimensions.rows!);
      await new Promise((resolve) => setTimeout(resolve, 1));
      signal?.throwIfAborted();
      if (workload.dimensions.rows === failsAt) throw new Error('the device is gone');
      return { id, status: 'passed', timing: { kind: 'predicted', medianNs: 1 } } as Evaluation;
    },
    close: async () => {},
  };
  const identity = { id: name, kind: 'virtual', name: 'GPU', driver: '' };
  return {
    session: { device: { identity, spec: {} }, evaluator, environment: environmentOf(name) },
  } as unknown as Judge;
};

/** Each device is in a machine of its own. */
const environmentOf = (name: string) => ({
  warpsmith: '1',
  compiler: 'nvrtc 13',
  system: name,
  processor: `of ${name}`,
});

async function rowsOf(judges: readonly [Judge, ...Judge[]], { folder, signal, isFresh = false }: Asked = {}) {
  const { kernel, problem } = await loadKernel(join(ROW_SUM, '02_warp_per_row'));
  const contenders = [4, 8].map((WARPS) => ({ name: `w${WARPS}`, candidate: makeCandidate(kernel, { WARPS }) }));
  const options = { seed: 1, tier: 'accept', signal } as const;
  const [{ session }] = judges;
  const subject = { session, problem, options: { tier: 'accept' }, isFresh, folder } as RowSubject;
  const kept = folder === undefined ? undefined : openKeptRows(subject);
  const workloads = chooseWorkloads(problem.file, ASKED);
  const rows = await judgeRows({ options, judges, problem, contenders, kept }, workloads);
  const forget = () => {
    for (const workload of workloads) kept?.forget(workload, contenders);
  };
  return Object.assign(rows, { forget });
}

interface Asked {
  readonly folder?: string;
  readonly signal?: AbortSignal;
  readonly isFresh?: boolean;
}

it('judges workloads on several devices, all contenders of one on one device', async () => {
  const told: [string, number][] = [];
  const rows = await rowsOf([judge('first', told), judge('second', told)]);
  expect(rows.map(({ dimensions }) => dimensions.rows)).toEqual([64, 96, 33, 5]);
  for (const { contenders } of rows) expect(contenders).toHaveLength(2);
  const devicesAt = Map.groupBy(told, ([, at]) => at);
  for (const evaluations of devicesAt.values()) expect(new Set(evaluations.map(([name]) => name)).size).toBe(1);
  expect(new Set(told.map(([name]) => name))).toEqual(new Set(['first', 'second']));
});

it('loses one row when a device fails at it', async () => {
  const rows = await rowsOf([judge('first', [], 96), judge('second', [], 96)]);
  expect(rows.map(({ failure }) => failure)).toEqual([undefined, 'the device is gone', undefined, undefined]);
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-rows-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe('rows in a folder', () => {
  /** A call on this device that is interrupted when it comes to the third row. */
  async function interruptedOn(device: string, folder: string) {
    const ending = new AbortController();
    const endsAt = (rows: number) => {
      if (rows === 33) ending.abort();
    };
    return rowsOf([judge(device, [], undefined, endsAt)], { folder, signal: ending.signal });
  }

  it('are taken by the next call, on another machine, which says who judged them', async () => {
    const folder = temporaryFolder();
    const first = await interruptedOn('first', folder);
    expect(first.map(({ dimensions }) => dimensions.rows)).toEqual([64, 96]);
    expect(readdirSync(folder)).toHaveLength(2);
    const told: [string, number][] = [];
    const second = await rowsOf([judge('second', told)], { folder });
    expect(new Set(told.map(([, rows]) => rows))).toEqual(new Set([33, 5]));
    const on = { device: { id: 'first', kind: 'virtual', name: 'GPU', driver: '' }, processor: 'of first' };
    expect(second.map(({ judgedOn }) => judgedOn)).toEqual([on, on, undefined, undefined]);
    expect(second.slice(0, 2)).toEqual(first.map((row) => ({ ...row, judgedOn: on })));
    second.forget();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('are those of whichever device of a call judged them', async () => {
    const folder = temporaryFolder();
    await interruptedOn('second', folder);
    const told: [string, number][] = [];
    const rows = await rowsOf([judge('first', told), judge('second', told)], { folder });
    expect(new Set(told.map(([, at]) => at))).toEqual(new Set([33, 5]));
    expect(rows.map(({ judgedOn }) => judgedOn)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it.each([
    ['of another driver', { identity: { kind: 'virtual', name: 'GPU', driver: 'other' } }, {}],
    ['of another model', { identity: { kind: 'virtual', name: 'other', driver: '' } }, {}],
    ['with another spec', { spec: { smCount: 1 } }, {}],
    ['of another compiler', {}, { compiler: 'nvrtc 12' }],
    ['of another warpsmith', {}, { warpsmith: '2' }],
  ])('%s are not taken', async (_, device, environment) => {
    const folder = temporaryFolder();
    await interruptedOn('first', folder);
    const told: [string, number][] = [];
    const { session } = judge('second', told);
    const other = {
      ...session,
      device: { ...session.device, ...device },
      environment: { ...session.environment, ...environment },
    };
    await rowsOf([{ session: other } as unknown as Judge], { folder });
    expect(new Set(told.map(([, rows]) => rows))).toEqual(new Set([64, 96, 33, 5]));
  });

  it('is the cache folder where none is named, and none if nothing is kept there', async () => {
    const folder = temporaryFolder();
    vi.stubEnv('WARPSMITH_REPEATS', 'on');
    vi.stubEnv('WARPSMITH_CACHE', folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { kernel, problem } = await loadKernel(join(ROW_SUM, '02_warp_per_row'));
    const [workload] = chooseWorkloads(problem.file, ASKED);
    const contenders = [{ name: 'w4', candidate: makeCandidate(kernel, {}) }];
    const { session } = judge('first', []);
    const subject = { session, problem, options: {}, isFresh: false } as RowSubject;
    const kept = { row: { judgedAt: new Date().toISOString() } as JudgedRow, on: placeOf(session) };
    const rows = openKeptRows(subject)!;
    await rows.keep(kept, workload!, contenders);
    expect(readdirSync(folder)).toEqual(['dispatch-rows']);
    expect(await rows.read(workload!, contenders)).toEqual(kept);
    const old = { ...kept, row: { ...kept.row, judgedAt: new Date(Date.now() - 13 * 3_600_000).toISOString() } };
    await rows.keep(old, workload!, contenders);
    expect(await rows.read(workload!, contenders)).toBeUndefined();
    vi.stubEnv('WARPSMITH_CACHE', 'off');
    expect(openKeptRows(subject)).toBeUndefined();
    expect(openKeptRows({ ...subject, folder })).toBeDefined();
  });

  it('are judged again if they are damaged, or if the call asks for it', async () => {
    const folder = temporaryFolder();
    await interruptedOn('first', folder);
    const told: [string, number][] = [];
    await rowsOf([judge('second', told)], { folder, isFresh: true });
    expect(new Set(told.map(([, rows]) => rows))).toEqual(new Set([64, 96, 33, 5]));
    const [one] = readdirSync(folder);
    const path = join(folder, one!);
    writeFileSync(path, readFileSync(path, 'utf8').replace('"cache":"hot"', '"cache":"cold"'));
    const again: [string, number][] = [];
    await rowsOf([judge('second', again)], { folder });
    expect(new Set(again.map(([, rows]) => rows)).size).toBe(1);
  });
});
