import { describe, expect, it } from 'vitest';
import { reference } from '../../problems/scan/reference.ts';
import { describeLadder } from './support/ladder.ts';

const exact = (value: number): number => value;
const scan = (values: readonly number[]): number[] => [
  ...reference({ x: Float64Array.from(values) }, { N: values.length }, exact).y!,
];

describe('the reference of scan', () => {
  it('gives triangular numbers for 1, 2, 3, …', () => {
    const values = Array.from({ length: 1000 }, (_, i) => i + 1);
    expect(scan(values)).toEqual(values.map((n) => (n * (n + 1)) / 2));
  });

  it('wraps around as 32-bit integers do', () => {
    const values = Array.from({ length: 999 }, (_, i) => (i * 2_654_435_761) | 0);
    let sum = 0n;
    const expected = values.map((value) => {
      sum += BigInt(value);
      return Number(BigInt.asIntN(32, sum));
    });
    expect(scan(values)).toEqual(expected);
    expect(scan([2 ** 31 - 1, 1, -1])).toEqual([2 ** 31 - 1, -(2 ** 31), 2 ** 31 - 1]);
  });
});

describeLadder({
  problem: 'scan',
  rungs: ['01_one_cta', '02_blocked', '03_shuffles', '04_look_back'],
  ragged: { N: 5003 },
  search: { N: 65_536 },
  narrow: ['N <= 131072'],
  referenceError: 0,
  // Fewer elements per thread are tried first: more CTAs had helped twice.
  detours: 1,
});
