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
  search: { N: 131_072 },
  // 04_look_back has two memsets, which take longer than what it saves of three small launches. A run on an H200 ended with 03_shuffles,
  // too, at 8 times the elements (docs/results/h200-problems.json).
  ends: { 'virtual:h200': '03_shuffles' },
  narrow: ['N <= 32768 || N == 131072', 'N % 1024 == 0 || N == 4097'],
  referenceError: 0,
  // Fewer elements per thread are tried first: more CTAs had helped twice. So is the last rung.
  detours: 2,
});
