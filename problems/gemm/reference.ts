import type {
  Float64Room,
  ReferenceFunction,
  ReferenceRowsFunction,
  ReferenceTensors,
} from '../../src/core/problem.ts';

/**
 * `C = A · B` in float64; all row-major: `A` is `[M, K]`, `B` is `[K, N]`, `C` is `[M, N]`.
 *
 * A row of `C` is a sum of rows of `B`, so every loop runs along memory. The whole sum is one operation of the formula:
 * `round` is applied to its result, not inside. A product of two fp32 (or fp16) numbers is exact in float64.
 */
export const reference: ReferenceFunction = (inputs, dimensions, round, float64Room) => {
  const C = Uint32Array.from({ length: dimensions.M as number }, (_, m) => m);
  return referenceRows(inputs, dimensions, round, { C }, float64Room);
};

type Sizes = Record<'N' | 'K', number>;

/** Rows of `C`, each from one row of `A`. */
export const referenceRows: ReferenceRowsFunction = (inputs, dimensions, round, rows, float64Room) => {
  const sizes = dimensions as Sizes;
  const wanted = rows.C as Uint32Array;
  const elements = sizes.K * sizes.N + ROWS * (sizes.K + sizes.N);
  const inRoom = wanted.length >= FEWEST_ROWS && elements <= MOST_ELEMENTS;
  const C = new Float64Array(wanted.length * sizes.N);
  if (float64Room && inRoom) multiplyInRoom(C, float64Room(elements), inputs, sizes, wanted);
  else multiply(C, inputs, sizes, wanted);
  for (let i = 0; i < C.length; i++) C[i] = round(C[i] as number);
  return { C };
};

function multiply(C: Float64Array, inputs: ReferenceTensors, { N, K }: Sizes, wanted: Uint32Array): void {
  const { A, B } = inputs as Record<'A' | 'B', Float64Array>;
  wanted.forEach((m, i) => {
    const row = C.subarray(i * N, (i + 1) * N);
    for (let k = 0; k < K; k++) {
      const a = A[m * K + k] as number;
      const b = B.subarray(k * N, (k + 1) * N);
      for (let n = 0; n < N; n++) row[n] = (row[n] as number) + a * (b[n] as number);
    }
  });
}

/** So many rows of `A` and `C` are in the room at once, beside all of `B`. */
const ROWS = 64;
/** Fewer are not worth a copy of `B`. */
const FEWEST_ROWS = 4;
/** A room of so many elements, 512 MiB, is within what one may have. */
const MOST_ELEMENTS = 2 ** 26;

/** As {@link multiply}, to the bit. */
function multiplyInRoom(
  C: Float64Array,
  room: Float64Room,
  inputs: ReferenceTensors,
  { N, K }: Sizes,
  wanted: Uint32Array,
): void {
  const { A, B } = inputs as Record<'A' | 'B', Float64Array>;
  const [a, b, c] = [room.array(ROWS * K), room.array(K * N), room.array(ROWS * N)];
  b.set(B);
  for (let first = 0; first < wanted.length; first += ROWS) {
    const some = wanted.subarray(first, first + ROWS);
    some.forEach((m, i) => {
      a.set(A.subarray(m * K, (m + 1) * K), i * K);
    });
    const rows = some.length;
    room.multiply({ values: c, rows, columns: N }, { values: a, rows, columns: K }, { values: b, rows: K, columns: N });
    C.set(c.subarray(0, rows * N), first * N);
  }
}
