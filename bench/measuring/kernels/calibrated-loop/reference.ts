import type { ReferenceFunction } from '../../../../src/core/problem.ts';

const MULTIPLIER = 1664525;
const INCREMENT = 1013904223;

/** The steps are one map x ↦ a·x + c mod 2³²: composed once, then applied to every element. */
export const reference: ReferenceFunction = (inputs, { N, STEPS }) => {
  let [a, c] = [1, 0];
  for (let step = 0; step < STEPS!; step++) {
    a = Math.imul(a, MULTIPLIER);
    c = (Math.imul(c, MULTIPLIER) + INCREMENT) | 0;
  }
  return { y: Float64Array.from({ length: N! }, (_, i) => (Math.imul(a, inputs.x![i]! | 0) + c) >>> 0) };
};
