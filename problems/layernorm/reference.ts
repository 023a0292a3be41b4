import type { ReferenceFunction, ReferenceRowsFunction } from '../../src/core/problem.ts';

/** What every library stores the statistics in, and the kernels are given: fp32. */
const EPS = Math.fround(1e-5);

/** Mean and 1 ÷ √(variance + eps) of one row, in two passes. */
function statistics(x: Float64Array): { mean: number; inverseDeviation: number } {
  let sum = 0;
  for (const value of x) sum += value;
  const mean = sum / x.length;
  let squares = 0;
  for (const value of x) squares += (value - mean) ** 2;
  return { mean, inverseDeviation: 1 / Math.sqrt(squares / x.length + EPS) };
}

/**
 * Layer normalisation by rows in float64: `Y[r, c] = (X[r, c] − mean) ÷ √(variance + eps) · gamma[c] + beta[c]`, with the
 * biased variance.
 *
 * `X` and `Y` are `[R, N]`, row-major; `gamma` and `beta` are `[N]`. The result of every operation that a row's
 * elements go through (normalise, scale, shift) passes through `round`. The statistics do not: they are one number a
 * row, which every implementation for half precision keeps in fp32. A mean rounded to fp16 would move a whole row by
 * up to 0.25 where it is 1000, and so allow a kernel with a wrong variance as much.
 */
export const reference: ReferenceFunction = (inputs, dimensions, round) => {
  const Y = Uint32Array.from({ length: dimensions.R as number }, (_, r) => r);
  return referenceRowsOfSparse(inputs, dimensions, round, { Y });
};

/** Rows of `Y`, each from one of `X`. Not `referenceRows`: all rows are computed and compared in little more time than reading them takes. */
export const referenceRowsOfSparse: ReferenceRowsFunction = (inputs, dimensions, round, rows) => {
  const N = dimensions.N as number;
  const { X, gamma, beta } = inputs as Record<'X' | 'gamma' | 'beta', Float64Array>;
  const wanted = rows.Y as Uint32Array;
  const Y = new Float64Array(wanted.length * N);
  wanted.forEach((r, i) => {
    const x = X.subarray(r * N, (r + 1) * N);
    const y = Y.subarray(i * N, (i + 1) * N);
    const { mean, inverseDeviation } = statistics(x);
    for (let c = 0; c < N; c++) {
      const normalised = round(((x[c] as number) - mean) * inverseDeviation);
      y[c] = round(round(normalised * (gamma[c] as number)) + (beta[c] as number));
    }
  });
  return { Y };
};

/** The difference of two large sums loses the variance where the mean is large. */
export const mistakes: Record<string, ReferenceFunction> = {
  'one-pass-variance': (inputs, dimensions) => {
    const { R, N } = dimensions as Record<'R' | 'N', number>;
    const { X, gamma, beta } = inputs as Record<'X' | 'gamma' | 'beta', Float64Array>;
    const Y = new Float64Array(R * N);
    for (let r = 0; r < R; r++) {
      let [sum, squares] = [0, 0];
      for (const value of X.subarray(r * N, (r + 1) * N)) {
        sum = Math.fround(sum + value);
        squares = Math.fround(squares + Math.fround(value * value));
      }
      const mean = Math.fround(sum / N);
      const variance = Math.fround(Math.fround(squares / N) - Math.fround(mean * mean));
      for (let c = 0; c < N; c++) {
        const normalised = ((X[r * N + c] as number) - mean) / Math.sqrt(variance + EPS);
        Y[r * N + c] = normalised * (gamma[c] as number) + (beta[c] as number);
      }
    }
    return { Y };
  },
};
