import type { ReferenceFunction } from '../../src/core/problem.ts';

/**
 * `Y[n, m] = X[m, n]`, both row-major. Elements are read in the order of `X`. The one operation is the copy: what `round` gives is
 * stored.
 */
export const reference: ReferenceFunction = (inputs, dimensions, round) => {
  const { M, N } = dimensions as Record<'M' | 'N', number>;
  const { X } = inputs as Record<'X', Float64Array>;
  const Y = new Float64Array(N * M);
  for (let m = 0; m < M; m++) {
    for (let n = 0; n < N; n++) Y[n * M + m] = round(X[m * N + n] as number);
  }
  return { Y };
};
