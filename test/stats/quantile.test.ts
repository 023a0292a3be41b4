import { expect, it } from 'vitest';
import { nthSmallest } from '../../src/stats/quantile.ts';
import { createStream } from '../../src/stats/random.ts';

it.each([
  ['of all kinds', (bits: number) => bits / 7],
  ['with many alike', (bits: number) => bits % 3],
  ['all alike', () => 5],
  ['of which some are infinite', (bits: number) => (bits % 5 === 0 ? Number.POSITIVE_INFINITY : -bits)],
])('each smallest of values %s is where sorting puts it', (_, of) => {
  const { bits } = createStream('smallest');
  for (const count of [1, 2, 3, 10, 65]) {
    const values = Float64Array.from({ length: count }, (_, i) => of(bits(1000 * count + i)));
    const sorted = values.toSorted();
    expect(Array.from(sorted, (_, n) => nthSmallest(values.slice(), n))).toEqual([...sorted]);
  }
});

it('there is none of nothing', () => {
  expect(nthSmallest(new Float64Array(0), 0)).toBeUndefined();
});
