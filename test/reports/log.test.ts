import { describe, expect, it } from 'vitest';
import { buildLogView, type LogView, logDocument } from '../../src/reports/documents/log.ts';
import { printTerminal } from '../../src/reports/print/terminal.ts';
import type { Attempt, AttemptResult } from '../../src/store/journal.ts';

const result = (medianNs: number | undefined, changes: Partial<AttemptResult> = {}): AttemptResult => ({
  workload: 'n1024',
  dimensions: { N: 1024 },
  cache: 'hot',
  status: medianNs === undefined ? 'wrong' : 'passed',
  timing: medianNs === undefined ? undefined : { kind: 'predicted', medianNs, intervalNs: [medianNs, medianNs] },
  ...changes,
});

const attempt = (
  id: string,
  parent: string | null,
  results: AttemptResult[],
  changes: Partial<Attempt> = {},
): Attempt => ({
  schemaVersion: 1,
  id,
  time: '2025-11-20T18:41:03.000Z',
  command: 'evaluate',
  parent,
  problem: 'scale',
  device: { id: 'virtual:l4', name: 'L4' },
  candidate: { id, kernel: 'toy', folder: 'toy', parameters: {} },
  sources: { 'kernel.cu': 'a\nb\n' },
  results,
  ...changes,
});

const viewOf = (attempts: Attempt[], changes: Partial<Parameters<typeof buildLogView>[0]> = {}): LogView =>
  buildLogView({
    ...{ store: 'store', attempts, unreadable: 0, problem: null, attempt: null, last: 50 },
    readSource: (hash) => (hash === 'gone' ? undefined : hash),
    ...changes,
  });
const ratios = ({ attempts }: LogView) =>
  attempts.map(({ versusParent, whyNoRatio }) => versusParent?.ratio ?? whyNoRatio);
const shown = (view: LogView, width = 80): string[] => printTerminal(logDocument(view), { width } as never).split('\n');

describe('what each change did', () => {
  it('is the ratio of predictions of the same workload, cache and device', () => {
    const { attempts } = viewOf([attempt('a1', null, [result(200)]), attempt('a2', 'a1', [result(100)])]);
    expect(attempts[1]!.versusParent).toEqual({
      kind: 'predicted',
      ratio: 2,
      intervalRatio: null,
      verdict: null,
      workloads: 1,
    });
  });

  it('is the mean over the workloads that both were judged on', () => {
    const other = (ns: number) => result(ns, { workload: 'n2', dimensions: { N: 2 } });
    const view = viewOf([
      attempt('a1', null, [result(200), other(800)]),
      attempt('a2', 'a1', [result(100), other(100), result(1, { dimensions: { N: 3 } })]),
    ]);
    expect(view.attempts[1]!.versusParent).toMatchObject({ ratio: 4, workloads: 2 });
  });

  it('is measured only where both stood in the same blocks, with interval and verdict', () => {
    const measured = (ns: number) => result(ns, { timing: { kind: 'measured', medianNs: ns, intervalNs: [ns, ns] } });
    const beside = { ratio: 1.4, verdict: 'faster', intervalRatio: [1.38, 1.42] as [number, number] };
    const view = viewOf([
      attempt('a1', null, [measured(200)]),
      attempt('a2', 'a1', [measured(100)]),
      attempt('a3', 'a1', [{ ...measured(100), beside }], { command: 'compare' }),
    ]);
    expect(ratios(view)).toEqual([null, 'measured apart: use warpsmith compare', 1.4]);
    expect(view.attempts[2]!.versusParent).toMatchObject({
      kind: 'measured',
      verdict: 'faster',
      intervalRatio: [1.38, 1.42],
    });
    expect(shown(view).join(' ').replaceAll(/\s+/g, ' ')).toContain(
      'faster, measured 1.40× [1.380, 1.420] the speed of a1',
    );
  });

  it('says why it is not known', () => {
    const view = viewOf([
      attempt('a1', null, [result(200)]),
      attempt('a2', 'a1', [result(undefined)]),
      attempt('a3', 'a2', [result(100)]),
      attempt('a4', 'a3', [result(100, { cache: 'cold' })]),
      attempt('a5', 'a3', [result(100)], { device: { id: 'virtual:h200', name: 'H200' } }),
    ]);
    expect(ratios(view)).toEqual([
      null,
      'no valid time',
      'a2 has no valid time',
      'another workload than a3',
      'another device than a3',
    ]);
  });

  it('tells parameters, kernels and lines apart, and sources that are gone', () => {
    const before = attempt('a1', null, [result(1)], {
      candidate: { id: '1', kernel: 'toy', folder: '', parameters: { M: 1, N: 2 } },
    });
    const after = attempt('a2', 'a1', [result(1)], {
      candidate: { id: '2', kernel: 'toy2', folder: '', parameters: { M: 1, N: 4 } },
      sources: { 'kernel.cu': 'a\nc\nd\n', 'more.cuh': 'gone' },
    });
    expect(viewOf([before, after]).attempts[1]!.change).toMatchObject({
      kernel: { from: 'toy', to: 'toy2' },
      parameters: [{ name: 'N', from: 2, to: 4 }],
      files: [{ file: 'kernel.cu', addedLines: 2, removedLines: 1 }],
      missing: ['more.cuh'],
    });
    const text = shown(viewOf([before, after]))
      .join(' ')
      .replaceAll(/\s+/g, ' ');
    expect(text).toContain('toy → toy2, N 2 → 4, kernel.cu +2 −1, more.cuh is gone');
  });
});

describe('the tree', () => {
  const all = [
    attempt('a1', null, [result(8)]),
    attempt('a2', 'a1', [result(4)], { note: 'a side branch' }),
    attempt('a3', 'a1', [result(2)]),
    attempt('a4', 'a2', [result(1)]),
    attempt('a5', 'a3', [result(1)]),
    attempt('b1', null, [result(1)], { id: 'a6', problem: 'other' }),
  ];

  it('has every attempt behind its parent; the last child goes on straight', () => {
    const { attempts } = viewOf(all);
    expect(attempts.map(({ id, depth, branch }) => [id, depth, branch])).toEqual([
      ['a1', 0, 0],
      ['a2', 1, 1],
      ['a4', 2, 1],
      ['a3', 1, 0],
      ['a5', 2, 0],
      ['a6', 0, 0],
    ]);
    const places = shown(viewOf(all)).flatMap((line) => /^ {2}((?:│ )*[○●] a\d)/.exec(line)?.[1] ?? []);
    expect(places).toEqual(['○ a1', '│ ● a2', '│ ● a4', '● a3', '● a5', '○ a6']);
  });

  it('can be of one problem, or of the newest attempts', () => {
    expect(viewOf(all, { problem: 'other' }).attempts.map(({ id }) => id)).toEqual(['a6']);
    const last = viewOf(all, { last: 2 });
    expect(last.leftOut).toBe(4);
    expect(last.attempts.map(({ id, depth }) => [id, depth])).toEqual([
      ['a5', 0],
      ['a6', 0],
    ]);
    // Its parent is not shown, but known.
    expect(last.attempts[0]!.versusParent).toMatchObject({ ratio: 2 });
  });

  it('stands a journal that was edited: parents that are later, unknown or their own', () => {
    const odd = [attempt('a1', 'a2', [result(1)]), attempt('a2', 'a2', [result(1)]), attempt('a3', 'a99', [result(1)])];
    expect(viewOf(odd).attempts.map(({ id, depth }) => [id, depth])).toEqual([
      ['a1', 0],
      ['a2', 0],
      ['a3', 0],
    ]);
  });

  it('holds a chain of thousands', () => {
    const chain = Array.from({ length: 5000 }, (_, i) => attempt(`a${i + 1}`, i === 0 ? null : `a${i}`, [result(1)]));
    expect(viewOf(chain, { last: 5000 }).attempts.at(-1)).toMatchObject({ id: 'a5000', depth: 4999, branch: 0 });
  });

  it.each([80, 40])('fits %d columns', (width) => {
    const note = 'a note that goes on and on so that it does not fit into one line of a terminal';
    const lines = shown(viewOf([...all, attempt('a7', 'a5', [result(1)], { note })]), width);
    expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(width);
    expect(lines.join(' ').replaceAll(/\s+/g, ' ')).toContain(note);
  });

  it('says what it left out and what it could not read', () => {
    const text = shown(viewOf(all, { last: 1, unreadable: 1 })).join('\n');
    expect(text).toContain('5 older attempts left out: --last 6');
    expect(text).toContain('1 line of the journal can');
  });
});
