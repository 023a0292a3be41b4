import type { ReferenceFunction } from 'warpsmith';

/** The sum of x, from the first element to the last, in float64. */
export const reference: ReferenceFunction = (inputs, _dimensions, round) => ({
  total: Float64Array.of(inputs.x!.reduce((sum, value) => round(sum + value), 0)),
});
