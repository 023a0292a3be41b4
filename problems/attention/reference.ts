import type { Dimensions, ReferenceFunction, ReferenceRowsFunction, ReferenceTensors } from '../../src/core/problem.ts';

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

/** In place: `x[j] = round(exp(x[j] − max x) ÷ Σ exp(x − max x))` over `j < count`; returns `log Σ exp(x)`, −∞ of nothing. */
function softmax(x: Float64Array, count: number, round: (value: number) => number): number {
  let maximum = Number.NEGATIVE_INFINITY;
  for (let j = 0; j < count; j++) maximum = Math.max(maximum, x[j] as number);
  let sum = 0;
  for (let j = 0; j < count; j++) {
    const weight = Math.exp((x[j] as number) - maximum);
    x[j] = weight;
    sum += weight;
  }
  for (let j = 0; j < count; j++) x[j] = round((x[j] as number) / sum);
  return count === 0 ? Number.NEGATIVE_INFINITY : maximum + Math.log(sum);
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

type Tensors = Record<'Q' | 'K' | 'V', Float64Array>;
type Sizes = Record<'B' | 'H' | 'S' | 'D' | 'causal' | 'Hkv' | 'Skv' | 'bottomRight' | 'lse', number>;

/** What a kernel may do wrong. */
interface Variant {
  readonly weigh: typeof softmax;
  readonly keyHead: (head: number, sizes: Sizes) => number;
  /** Which key is the last that query 0 sees, where it is causal. */
  readonly firstDiagonal: (sizes: Sizes) => number;
}

const RIGHT: Variant = {
  weigh: softmax,
  keyHead: (head, { H, Hkv }) => Math.floor(head / (H / Hkv)),
  firstDiagonal: ({ S, Skv, bottomRight }) => (bottomRight ? Skv - S : 0),
};

/** `o` = one row of the output: query `row` of all heads' queries, counted through, over the keys it sees. Returns its LSE. */
function attendRow(
  o: Float64Array,
  { Q, K, V }: Tensors,
  sizes: Sizes,
  row: number,
  scores: Float64Array,
  round: (value: number) => number,
  { weigh, keyHead, firstDiagonal }: Variant,
): number {
  const { H, S, D, causal, Hkv, Skv } = sizes;
  const scale = Math.fround(1 / Math.sqrt(D)); // the scalar kernels are given is fp32
  const [head, query] = [Math.floor(row / S), row % S];
  const matrix = (Math.floor(head / H) * Hkv + keyHead(head % H, sizes)) * Skv * D;
  const keyCount = causal ? Math.min(Skv, Math.max(0, query + firstDiagonal(sizes) + 1)) : Skv;
  const q = Q.subarray(row * D, (row + 1) * D);
  multiplyByTransposedKeys(scores, q, K.subarray(matrix, matrix + Skv * D), keyCount, D, round);
  for (let j = 0; j < keyCount; j++) scores[j] = round(scale * (scores[j] as number));
  const logSum = weigh(scores, keyCount, round);
  multiplyByValues(o, scores, V.subarray(matrix, matrix + Skv * D), keyCount, D, round);
  return logSum;
}

function attendRows(
  inputs: ReferenceTensors,
  dimensions: Dimensions,
  round: (value: number) => number,
  rows: { readonly O: Uint32Array; readonly LSE?: Uint32Array },
  variant = RIGHT,
): ReferenceTensors {
  const [tensors, sizes] = [inputs as Tensors, dimensions as Sizes];
  const { D, Skv, lse } = sizes;
  const O = new Float64Array(rows.O.length * D);
  const scores = new Float64Array(Skv); // then weights, of one query
  const logSums = new Map<number, number>();
  const attend = (o: Float64Array, row: number): void => {
    logSums.set(row, attendRow(o, tensors, sizes, row, scores, round, variant));
  };
  for (const [i, row] of rows.O.entries()) attend(O.subarray(i * D, (i + 1) * D), row);
  if (!lse) return { O };
  const unused = new Float64Array(D);
  const LSE = Float64Array.from(rows.LSE ?? rows.O, (row) => {
    if (!logSums.has(row)) attend(unused, row);
    return logSums.get(row) as number;
  });
  return { O, LSE };
}

const allRows = ({ B, H, S }: Dimensions): { readonly O: Uint32Array } => ({
  O: Uint32Array.from({ length: (B as number) * (H as number) * (S as number) }, (_, row) => row),
});

/**
 * Attention forward in float64: `O = softmax(Q · Kᵀ / √D) · V` per batch element and head, and `LSE`, the logarithms of the
 * softmaxes' denominators, where `lse` = 1.
 *
 * `Q` and `O` are `[B, H, S, D]`, `K` and `V` `[B, Hkv, Skv, D]`, `LSE` `[B, H, S, 1]`, all row-major here whatever lies in memory;
 * `H ÷ Hkv` neighbouring heads of `Q` share one of `K` and `V`. With `causal` = 1, query `i` sees keys `0 … i` (top-left), or
 * `0 … i + Skv − S` with `bottomRight` = 1; a query that sees none has output 0 and `LSE` −∞. Every operation of the formula
 * (Q·Kᵀ, the scale, the softmax, P·V) sums in float64 and passes its result through `round`: the identity gives the oracle.
 * A masked key has weight 0, so rows are simply cut after the last visible key.
 */
export const reference: ReferenceFunction = (inputs, dimensions, round) =>
  attendRows(inputs, dimensions, round, allRows(dimensions));

/** Rows of `O` and `LSE`, which are queries, counted through all batch elements and heads. */
export const referenceRows: ReferenceRowsFunction = (inputs, dimensions, round, rows) =>
  attendRows(inputs, dimensions, round, rows as { O: Uint32Array; LSE?: Uint32Array });

/** Without the maximum, exponentials of large scores overflow in fp32 and quotients of them are NaN. */
function softmaxWithoutMaximum(x: Float64Array, count: number): number {
  let sum = 0;
  for (let j = 0; j < count; j++) {
    x[j] = Math.fround(Math.exp(x[j] as number));
    sum = Math.fround(sum + (x[j] as number));
  }
  for (let j = 0; j < count; j++) x[j] = (x[j] as number) / sum;
  return Math.log(sum);
}

const mistake =
  (variant: Partial<Variant>): ReferenceFunction =>
  (inputs, dimensions, round) =>
    attendRows(inputs, dimensions, round, allRows(dimensions), { ...RIGHT, ...variant });

export const mistakes: Record<string, ReferenceFunction> = {
  'no-maximum': mistake({ weigh: softmaxWithoutMaximum }),
  'other-corner': mistake({ firstDiagonal: ({ S, Skv, bottomRight }) => (bottomRight ? 0 : Skv - S) }),
  'heads-in-turn': mistake({ keyHead: (head, { Hkv }) => head % Hkv }),
};
