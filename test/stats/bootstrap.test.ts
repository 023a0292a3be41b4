import { describe, expect, test } from 'vitest';
import { bootstrapMean, bootstrapMedian, lowerPercentile } from '../../src/stats/bootstrap.ts';

// Φ(−√(n ÷ (n − 1)) · t) by SciPy.
test.each([
  [10, 0.008550639024406366],
  [15, 0.013207173126811439],
  [30, 0.01875390027822054],
])('the percentile for %d blocks', (blocks, expected) => {
  expect(lowerPercentile(blocks)).toBeCloseTo(expected, 9);
});

describe('the interval of the mean', () => {
  const values = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

  test('is about Student’s: 4.5 ± 2.262 · s ÷ √n', () => {
    const [low, high] = bootstrapMean(values, 1);
    const half = (2.262157 * Math.sqrt(82.5 / 9)) / Math.sqrt(10);
    expect(Math.abs(low - (4.5 - half))).toBeLessThan(0.12);
    expect(Math.abs(high - (4.5 + half))).toBeLessThan(0.12);
  });

  test('is the same for the same seed and moves a little with another', () => {
    expect(bootstrapMean(values, 5)).toEqual(bootstrapMean(values, 5));
    expect(bootstrapMean(values, 5)).not.toEqual(bootstrapMean([...values, 10], 5));
  });
});

describe('the interval of the median', () => {
  test('of equal values is that value', () => expect(bootstrapMedian([3, 3, 3, 3], 1)).toEqual([3, 3]));

  test('of 0 and 1 is as wide as it can be', () => expect(bootstrapMedian([0, 1], 1)).toEqual([0, 1]));

  test('agrees with sorting each resample', () => {
    // For three values P(median = lowest) = 7/27: far more than the percentile, so the interval is their range.
    expect(bootstrapMedian([30, 10, 20], 1)).toEqual([10, 30]);
    // 21 values: the median of a resample is ≤ the k-th with P(Binomial(21, k ÷ 21) ≥ 11); the interval's ends are where
    // this crosses 1.61 %: between the 5th (0.65 %) and the 6th (2.2 %), and as far from the other end.
    const values = Array.from({ length: 21 }, (_, index) => index + 1);
    expect(bootstrapMedian(values, 3)).toEqual([6, 16]);
  });

  test('one wild block moves it little', () => {
    const [, high] = bootstrapMedian([10, 10, 11, 11, 10, 12, 10, 11, 11, 9, 10, 1000], 1);
    expect(high).toBeLessThanOrEqual(12);
  });
});

test.each([bootstrapMean, bootstrapMedian])('fewer than two blocks, NaN and infinity give no interval', (interval) => {
  for (const values of [[], [1], [1, Number.NaN, 2], [1, Number.POSITIVE_INFINITY]])
    expect(interval(values, 1)).toEqual([Number.NaN, Number.NaN]);
});
