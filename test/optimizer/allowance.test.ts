import { describe, expect, it } from 'vitest';
import { allowanceOf, describeAllowance, sumOf } from '../../src/optimizer/allowance.ts';
import { type Allowance, NOTHING_KEPT, UNLIMITED } from '../../src/store/events.ts';
import { CUDA, fakeGpu } from './fake-gpu.ts';
import { kernel, ofType, pattern, problem, rung, runLoop, scriptedEvaluator, tile } from './fakes.ts';

const allowance = (maximumEvaluations: number | null, changes: Partial<Parameters<typeof allowanceOf>[0]> = {}) =>
  allowanceOf({
    budgets: { maximumEvaluations, allowance: null },
    workloadCount: 1,
    ablates: true,
    advises: true,
    ...changes,
  });

describe('what is kept of a limit for the time after the search', () => {
  it.each<[number | null, Allowance]>([
    [null, NOTHING_KEPT],
    [1, NOTHING_KEPT],
    [3, NOTHING_KEPT],
    // The start, a screen, a verdict, a confirmation.
    [4, { confirmation: 1, ablation: 0, advice: 0 }],
    [6, { confirmation: 1, ablation: 0, advice: 0 }],
    [12, { confirmation: 1, ablation: 2, advice: 0 }],
    [30, { confirmation: 1, ablation: 4, advice: 2 }],
    [500, { confirmation: 1, ablation: 4, advice: 3 }],
  ])('of %s: %o', (limit, expected) => {
    expect(allowance(limit)).toEqual(expected);
  });

  it('grows with the workloads, and keeps nothing for what is not done', () => {
    expect(allowance(9, { workloadCount: 3 })).toEqual(NOTHING_KEPT);
    expect(allowance(10, { workloadCount: 3 }).confirmation).toBe(3);
    expect(allowance(30, { ablates: false, advises: false })).toEqual({ ...NOTHING_KEPT, confirmation: 1 });
    expect(allowance(30, { ablates: false })).toEqual({ confirmation: 1, ablation: 0, advice: 3 });
  });

  it('stays what a run was given', () => {
    const given = { confirmation: 2, ablation: 1, advice: 0 };
    expect(allowance(30, { budgets: { maximumEvaluations: 30, allowance: given } })).toEqual(given);
  });

  it('is said by name', () => {
    expect(describeAllowance(allowance(30))).toBe('confirmation 1, ablation 4, advice 2');
    expect(describeAllowance(allowance(6))).toBe('confirmation 1');
  });
});

describe('the limit in evaluations', () => {
  const rungs = [kernel('01_first'), kernel('02_second', { remedies: ['bank-conflicts'] })];
  const patterns = [
    pattern('rungs', 'bank-conflicts', [rung('02_second')]),
    pattern('tiles', 'parallelism', [tile(16), tile(64), tile(128)]),
    pattern('more', 'bank-conflicts', [tile(16), tile(128)]),
  ];
  const growing = { ...problem, file: { ...problem.file, independentDimensions: ['N'] } };
  const workloads = [1024, 4096, 16384].map((N) => ({
    ...{ name: `n${N}`, dimensions: { N }, cache: 'hot' as const, weight: 1 },
  }));
  const names = ['01_first', '02_second'].flatMap((name) =>
    [16, 32, 64, 128].map((tileOf) => `${name} TILE=${tileOf}`),
  );
  const ns = Object.fromEntries(names.map((name, index) => [name, 1000 - 90 * ((index * 5) % 8)]));
  const limits = [...Array.from({ length: 16 }, (_, index) => index + 1), 23, 30];

  it.each(limits)('of %i is never exceeded, whatever is measured, refused, undone and advised', async (limit) => {
    for (const count of [1, 2, 3]) {
      for (const sanitizer of ['clean', 'errors'] as const) {
        for (const measured of [false, true]) {
          const predicting = scriptedEvaluator((name) => ({ ns: ns[name]! }));
          const { result, events } = await runLoop({
            problem: growing,
            rungs,
            patterns,
            workloads: workloads.slice(0, count),
            ablation: true,
            exploring: true,
            evaluator: measured ? fakeGpu({ ns, sanitizer }) : predicting,
            ...(measured && { device: CUDA }),
            budgets: { ...UNLIMITED, maximumEvaluations: limit },
          });
          const judged = ofType(events, 'evaluation-finished').length;
          expect(judged).toBe(result.evaluationsUsed);
          expect(judged).toBeLessThanOrEqual(limit);
          const kept = ofType(events, 'run-started')[0]!.budgets.allowance!;
          expect(sumOf(kept)).toBeLessThan(limit);
        }
      }
    }
  });
});
