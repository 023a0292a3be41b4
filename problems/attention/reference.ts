import type { ReferenceFunction, ReferenceRowsFunction } from '../../src/core/problem.ts';

/** One query row against a matrix of rows: `scores[j] = round(q · K[j])` for `j < keyCount`. */
function multiplyByTransposedKeys(
  scores: Float64Array,
  q: Float64Array,
  k: Float64Array,
  keyCount: number,
  headDim: number,
  round: (value: number) => number,
): void {
  let j = 0;
  // Four keys at a time: four independent sums hide the latency of a float64 add.
  for (; j + 4 <= keyCount; j += 4) {
    const k0 = j * headDim;
    const k1 = k0 + headDim;
    const k2 = k1 + headDim;
    const k3 = k2 + headDim;
    let sum0 = 0;
    let sum1 = 0;
    let sum2 = 0;
    let sum3 = 0;
    for (let d = 0; d < headDim; d++) {
      const x = q[d] as number;
      sum0 += x * (k[k0 + d] as number);
      sum1 += x * (k[k1 + d] as number);
      sum2 += x * (k[k2 + d] as number);
      sum3 += x * (k[k3 + d] as number);
    }
    scores[j] = round(sum0);
    scores[j + 1] = round(sum1);
    scores[j + 2] = round(sum2);
    scores[j + 3] = round(sum3);
  }
  for (; j < keyCount; j++) {
    let sum = 0;
    for (let d = 0; d < headDim; d++) sum += (q[d] as number) * (k[j * headDim + d] as number);
    scores[j] = round(sum);
  }
}

/** In place: `x[j] = round(exp(x[j] − max x) ÷ Σ exp(x − max x))` over `j < count`. */
function softmax(x: Float64Array, count: number, round: (value: number) => number): void {
  let maximum = Number.NEGATIVE_INFINITY;
  for (let j = 0; j < count; j++) maximum = Math.max(maximum, x[j] as number);
  let sum = 0;
  for (let j = 0; j < count; j++) {
    const weight = Math.exp((x[j] as number) - maximum);
    x[j] = weight;
    sum += weight;
  }
  for (let j = 0; j < count; j++) x[j] = round((x[j] as number) / sum);
}

/** `o[d] = round(Σ_j p[j] · V[j, d])` over `j < keyCount`. */
function multiplyByValues(
  o: Float64Array,
  p: Float64Array,
  v: Float64Array,
  keyCount: number,
  headDim: number,
  round: (value: number) => number,
): void {
  o.fill(0);
  let j = 0;
  for (; j + 4 <= keyCount; j += 4) {
    const p0 = p[j] as number;
    const p1 = p[j + 1] as number;
    const p2 = p[j + 2] as number;
    const p3 = p[j + 3] as number;
    const v0 = j * headDim;
    const v1 = v0 + headDim;
    const v2 = v1 + headDim;
    const v3 = v2 + headDim;
    for (let d = 0; d < headDim; d++) {
      o[d] =
        (o[d] as number) +
        p0 * (v[v0 + d] as number) +
        p1 * (v[v1 + d] as number) +
        p2 * (v[v2 + d] as number) +
        p3 * (v[v3 + d] as number);
    }
  }
  for (; j < keyCount; j++) {
    const weight = p[j] as number;
    for (let d = 0; d < headDim; d++) o[d] = (o[d] as number) + weight * (v[j * headDim + d] as number);
  }
  for (let d = 0; d < headDim; d++) o[d] = round(o[d] as number);
}

/** `o` = one row of the output: query `row` of all heads' queries, counted through, over the keys it sees. */
function attendRow(
  o: Float64Array,
  { Q, K, V }: Record<'Q' | 'K' | 'V', Float64Array>,
  { S, D, causal }: Record<'S' | 'D' | 'causal', number>,
  row: number,
  scores: Float64Array,
  round: (value: number) => number,
  weigh = softmax,
): void {
  const scale = Math.fround(1 / Math.sqrt(D)); // the scalar kernels are given is fp32
  const [head, query] = [Math.floor(row / S), row % S];
  const matrix = head * S * D;
  const keyCount = causal ? query + 1 : S;
  const q = Q.subarray(row * D, (row + 1) * D);
  multiplyByTransposedKeys(scores, q, K.subarray(matrix, matrix + S * D), keyCount, D, round);
  for (let j = 0; j < keyCount; j++) scores[j] = round(scale * (scores[j] as number));
  weigh(scores, keyCount, round);
  multiplyByValues(o, scores, V.subarray(matrix, matrix + S * D), keyCount, D, round);
}

/**
 * Attention forward in float64: `O = softmax(Q · Kᵀ / √D) · V` per batch element and head.
 *
 * `Q`, `K`, `V` and `O` are `[B, H, S, D]`, row-major. With `causal` = 1, query `i` sees keys `0 … i`
 * (top-left). Every operation of the formula (Q·Kᵀ, the scale, the softmax, P·V) sums in float64 and passes
 * its result through `round`: the identity gives the oracle, rounding to fp16 gives the naive run that
 * calibrates the tolerance. A masked key has weight 0, so rows are simply cut after the last visible key.
 */
export const reference: ReferenceFunction = (inputs, dimensions, round) => {
  const { B, H, S } = dimensions as Record<'B' | 'H' | 'S', number>;
  return referenceRows(inputs, dimensions, round, { O: Uint32Array.from({ length: B * H * S }, (_, row) => row) });
};

/** Rows of `O`, which are queries, counted through all batch elements and heads. */
export const referenceRows: ReferenceRowsFunction = (inputs, dimensions, round, rows) => {
  const tensors = inputs as Record<'Q' | 'K' | 'V', Float64Array>;
  const sizes = dimensions as Record<'S' | 'D' | 'causal', number>;
  const { S, D } = sizes;
  const wanted = rows.O as Uint32Array;
  const O = new Float64Array(wanted.length * D);
  const scores = new Float64Array(S); // then weights, of one query
  for (const [i, row] of wanted.entries()) {
    attendRow(O.subarray(i * D, (i + 1) * D), tensors, sizes, row, scores, round);
  }
  return { O };
};

/** Without the maximum, exponentials of large scores overflow in fp32 and quotients of them are NaN. */
function softmaxWithoutMaximum(x: Float64Array, count: number): void {
  let sum = 0;
  for (let j = 0; j < count; j++) {
    x[j] = Math.fround(Math.exp(x[j] as number));
    sum = Math.fround(sum + (x[j] as number));
  }
  for (let j = 0; j < count; j++) x[j] = (x[j] as number) / sum;
}

export const mistakes: Record<string, ReferenceFunction> = {
  'no-maximum': (inputs, dimensions, round) => {
    const tensors = inputs as Record<'Q' | 'K' | 'V', Float64Array>;
    const sizes = dimensions as Record<'S' | 'D' | 'causal', number>;
    const O = new Float64Array(tensors.Q.length);
    const scores = new Float64Array(sizes.S);
    for (let row = 0; row * sizes.D < O.length; row++) {
      const o = O.subarray(row * sizes.D, (row + 1) * sizes.D);
      attendRow(o, tensors, sizes, row, scores, round, softmaxWithoutMaximum);
    }
    return { O };
  },
};
