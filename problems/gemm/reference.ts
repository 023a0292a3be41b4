import type { ReferenceFunction, ReferenceRowsFunction } from '../../src/core/problem.ts';

/**
 * `C = A · B` in float64; all row-major: `A` is `[M, K]`, `B` is `[K, N]`, `C` is `[M, N]`.
 *
 * A row of `C` is a sum of rows of `B`, so every loop runs along memory. The whole sum is one operation of the formula:
 * `round` is applied to its result, not inside. A product of two fp32 (or fp16) numbers is exact in float64.
 */
export const reference: ReferenceFunction = (inputs, dimensions, round) =>
  referenceRows(inputs, dimensions, round, { C: Uint32Array.from({ length: dimensions.M as number }, (_, m) => m) });

/** Rows of `C`, each from one row of `A`. */
export const referenceRows: ReferenceRowsFunction = (inputs, dimensions, round, rows) => {
  const { N, K } = dimensions as Record<'N' | 'K', number>;
  const { A, B } = inputs as Record<'A' | 'B', Float64Array>;
  const wanted = rows.C as Uint32Array;
  const C = new Float64Array(wanted.length * N);
  wanted.forEach((m, i) => {
    const row = C.subarray(i * N, (i + 1) * N);
    for (let k = 0; k < K; k++) {
      const a = A[m * K + k] as number;
      const b = B.subarray(k * N, (k + 1) * N);
      for (let n = 0; n < N; n++) row[n] = (row[n] as number) + a * (b[n] as number);
    }
    for (let n = 0; n < N; n++) row[n] = round(row[n] as number);
  });
  return { C };
};
