import { describe, expect, it } from 'vitest';
import { DTYPES, isFloating, sizeOfDType } from '../../../src/core/dtype.ts';
import { decode, encode } from '../../../src/core/rounding.ts';
import { altered, noise, shuffled } from '../../../src/evaluation/verify/leftovers.ts';
import { createStream } from '../../../src/stats/random.ts';

const elementAt = (bytes: Uint8Array, size: number, i: number): string =>
  Buffer.from(bytes.subarray(i * size, (i + 1) * size)).toString('hex');

const changes = (before: Uint8Array, after: Uint8Array, size: number): number =>
  Array.from({ length: before.length / size }, (_, i) => i).filter(
    (i) => elementAt(before, size, i) !== elementAt(after, size, i),
  ).length;

describe.each(DTYPES)('leftovers of %s', (dtype) => {
  const size = sizeOfDType(dtype);
  const values = Array.from({ length: 500 }, (_, i) => 1 + (i % 97));
  const right = encode(values, dtype);
  const stream = createStream(1, dtype);

  it('altered: about half of the elements, each by another of them', () => {
    const count = changes(right, altered(right, dtype, stream), size);
    expect(count).toBeGreaterThan(180);
    expect(count).toBeLessThan(320);
  });

  it('shuffled: all of the elements, of the same size as before', () => {
    const result = shuffled(right, dtype, stream);
    expect(changes(right, result, size)).toBe(500);
    const plausible = decode(result, dtype).filter((value) => value >= 1 && value <= 97);
    expect(plausible.length).toBeGreaterThan(450);
  });

  it('noise: NaNs of many kinds where there are any', () => {
    const result = noise(right, dtype, stream);
    if (isFloating(dtype)) expect(decode(result, dtype).every(Number.isNaN)).toBe(true);
    const different = new Set(Array.from({ length: 500 }, (_, i) => elementAt(result, size, i)));
    expect(different.size).toBeGreaterThan(80);
  });

  it('change even where all elements are alike, or there is one only', () => {
    for (const count of [1, 33]) {
      const alike = encode(new Array<number>(count).fill(0), dtype);
      expect(changes(alike, shuffled(alike, dtype, stream), size)).toBe(count);
      expect(changes(alike, altered(alike, dtype, stream), size)).toBeGreaterThan(0);
    }
  });

  it('are other ones for another seed', () => {
    for (const make of [altered, shuffled, noise]) {
      const [one, other] = [1, 2].map((seed) => make(right, dtype, createStream(seed, 'seed')));
      expect(Buffer.compare(one!, other!), make.name).not.toBe(0);
    }
  });
});
