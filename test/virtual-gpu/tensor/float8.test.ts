import { describe, expect, it } from 'vitest';
import {
  type Accumulate,
  accumulatorFor,
  factorsOf,
  tensorModel,
  warpgroupModel,
} from '../../../src/virtual-gpu/runtime/tensor-model.ts';

const K = 32;
const wgmma = accumulatorFor('f32', 'e4m3', warpgroupModel)!;
const mma = accumulatorFor('f32', 'e4m3', tensorModel('sm_90a'))!;

/** C plus these products by one, in order of K. */
function sum(accumulate: Accumulate, c: number, products: readonly number[]): number {
  const a = factorsOf(Float64Array.from({ length: K }, (_, k) => products[k] ?? 0));
  const b = factorsOf(new Float64Array(K).fill(1));
  return accumulate(c, a, b, 0, 0, K);
}

describe('8-bit floats', () => {
  it('lose in wgmma what lies 14 bits below the largest addend, each alone and all together', () => {
    expect(sum(wgmma, 2 ** 13, [1])).toBe(2 ** 13 + 1);
    expect(sum(wgmma, 2 ** 14, [1])).toBe(2 ** 14);
    expect(sum(wgmma, 2 ** 14, new Array(K).fill(1))).toBe(2 ** 14);
    // 2¹⁴ + 1 by two products of 2¹³, which keep the one; the sum has no place for it.
    expect(sum(wgmma, 1, [2 ** 13, 2 ** 13])).toBe(2 ** 14);
  });

  it('round once to f16 in wgmma', () => {
    const toF16 = accumulatorFor('f16', 'e4m3', warpgroupModel)!;
    expect(sum(toF16, 2048, [3])).toBe(2052);
    expect(sum(toF16, 2048, [1])).toBe(2048);
  });

  it('are halves in mma.sync: C comes last, rounded to nearest', () => {
    expect(sum(mma, 2 ** 24, [1, 0, 2])).toBe(2 ** 24 + 4);
    expect(sum(mma, 2 ** 24, [1])).toBe(2 ** 24);
    // The first two of every four are cut off beside 2²⁴, the others beside the sum.
    expect(sum(mma, 0, [2 ** 24, 0, 1])).toBe(2 ** 24);
    expect(sum(mma, 0, [1, 0, 2 ** 24])).toBe(2 ** 24);
  });

  it('have no model where no bits are known', () => {
    expect(accumulatorFor('f32', 'e4m3', tensorModel('sm_89'))).toBe(undefined);
    expect(accumulatorFor('f16', 'e4m3', tensorModel('sm_90a'))).toBe(undefined);
  });
});

describe('integers', () => {
  it('wrap around, or end at the bounds after all products', () => {
    const most = 2 ** 31 - 1;
    const [wraps, ends] = [false, true].map((saturates) => accumulatorFor('s32', 's8', warpgroupModel, saturates)!);
    expect(sum(wraps!, most, [1])).toBe(-(2 ** 31));
    expect(sum(ends!, most, [1])).toBe(most);
    expect(sum(ends!, -most, [-100])).toBe(-(2 ** 31));
    expect(sum(ends!, most, [100, -100])).toBe(most);
  });
});
