import type { Scaling } from '../../core/problem.ts';
import type { RandomStream } from '../../stats/random.ts';

export interface Arrangement {
  /** Elements of a row. */
  readonly rowLength: number;
  /** How far a row's values may leave the drawn ones; absent: they stay among them. */
  readonly scaling: Scaling | undefined;
  /** Largest factor between values of one row. */
  readonly contrast: number;
  /** Whether rows may be sorted. */
  readonly sorts: boolean;
  /** Chooses each row's pattern. */
  readonly stream: RandomStream;
  /** Whether rows of nothing but one value are left out: a formula may be undefined there. */
  readonly isMild: boolean;
  /** Whether the tolerance grows where large values cancel. */
  readonly cancels: boolean;
  readonly isFloat: boolean;
}

/** One row, its secret numbers, and the row before. */
interface Row extends Arrangement {
  readonly values: Float64Array;
  readonly before: Float64Array | undefined;
  /** The i-th secret number of this row, in [0, 1). */
  readonly draw: (i: number) => number;
}

type Pattern = (row: Row) => void;

const ascending: Pattern = ({ values, sorts }) => {
  if (sorts) values.sort();
};

const descending: Pattern = ({ values, sorts }) => {
  if (sorts) values.sort().reverse();
};

/** Every value is one of two to four of them: ties. */
const fewValues: Pattern = (row) => {
  const { values, draw } = row;
  const count = 2 + Math.floor(draw(0) * 3);
  const pool = Array.from({ length: count }, (_, i) => drawnValue(row, 1 + i));
  for (let i = 0; i < values.length; i++) values[i] = pool[Math.floor(draw(8 + i) * count)]!;
};

const constant: Pattern = (row) => {
  row.values.fill(drawnValue(row, 0));
};

/** As two keys that are the same, or two tokens. */
const asBefore: Pattern = ({ values, before }) => {
  if (before) values.set(before);
};

const zeros: Pattern = ({ values, scaling }) => {
  if (scaling) values.fill(0);
};

/** Larger or smaller than its neighbours, and about another mean. */
const moved: Pattern = ({ values, scaling, draw }) => {
  if (!scaling) return;
  const { least, most, offset } = scaling;
  const factor = 2 ** Math.round(Math.log2(least) + draw(0) * Math.log2(most / least));
  const shift = offset * (2 * draw(1) - 1);
  for (let i = 0; i < values.length; i++) values[i] = factor * (values[i]! + shift);
};

/** One large value among small ones. */
const oneLarge: Pattern = ({ values, contrast, draw }) => {
  values[Math.floor(draw(0) * values.length)]! *= contrast;
};

/** Two large values whose sum is nothing, among small ones. */
const cancelling: Pattern = ({ values, contrast, draw, cancels }) => {
  if (contrast === 1 || !cancels || values.length < 2) return;
  const [first, step] = [Math.floor(draw(0) * values.length), 1 + Math.floor(draw(1) * (values.length - 1))];
  const large = values[first]! * contrast;
  values[first] = large;
  values[(first + step) % values.length] = -large;
};

const PATTERNS: readonly { readonly pattern: Pattern | undefined; readonly isMild: boolean }[] = [
  { pattern: undefined, isMild: true },
  { pattern: ascending, isMild: true },
  { pattern: descending, isMild: true },
  { pattern: fewValues, isMild: true },
  { pattern: asBefore, isMild: true },
  { pattern: moved, isMild: true },
  { pattern: moved, isMild: true },
  { pattern: oneLarge, isMild: true },
  { pattern: cancelling, isMild: false },
  { pattern: constant, isMild: false },
  { pattern: zeros, isMild: false },
];

/** Arranges every row (last axis) in a secret way of its own: order, ties, size, offset, a large value among small ones. */
export function arrangeRows(values: Float64Array, arrangement: Arrangement): Float64Array {
  const { rowLength, stream, isMild } = arrangement;
  const patterns = PATTERNS.filter((pattern) => pattern.isMild || !isMild);
  const drawsPerRow = rowLength + 16;
  for (let row = 0; row * rowLength < values.length; row++) {
    const draw = (i: number): number => stream.uniform(row * drawsPerRow + i);
    const { pattern } = patterns[Math.floor(draw(rowLength + 15) * patterns.length)]!;
    const start = row * rowLength;
    pattern?.({
      ...arrangement,
      values: values.subarray(start, start + rowLength),
      before: row > 0 ? values.subarray(start - rowLength, start) : undefined,
      draw,
    });
  }
  return values;
}

/** Significant bits of repeated values: sums of thousands of them are exact, so that a serial sum has no drift. */
const REPEATED_BITS = 4;

/** One of the row's values, with few significant bits if it is a float. */
function drawnValue({ values, draw, isFloat }: Row, i: number): number {
  const value = values[Math.floor(draw(i) * values.length)]!;
  if (!isFloat || value === 0 || !Number.isFinite(value)) return value;
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(value))) - REPEATED_BITS + 1);
  const short = Math.trunc(value / unit) * unit;
  return values.some((other) => Math.abs(other) <= Math.abs(short)) ? short : value;
}
