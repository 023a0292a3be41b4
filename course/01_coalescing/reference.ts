import type { ReferenceFunction } from 'warpsmith';

/** y[i] = 1.5 · x[i] + 0.25, in float64. */
export const reference: ReferenceFunction = (inputs, _dimensions, round) => ({
  y: inputs.x!.map((value) => round(round(1.5 * value) + 0.25)),
});
