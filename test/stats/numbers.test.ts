import { describe, expect, test } from 'vitest';
import { studentCentralArea, studentCentralQuantile } from '../../src/stats/bootstrap.ts';
import { normalUpperTail } from '../../src/stats/normal.ts';
import { median, quantileOfSorted } from '../../src/stats/quantile.ts';
import { randomSource, xoshiro128 } from '../../src/stats/random.ts';

describe('quantiles', () => {
  const sorted = [10, 12, 15, 20, 40];
  // NumPy's np.quantile of the same, whose default is the same definition.
  test.each([
    [0, 10],
    [0.05, 10.4],
    [0.25, 12],
    [0.5, 15],
    [0.95, 36],
    [1, 40],
  ])('p = %d', (p, expected) => expect(quantileOfSorted(sorted, p)).toBeCloseTo(expected, 12));

  test('of one value, of none, and outside 0…1', () => {
    expect(quantileOfSorted([7], 0.95)).toBe(7);
    expect(quantileOfSorted([], 0.5)).toBeNaN();
    expect(quantileOfSorted(sorted, 1.1)).toBeNaN();
    expect(quantileOfSorted(sorted, Number.NaN)).toBeNaN();
  });

  test('the median needs no order and knows no NaN', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([9, 1, 5, 6])).toBe(5.5);
    expect(median([100, 20, 3])).toBe(20);
    expect(median([1, Number.NaN, 2])).toBeNaN();
    expect(median([])).toBeNaN();
  });
});

test.each([
  [0, 0.5],
  [0.5, 0.3085375387259869],
  [1.959963984540054, 0.025],
  [2.4999, 0.006211418374944587],
  [2.5, 0.006209665325776132],
  [5, 2.866515718791933e-7],
  [10, 7.61985302416047e-24],
  [-1, 0.8413447460685429],
])('P(Z > %d), as SciPy has it', (z, expected) => {
  expect(Math.abs(normalUpperTail(z) / expected - 1)).toBeLessThan(1e-11);
});

// Critical values as printed in every table of Student's t (two-sided, 5 %).
test.each([
  [1, 12.706204736174694],
  [2, 4.302652729749462],
  [9, 2.262157162798205],
  [19, 2.0930240544083087],
  [29, 2.045229642132703],
])('t of 95 % with %d degrees of freedom', (degrees, expected) => {
  expect(studentCentralQuantile(0.95, degrees)).toBeCloseTo(expected, 9);
});

test('P(|T| ≤ 2.5), odd and even degrees of freedom', () => {
  expect(studentCentralArea(2.5, 3)).toBeCloseTo(0.9122933529919345, 12);
  expect(studentCentralArea(2.5, 4)).toBeCloseTo(0.9332334551880118, 12);
});

describe('the generator', () => {
  test('gives the published sequence of xoshiro128**', () => {
    const source = xoshiro128([1, 2, 3, 4]);
    expect(Array.from({ length: 6 }, () => source.next())).toEqual([
      11520, 0, 5927040, 70819200, 2031721883, 1637235492,
    ]);
  });

  test('is a function of its seed, beyond 32 bits too', () => {
    const first = (seed: number) => randomSource(seed).next();
    expect(first(7)).toBe(first(7));
    expect(new Set([0, 1, 2, 2 ** 32, 2 ** 32 + 1, 2 ** 40].map(first)).size).toBe(6);
  });
});
