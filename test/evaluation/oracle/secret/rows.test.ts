import { describe, expect, it } from 'vitest';
import { inProcess } from '../../../../src/core/call-reference.ts';
import type { Problem, ReferenceFunction, Tolerance } from '../../../../src/core/problem.ts';
import { prepareCheck } from '../../../../src/evaluation/oracle/expectation-cache.ts';
import { toyProblem } from '../../../support/toy-problem.ts';

const N = 512;

/** Rows of X to one number each. */
const problemOf = (reduce: (row: Float64Array) => number, comparison: Tolerance, x: object = {}): Problem => {
  const reference: ReferenceFunction = ({ X }) => ({
    Y: Float64Array.from({ length: X!.length / N }, (_, row) => reduce(X!.subarray(row * N, (row + 1) * N))),
  });
  const { file, folder } = toyProblem({
    dimensions: { M: { description: 'Rows.', minimum: 1 } },
    inputs: { X: { dtype: 'f32', shape: ['M', N], access: 'in', ...x } },
    outputs: { Y: { dtype: 'f32', shape: ['M'], access: 'out' } },
    comparison,
  });
  return { file, folder, reference: inProcess(reference) };
};

const rowsOf = (problem: Problem, generatorSet: string): Float64Array[] => {
  const { X } = prepareCheck({ problem, dimensions: { M: 64 }, seed: 1, generatorSet }).inputs.tensors;
  return Array.from({ length: 64 }, (_, row) => X!.subarray(row * N, (row + 1) * N));
};

const logOfSum = (row: Float64Array): number => {
  const most = Math.max(...row);
  return most + Math.log(row.reduce((sum, x) => sum + Math.exp(x - most), 0)) - row[0]!;
};
const product = (row: Float64Array): number => row.slice(0, 8).reduce((all, x) => all * Math.exp(x), 1);
const greatest = (row: Float64Array): number => Math.max(...row);
const ALLCLOSE = { kind: 'allclose', atol: 1e-5, rtol: 1e-5 } as const;

/** How far the greatest value lies above the second one. */
const peakOf = (row: Float64Array): number => {
  const sorted = row.toSorted();
  return sorted.at(-1)! - sorted.at(-2)!;
};

describe('secret rows', () => {
  it('have peaks where a comparison is absolute, if its tolerance bears them', async () => {
    const problem = problemOf(logOfSum, ALLCLOSE);
    expect(Math.max(...rowsOf(problem, 'secret:rows').map(peakOf))).toBeGreaterThan(100);
    await prepareCheck({ problem, dimensions: { M: 64 }, seed: 1, generatorSet: 'secret:rows' }).expectations();
    expect(Math.max(...rowsOf(problem, 'secret:rows, milder (1)').map(peakOf))).toBeLessThan(5);
  });

  it('are not for a problem whose tolerance does not', async () => {
    const problem = problemOf(product, { kind: 'ulp', maximumUlps: 4 });
    const prepared = prepareCheck({ problem, dimensions: { M: 64 }, seed: 1, generatorSet: 'secret:rows' });
    await expect(prepared.expectations()).rejects.toMatchObject({ details: { code: 'uncalibratable' } });
  });

  it('hold powers of two and their neighbours', () => {
    const rows = rowsOf(problemOf(greatest, { kind: 'exact' }), 'secret:rows');
    const isBeside = (x: number): boolean => {
      const ratio = Math.abs(x) / 2 ** Math.round(Math.log2(Math.abs(x)));
      return Math.abs(ratio - 1) < 2 ** -22;
    };
    const beside = rows.filter((row) => row.filter(isBeside).length > 30);
    expect(beside.length).toBeGreaterThan(2);
    const below = rows
      .flatMap((row) => [...row])
      .filter((x) => Math.abs(x) === 2 ** Math.ceil(Math.log2(Math.abs(x))) * (1 - 2 ** -24));
    expect(below.length).toBeGreaterThan(10);
  });

  it('reach the largest numbers of a dtype, and not beyond', () => {
    const scaling = { least: 1, most: 2 ** 14, offset: 4 };
    const problem = problemOf(greatest, { kind: 'exact' }, { dtype: 'f16', scaling });
    for (const set of ['secret:large', 'secret:rows']) {
      const largest = Math.max(...rowsOf(problem, set).flatMap((row) => [...row].map(Math.abs)));
      expect(largest, set).toBeGreaterThan(2 ** 14);
      expect(largest, set).toBeLessThanOrEqual(65_504);
    }
  });
});
