import { describe, expect, test } from 'vitest';
import { holm } from '../../src/stats/holm.ts';
import { mannWhitney } from '../../src/stats/mann-whitney.ts';

describe('Mann–Whitney U and Cliff’s δ', () => {
  test('the ages at diagnosis of SciPy’s documentation', () => {
    const { u, pValue } = mannWhitney([19, 22, 16, 29, 24], [20, 11, 17, 12]);
    expect(u).toBe(17);
    expect(pValue).toBeCloseTo(0.11134688653314041, 12);
  });

  test('ties, against SciPy, and δ counted by hand over all 56 pairs', () => {
    const { u, pValue, cliffsDelta } = mannWhitney([1, 2, 2, 3, 5, 5, 5, 8], [2, 3, 5, 5, 9, 9, 10]);
    expect(u).toBe(15.5);
    expect(pValue).toBeCloseTo(0.15498666065387143, 12);
    expect(cliffsDelta).toBeCloseTo(25 / 56, 15);
  });

  test('every time shorter: U is 0 and δ is +1; the other way round −1', () => {
    expect(mannWhitney([1, 2, 3], [10, 11])).toMatchObject({ u: 0, cliffsDelta: 1 });
    expect(mannWhitney([10, 11], [1, 2, 3])).toMatchObject({ u: 6, cliffsDelta: -1 });
  });

  test('swapping the two mirrors U and δ and leaves p', () => {
    const [a, b] = [
      [3, 1, 4, 1, 5],
      [9, 2, 6, 5, 3, 5],
    ];
    const [there, back] = [mannWhitney(a!, b!), mannWhitney(b!, a!)];
    expect(there.u + back.u).toBe(30);
    expect(there.cliffsDelta).toBeCloseTo(-back.cliffsDelta, 15);
    expect(there.pValue).toBeCloseTo(back.pValue, 15);
  });

  test('all equal differ in nothing', () => {
    expect(mannWhitney([5, 5, 5], [5, 5])).toEqual({ u: 3, pValue: 1, cliffsDelta: 0 });
  });

  test('nothing to compare, or a time that is none, says nothing', () => {
    for (const values of [[], [1, Number.NaN], [Number.POSITIVE_INFINITY]]) {
      const { u, pValue, cliffsDelta } = mannWhitney(values, [1, 2]);
      expect([u, pValue, cliffsDelta]).toEqual([Number.NaN, Number.NaN, Number.NaN]);
    }
  });
});

describe('Holm', () => {
  test('by hand: 4 · 0.005, 3 · 0.01, 2 · 0.03, and no smaller than the one before', () => {
    const adjusted = holm([0.01, 0.04, 0.03, 0.005]);
    expect(adjusted.map((p) => Number(p.toFixed(12)))).toEqual([0.03, 0.06, 0.06, 0.02]);
  });

  test('at most 1; NaN counts as a comparison and never passes', () => {
    expect(holm([0.6, 0.7])).toEqual([1, 1]);
    expect(holm([Number.NaN, 0.01])).toEqual([Number.NaN, 0.02]);
    expect(holm([])).toEqual([]);
  });
});
