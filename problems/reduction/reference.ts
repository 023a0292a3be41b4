import type { ReferenceFunction } from '../../src/core/problem.ts';

/**
 * `y = Σ x[i]`, in float64, first to last: the order that no kernel uses.
 *
 * Each addition passes through `round`: the identity gives the oracle, rounding to fewer bits what a running sum of that
 * precision would be.
 */
export const reference: ReferenceFunction = (inputs, _dimensions, round) => {
  const { x } = inputs as Record<'x', Float64Array>;
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum = round(sum + (x[i] as number));
  return { y: Float64Array.of(sum) };
};
