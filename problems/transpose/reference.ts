import type { ReferenceFunction, ReferenceRowsFunction } from '../../src/core/problem.ts';

/**
 * `Y[n, m] = X[m, n]`, both row-major. Elements are read in the order of `X`. The one operation is the copy: what `round` gives is
 * stored.
 */
export const reference: ReferenceFunction = (inputs, dimensions, round) => {
  const Y = Uint32Array.from({ length: dimensions.N as number }, (_, n) => n);
  return referenceRowsOfSparse(inputs, dimensions, round, { Y });
};

/** Rows of `Y`, each a column of `X`. Not `referenceRows`: a copy is compared whole wherever it can be. */
export const referenceRowsOfSparse: ReferenceRowsFunction = (inputs, dimensions, round, rows) => {
  const { M, N } = dimensions as Record<'M' | 'N', number>;
  const { X } = inputs as Record<'X', Float64Array>;
  const wanted = rows.Y as Uint32Array;
  const Y = new Float64Array(wanted.length * M);
  for (let m = 0; m < M; m++) {
    for (let i = 0; i < wanted.length; i++) Y[i * M + m] = round(X[m * N + (wanted[i] as number)] as number);
  }
  return { Y };
};
