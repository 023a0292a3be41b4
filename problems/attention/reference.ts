import type {
  Dimensions,
  Float64Room,
  ReferenceFunction,
  ReferenceRowsFunction,
  ReferenceTensors,
} from '../../src/core/problem.ts';

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

/** In place: each becomes the exponential of its difference to `subtracted`. Returns their sum, in order. */
type Exponentials = (x: Float64Array, subtracted: number) => number;

function exponentials(x: Float64Array, subtracted: number): number {
  let sum = 0;
  for (let j = 0; j < x.length; j++) {
    const weight = Math.exp((x[j] as number) - subtracted);
    x[j] = weight;
    sum += weight;
  }
  return sum;
}

/** In place: `x = round(exp(x − max x) ÷ Σ exp(x − max x))`; returns `log Σ exp(x)`, −∞ of nothing. */
function softmax(x: Float64Array, round: (value: number) => number, weigh: Exponentials = exponentials): number {
  let maximum = Number.NEGATIVE_INFINITY;
  for (let j = 0; j < x.length; j++) maximum = Math.max(maximum, x[j] as number);
  const sum = weigh(x, maximum);
  for (let j = 0; j < x.length; j++) x[j] = round((x[j] as number) / sum);
  return x.length === 0 ? Number.NEGATIVE_INFINITY : maximum + Math.log(sum);
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

/** Where the keys and values of query `row` begin, of all heads' queries, and how many of them it sees. */
function keysOf(row: number, sizes: Sizes, { keyHead, firstDiagonal }: Variant): { matrix: number; keyCount: number } {
  const { H, S, D, causal, Hkv, Skv } = sizes;
  const [head, query] = [Math.floor(row / S), row % S];
  return {
    matrix: (Math.floor(head / H) * Hkv + keyHead(head % H, sizes)) * Skv * D,
    keyCount: causal ? Math.min(Skv, Math.max(0, query + firstDiagonal(sizes) + 1)) : Skv,
  };
}

/** The scalar that kernels are given is fp32. */
const scaleOf = ({ D }: Sizes): number => Math.fround(1 / Math.sqrt(D));

/** `o` = one row of the output: query `row` of all heads' queries, counted through, over the keys it sees. Returns its LSE. */
function attendRow(
  o: Float64Array,
  { Q, K, V }: Tensors,
  sizes: Sizes,
  row: number,
  allScores: Float64Array,
  round: (value: number) => number,
  variant: Variant,
): number {
  const { D, Skv } = sizes;
  const scale = scaleOf(sizes);
  const { matrix, keyCount } = keysOf(row, sizes, variant);
  const q = Q.subarray(row * D, (row + 1) * D);
  const scores = allScores.subarray(0, keyCount);
  multiplyByTransposedKeys(scores, q, K.subarray(matrix, matrix + Skv * D), keyCount, D, round);
  for (let j = 0; j < keyCount; j++) scores[j] = round(scale * (scores[j] as number));
  const logSum = variant.weigh(scores, round);
  multiplyByValues(o, scores, V.subarray(matrix, matrix + Skv * D), keyCount, D, round);
  return logSum;
}

/** So many queries of a head go through its keys and values together, where there is a room; their scores fit into a cache. */
const QUERIES = 16;
/** Fewer are not worth a copy of the keys and values. */
const FEWEST_QUERIES = 4;
/** A room of so many elements, 512 MiB, is within what one may have. */
const MOST_ELEMENTS = 2 ** 26;

/** As {@link attendRow} of several queries with the same keys and values, to the bit. */
type AttendBlock = (o: Float64Array, rows: Uint32Array) => number[];

/** For blocks of queries, in arrays of a room that hold one head's keys and values. */
function blockwise(
  room: Float64Room,
  { Q, K, V }: Tensors,
  sizes: Sizes,
  round: (value: number) => number,
  variant: Variant,
): AttendBlock {
  const { D, Skv } = sizes;
  const scale = scaleOf(sizes);
  const [keys, values, scores] = [room.array(Skv * D), room.array(Skv * D), room.array(QUERIES * Skv)];
  const [queries, outputs] = [room.array(QUERIES * D), room.array(QUERIES * D)];
  const weigh: Exponentials = (x, subtracted) => room.exponentials(x, subtracted);
  let held: number | undefined;
  const hold = (matrix: number): void => {
    if (matrix === held) return;
    keys.set(K.subarray(matrix, matrix + Skv * D));
    values.set(V.subarray(matrix, matrix + Skv * D));
    held = matrix;
  };
  return (o, block) => {
    const [rows, counts] = [block.length, Array.from(block, (row) => keysOf(row, sizes, variant).keyCount)];
    hold(keysOf(block[0] as number, sizes, variant).matrix);
    block.forEach((row, i) => {
      queries.set(Q.subarray(row * D, (row + 1) * D), i * D);
    });
    const [most, least] = [Math.max(...counts), Math.min(...counts)];
    const products = { values: scores, rows, columns: most, stride: Skv };
    room.multiplyByTransposed(
      products,
      { values: queries, rows, columns: D },
      { values: keys, rows: most, columns: D },
    );
    const logSums = counts.map((count, i) => {
      const x = scores.subarray(i * Skv, i * Skv + count);
      for (let j = 0; j < count; j++) x[j] = round(scale * round(x[j] as number));
      return variant.weigh(x, round, weigh);
    });
    const weights = { values: scores, rows, columns: least, stride: Skv };
    room.multiply({ values: outputs, rows, columns: D }, weights, { values, rows: least, columns: D });
    counts.forEach((count, i) => {
      const sums = outputs.subarray(i * D, (i + 1) * D);
      // Keys that not all of them see.
      for (let j = least; j < count; j++) {
        const weight = scores[i * Skv + j] as number;
        for (let d = 0; d < D; d++) sums[d] = (sums[d] as number) + weight * (values[j * D + d] as number);
      }
      for (let d = 0; d < D; d++) o[i * D + d] = round(sums[d] as number);
    });
    return logSums;
  };
}

/** Neighbours among rows whose queries have the same keys and values, at most so many together. */
function* blocksOf(rows: Uint32Array, sizes: Sizes, variant: Variant): Generator<[first: number, end: number]> {
  const matrixOf = (i: number): number => keysOf(rows[i] as number, sizes, variant).matrix;
  for (let first = 0, end = 0; first < rows.length; first = end) {
    const matrix = matrixOf(first);
    while (end < rows.length && end - first < QUERIES && matrixOf(end) === matrix) end++;
    yield [first, end];
  }
}

function attendRows(
  inputs: ReferenceTensors,
  dimensions: Dimensions,
  round: (value: number) => number,
  rows: { readonly O: Uint32Array; readonly LSE?: Uint32Array },
  float64Room: ((elements: number) => Float64Room) | undefined,
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
  const elements = 2 * Skv * D + QUERIES * (Skv + 2 * D);
  let attendBlock: AttendBlock | undefined;
  for (const [first, end] of blocksOf(rows.O, sizes, variant)) {
    const [o, block] = [O.subarray(first * D, end * D), rows.O.subarray(first, end)];
    if (float64Room && block.length >= FEWEST_QUERIES && elements <= MOST_ELEMENTS) {
      attendBlock ??= blockwise(float64Room(elements), tensors, sizes, round, variant);
      for (const [i, logSum] of attendBlock(o, block).entries()) logSums.set(block[i] as number, logSum);
    } else for (const [i, row] of block.entries()) attend(o.subarray(i * D, (i + 1) * D), row);
  }
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
export const reference: ReferenceFunction = (inputs, dimensions, round, float64Room) =>
  attendRows(inputs, dimensions, round, allRows(dimensions), float64Room);

/** Rows of `O` and `LSE`, which are queries, counted through all batch elements and heads. */
export const referenceRows: ReferenceRowsFunction = (inputs, dimensions, round, rows, float64Room) =>
  attendRows(inputs, dimensions, round, rows as { O: Uint32Array; LSE?: Uint32Array }, float64Room);

/** Without the maximum, exponentials of large scores overflow in fp32 and quotients of them are NaN. */
function softmaxWithoutMaximum(x: Float64Array): number {
  let sum = 0;
  for (let j = 0; j < x.length; j++) {
    x[j] = Math.fround(Math.exp(x[j] as number));
    sum = Math.fround(sum + (x[j] as number));
  }
  for (let j = 0; j < x.length; j++) x[j] = (x[j] as number) / sum;
  return Math.log(sum);
}

const mistake =
  (variant: Partial<Variant>): ReferenceFunction =>
  (inputs, dimensions, round, float64Room) =>
    attendRows(inputs, dimensions, round, allRows(dimensions), float64Room, { ...RIGHT, ...variant });

export const mistakes: Record<string, ReferenceFunction> = {
  'no-maximum': mistake({ weigh: softmaxWithoutMaximum }),
  'other-corner': mistake({ firstDiagonal: ({ S, Skv, bottomRight }) => (bottomRight ? 0 : Skv - S) }),
  'heads-in-turn': mistake({ keyHead: (head, { Hkv }) => head % Hkv }),
};
