import type { ReferenceFunction } from '../../src/core/problem.ts';

/** `y[i] = x[0] + … + x[i]`, one after the other, modulo 2³². Integers need no rounding: `| 0` wraps as i32 does. */
export const reference: ReferenceFunction = (inputs) => {
  const { x } = inputs as Record<'x', Float64Array>;
  const y = new Float64Array(x.length);
  let sum = 0;
  for (let i = 0; i < x.length; i++) {
    sum = (sum + (x[i] as number)) | 0;
    y[i] = sum;
  }
  return { y };
};
