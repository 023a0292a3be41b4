import { describe, expect, it } from 'vitest';
import type { ProblemFile } from '../../../../src/core/problem.ts';
import { prepareCheck } from '../../../../src/evaluation/oracle/expectation-cache.ts';
import { toyProblem } from '../../../support/toy-problem.ts';

const [ROWS, COLUMNS, SEEDS] = [192, 200, 60];

/** The elements of X, row by row, for some seeds. */
const drawn = (generatorSet: string, x: Partial<ProblemFile['inputs'][string]>): Float64Array[] => {
  const problem = toyProblem({
    dimensions: { M: { description: 'Rows.', minimum: 1 } },
    inputs: { X: { dtype: 'f32', shape: ['M', COLUMNS], access: 'in', ...x } },
    outputs: { Y: { dtype: 'f32', shape: ['M', COLUMNS], access: 'out' } },
    comparison: { kind: 'exact' },
  });
  return Array.from({ length: SEEDS }, (_, seed) => {
    const { inputs } = prepareCheck({ problem, dimensions: { M: ROWS }, seed, generatorSet });
    return inputs.tensors.X as Float64Array;
  });
};

const meanOfRow = (values: Float64Array, row: number): number =>
  values.subarray(row * COLUMNS, (row + 1) * COLUMNS).reduce((sum, value) => sum + value, 0) / COLUMNS;

describe('secret:large', () => {
  const scaling = { least: 1, most: 4, offset: 64 };
  const isApart = (values: Float64Array): boolean =>
    Array.from({ length: ROWS - 1 }, (_, row) => meanOfRow(values, row) * meanOfRow(values, row + 1)).every(
      (product) => product < -100,
    );

  it('often moves neighbouring rows apart, so that the first row says nothing about the others', () => {
    const apart = drawn('secret:large', { scaling }).filter(isApart).length;
    expect(apart / SEEDS).toBeGreaterThan(0.3);
    expect(apart / SEEDS).toBeLessThan(0.7);
  });

  it('moves all rows alike where values of an input may not differ', () => {
    expect(drawn('secret:large', { scaling: { ...scaling, contrast: 1 } }).filter(isApart)).toEqual([]);
  });
});

describe('secret:zeros', () => {
  /** Of side by side elements at a multiple of the side, without a special value or a negative zero. */
  const hasTile = (values: Float64Array, side: number): boolean => {
    for (let top = 0; top + side <= ROWS; top += side)
      for (let left = 0; left + side <= COLUMNS; left += side) {
        const isZero = (i: number): boolean =>
          Object.is(values[(top + Math.floor(i / side)) * COLUMNS + left + (i % side)], 0);
        if (Array.from({ length: side * side }, (_, i) => i).every(isZero)) return true;
      }
    return false;
  };

  it('has whole tiles of zeros in every check, although special values lie in rows between', () => {
    const all = drawn('secret:zeros', { domain: ['infinity', 'nan'] });
    expect(all.filter((values) => hasTile(values, 32)).length).toBe(SEEDS);
    expect(all.filter((values) => hasTile(values, 64)).length / SEEDS).toBeGreaterThan(0.7);
    expect(all.filter((values) => values.some(Number.isNaN)).length / SEEDS).toBeGreaterThan(0.9);
  });
});
