import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DType, sizeOfDType } from '../../../../src/core/dtype.ts';
import { encode } from '../../../../src/core/rounding.ts';
import { packCompareJobs } from '../../../../src/devices/cuda/harness/harness.ts';
import { type Target, VirtualHarness } from '../../../support/harness/virtual-harness.ts';

let harness: VirtualHarness;
beforeAll(async () => {
  harness = await VirtualHarness.open();
});
afterAll(() => harness.close());

/** Elements that are equal in two arrays, `offset` elements after the start of the second buffer. */
const equal = async (
  dtype: DType,
  left: readonly number[],
  right: readonly number[],
  { tolerance = 0, offset = 0, grid = 4 } = {},
): Promise<number> => {
  const width = sizeOfDType(dtype);
  const places = [await harness.allocate(left.length * width), await harness.allocate((right.length + offset) * width)];
  await harness.write(places[0]!, encode(left, dtype));
  await harness.write(places[1]!, encode(right, dtype), offset * width);
  const job = {
    left: places[0]!.address,
    right: places[1]!.address + BigInt(offset * width),
    elementCount: left.length,
    dtype,
    tolerance,
  };
  const [count] = await harness.count('compare', packCompareJobs([job]), grid);
  await harness.freeAll();
  return Number(count);
};

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => (i % 50) + 1);

describe('compare', () => {
  it.each(['f16', 'bf16', 'f32', 'f64', 'i8', 'u16', 'i32', 'u64'] as const)(
    'finds every element of %s that differs',
    async (dtype) => {
      for (const length of dtype === 'f16' ? [1, 33, 9000] : [7, 33]) {
        const left = numbers(length);
        for (const offset of [0, 1]) expect(await equal(dtype, left, left, { offset }), `${length}`).toBe(length);
        const right = left.map((value, i) => (i % 5 === 3 || i === length - 1 ? value + 1 : value));
        const same = left.filter((value, i) => value === right[i]).length;
        for (const offset of [0, 1]) expect(await equal(dtype, left, right, { offset }), `${length}`).toBe(same);
      }
    },
  );

  it('takes the same bits only, unless a tolerance is given', async () => {
    const left = [1, -2, 0, Number.NaN, Number.POSITIVE_INFINITY, 3, 1e-30];
    const right = [1.0001, -2.0001, -0, Number.NaN, Number.POSITIVE_INFINITY, -3, 0];
    expect(await equal('f32', left, right)).toBe(2);
    // Zeros of both signs are near; a NaN is near a NaN; what is small is not near zero.
    expect(await equal('f32', left, right, { tolerance: 1e-3 })).toBe(5);
    expect(await equal('f64', left, right, { tolerance: 1e-3 })).toBe(5);
    expect(await equal('f32', [Number.NaN, 1], [1, Number.NaN], { tolerance: 1 })).toBe(0);
    // Whole numbers are what they are.
    expect(await equal('i32', [1000], [1001], { tolerance: 0.5 })).toBe(0);
  });

  it('counts for each of many jobs in one launch', async () => {
    const sizes = [9000, 0, 3, 20_000];
    const targets: Target[] = [];
    for (const size of sizes) targets.push(await harness.allocate(Math.max(4, 4 * size)));
    const jobs = sizes.map((elementCount, i) => ({
      left: targets[i]!.address,
      right: targets[3]!.address,
      elementCount,
      dtype: 'i32' as const,
      tolerance: 0,
    }));
    for (const [i, target] of targets.entries())
      await harness.write(target, encode(numbers(Math.max(1, sizes[i]!)), 'i32'));
    expect([...(await harness.count('compare', packCompareJobs(jobs)))].map(Number)).toEqual(sizes);
  });

  it('refuses addresses that no element of the dtype can have', () => {
    const job = { left: 2n, right: 4n, elementCount: 1, dtype: 'f32' as const, tolerance: 0 };
    expect(() => packCompareJobs([job])).toThrow(RangeError);
  });
});
