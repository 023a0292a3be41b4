import { describe, expect, it } from 'vitest';
import type { Comparison } from '../../src/core/measurement.ts';
import type { Verdict } from '../../src/core/vocabulary.ts';
import {
  type ComparedSide,
  type ComparedWorkload,
  type CompareView,
  compareDocument,
  comparedWorkload,
  failingWorkloads,
  meanRatio,
} from '../../src/reports/documents/compare.ts';
import { onTerminal } from '../support/printed.ts';

const side = (kind: 'measured' | 'predicted', medianNs: number): ComparedSide => ({
  status: 'passed',
  timing: { kind, medianNs, intervalNs: [medianNs, medianNs] },
});
const beside = (verdict: Verdict, ratio: number): Comparison => ({
  candidate: 'candidate',
  baseline: 'baseline',
  verdict,
  ratio,
  intervalRatio: [ratio - 0.01, ratio + 0.01],
  blockCount: 12,
  mannWhitney: { u: 0, pValue: 0.01 },
  cliffsDelta: 0,
});
const named = (workload: string, weight = 1) => ({ workload, dimensions: { n: 1 }, weight });
const measured = (workload: string, verdict: Verdict, ratio: number, weight = 1): ComparedWorkload =>
  comparedWorkload(
    named(workload, weight),
    side('measured', 100),
    side('measured', 100 / ratio),
    beside(verdict, ratio),
  );
const predicted = (workload: string, ratio: number): ComparedWorkload =>
  comparedWorkload(named(workload), side('predicted', 100), side('predicted', 100 / ratio), undefined);

describe('a comparison', () => {
  it('takes measured ratios from shared blocks only', () => {
    expect(measured('a', 'faster', 1.5)).toMatchObject({ ratio: 1.5, verdict: 'faster', blockCount: 12 });
    const apart = comparedWorkload(named('a'), side('measured', 100), side('measured', 50), undefined);
    expect(apart.ratio).toBeNull();
    const mixed = comparedWorkload(named('a'), side('measured', 100), side('predicted', 50), undefined);
    expect(mixed.ratio).toBeNull();
  });

  it('has no ratio where a side did not pass', () => {
    const wrong: ComparedSide = { status: 'wrong', reason: 'far off' };
    expect(comparedWorkload(named('a'), side('predicted', 100), wrong, undefined).ratio).toBeNull();
    expect(comparedWorkload(named('a'), wrong, side('predicted', 100), undefined).ratio).toBeNull();
  });

  it('fails on slower: a verdict where measured, 3 % where predicted', () => {
    const rows = [
      measured('ambiguous', 'ambiguous', 0.8),
      measured('slower', 'slower', 0.98),
      predicted('a bit', 0.98),
      predicted('much', 0.96),
      predicted('no number', Number.NaN),
    ];
    expect(failingWorkloads(rows, 'slower')).toEqual(['slower', 'much', 'no number']);
  });

  it('fails on not-faster: anything but the verdict, or less than 3 %', () => {
    const rows = [
      measured('faster', 'faster', 1.02),
      measured('same', 'same', 1.001),
      predicted('a bit', 1.02),
      predicted('much', 1.04),
      predicted('no number', Number.NaN),
    ];
    expect(failingWorkloads(rows, 'not-faster')).toEqual(['same', 'a bit', 'no number']);
  });

  it('fails on a workload without a ratio, whatever was asked for', () => {
    const rows = [comparedWorkload(named('wrong'), side('predicted', 1), { status: 'wrong' }, undefined)];
    expect(failingWorkloads(rows, null)).toEqual(['wrong']);
    expect(failingWorkloads([predicted('slow', 0.1)], null)).toEqual([]);
  });

  it('weighs the geometric mean, and has none without every ratio', () => {
    const mean = meanRatio([measured('a', 'faster', 4, 1), measured('b', 'slower', 0.5, 3)]);
    expect(mean?.kind).toBe('measured');
    expect(mean?.ratio).toBeCloseTo((4 * 0.5 ** 3) ** (1 / 4), 12);
    expect(meanRatio([predicted('a', 2), { ...predicted('b', 2), ratio: null }])).toBeNull();
    expect(meanRatio([])).toBeNull();
  });

  it('is printed with its kind, and measured with verdict and interval', () => {
    const candidate = { label: '02', id: 'abc', kernel: '02', parameters: {} };
    const view: CompareView = {
      schemaVersion: 1,
      kind: 'compare',
      problem: 'p',
      device: { id: 'cuda:0', kind: 'cuda', name: 'GPU', architecture: 'sm_90' } as CompareView['device'],
      seed: 1,
      baseline: candidate,
      candidate,
      workloads: [measured('big', 'slower', 0.9), measured('small', 'ambiguous', 1.004)],
      geometricMean: { kind: 'measured', ratio: 0.95 },
      failOn: 'slower',
      failing: ['big'],
    };
    const text = onTerminal(compareDocument(view));
    expect(text).toMatch(/big +measured 100 ns +measured 111\.1 ns +slower: measured 0\.900× +\[0\.890, 0\.910\] +12/);
    expect(text).toMatch(/ambiguous: measured 1\.004×/);
    expect(text).toContain('Geometric mean over 2 workloads, weighted: measured 1.053× slower.');
    expect(text).toContain('--fail-on slower fails on big.');
    const tie = onTerminal(
      compareDocument({ ...view, workloads: [predicted('p', 1), predicted('q', 1 / 1.0001)], failing: [] }),
    );
    expect(tie.match(/predicted as fast/g)).toHaveLength(2);
    expect(tie).not.toContain('1.000×');
  });
});
