import type { ReferenceFunction } from 'warpsmith';

/** C[m, n] = Σ_k A[m, k] · B[k, n], in float64. */
export const reference: ReferenceFunction = (inputs, dimensions, round) => {
  const { M, N, K } = dimensions as Record<'M' | 'N' | 'K', number>;
  const { A, B } = inputs as Record<'A' | 'B', Float64Array>;
  const C = new Float64Array(M * N);
  for (let m = 0; m < M; m++) {
    for (let k = 0; k < K; k++) {
      const a = A[m * K + k]!;
      for (let n = 0; n < N; n++) C[m * N + n] = round(C[m * N + n]! + round(a * B[k * N + n]!));
    }
  }
  return { C };
};
