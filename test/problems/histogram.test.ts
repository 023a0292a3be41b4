import { describe, expect, it } from 'vitest';
import { reference } from '../../problems/histogram/reference.ts';
import { describeLadder } from './support/ladder.ts';

const exact = (value: number): number => value;

describe('the reference of histogram', () => {
  it('counts what sorting and searching count', () => {
    const BINS = 37;
    const x = Float64Array.from({ length: 5000 }, (_, i) => (i * i * 31 + 7 * i) % BINS);
    const sorted = x.toSorted();
    const counts = Array.from({ length: BINS }, (_, bin) => {
      const first = sorted.indexOf(bin);
      return first < 0 ? 0 : sorted.lastIndexOf(bin) - first + 1;
    });
    expect([...reference({ x }, { N: x.length, BINS, spread: 100 }, exact).counts!]).toEqual(counts);
    expect(counts).toContain(0);
  });

  it('leaves bins without values at zero, and what is no bin out', () => {
    const x = Float64Array.of(2, 2, 0, 4, -1);
    expect([...reference({ x }, { N: 5, BINS: 4, spread: 100 }, exact).counts!]).toEqual([1, 0, 2, 0]);
  });
});

describeLadder({
  problem: 'histogram',
  rungs: ['01_global_atomics', '02_shared', '03_per_warp'],
  ragged: { N: 5003, BINS: 37, spread: 100 },
  search: { N: 524_288, BINS: 256, spread: 100 },
  narrow: ['N <= 32768 || N == 524288', 'N % 1024 == 0 || N == 8191'],
  referenceError: 0,
});
