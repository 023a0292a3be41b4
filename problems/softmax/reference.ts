import type { ReferenceFunction, ReferenceRowsFunction } from '../../src/core/problem.ts';

/** `y[c] = exp(x[c] − max x) ÷ Σ exp(x − max x)` of one row. */
function softmaxRow(y: Float64Array, x: Float64Array, round: (value: number) => number): void {
  let maximum = Number.NEGATIVE_INFINITY;
  for (const value of x) maximum = Math.max(maximum, value);
  let sum = 0;
  for (let c = 0; c < x.length; c++) {
    const weight = round(Math.exp(round((x[c] as number) - maximum)));
    y[c] = weight;
    sum += weight;
  }
  sum = round(sum);
  for (let c = 0; c < x.length; c++) y[c] = round((y[c] as number) / sum);
}

/**
 * Softmax by rows in float64: `Y[r, c] = exp(X[r, c] − m) ÷ Σ exp(X[r, :] − m)` with `m = max X[r, :]`.
 *
 * `X` and `Y` are `[R, N]`, row-major. The maximum is known before the first exponential: no running maximum and
 * no rescaling, whose mistakes are what this is to find. The result of every operation of the formula (difference,
 * exponential, sum, quotient) passes through `round`.
 */
export const reference: ReferenceFunction = (inputs, dimensions, round) => {
  const Y = Uint32Array.from({ length: dimensions.R as number }, (_, r) => r);
  return referenceRowsOfSparse(inputs, dimensions, round, { Y });
};

/** Rows of `Y`, each from one of `X`. Not `referenceRows`: all rows are computed and compared in little more time than reading them takes. */
export const referenceRowsOfSparse: ReferenceRowsFunction = (inputs, dimensions, round, rows) => {
  const N = dimensions.N as number;
  const X = inputs.X as Float64Array;
  const wanted = rows.Y as Uint32Array;
  const Y = new Float64Array(wanted.length * N);
  wanted.forEach((r, i) => {
    softmaxRow(Y.subarray(i * N, (i + 1) * N), X.subarray(r * N, (r + 1) * N), round);
  });
  return { Y };
};

/** Without the maximum, exponentials of large logits overflow in fp32 and quotients of them are NaN. */
export const mistakes: Record<string, ReferenceFunction> = {
  'no-maximum': (inputs, dimensions) => {
    const { R, N } = dimensions as Record<'R' | 'N', number>;
    const X = inputs.X as Float64Array;
    const Y = X.map((x) => Math.fround(Math.exp(x)));
    for (let r = 0; r < R; r++) {
      const y = Y.subarray(r * N, (r + 1) * N);
      const sum = Math.fround(y.reduce((total, weight) => total + weight, 0));
      for (let c = 0; c < N; c++) y[c] = (y[c] as number) / sum;
    }
    return { Y };
  },
};
