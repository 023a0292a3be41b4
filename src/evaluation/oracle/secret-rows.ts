import type { Scaling } from '../../core/problem.ts';
import type { RandomStream } from '../../stats/random.ts';

export interface Arrangement {
  /** Elements of a row. */
  readonly rowLength: number;
  /** How far a row's values may leave the drawn ones; absent: they stay among them. */
  readonly scaling: Scaling | undefined;
  /** Largest factor of a row's values against the drawn ones. */
  readonly rowContrast: number;
  /** Largest factor between values of one row. */
  readonly contrast: number;
  /** Whether rows may be sorted. */
  readonly sorts: boolean;
  /** Whether values of a row may be the same. */
  readonly repeats: boolean;
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
  const { values, draw, isFloat, repeats } = row;
  if (!repeats || (isFloat && values.length > LONGEST_REPEATED)) return;
  const count = 2 + Math.floor(draw(0) * 3);
  const pool = Array.from({ length: count }, (_, i) => drawnValue(row, 1 + i));
  for (let i = 0; i < values.length; i++) values[i] = pool[Math.floor(draw(8 + i) * count)]!;
};

const constant: Pattern = (row) => {
  if (!row.repeats || (row.isFloat && row.values.length > LONGEST_REPEATED)) return;
  row.values.fill(drawnValue(row, 0));
};

/** As two keys that are the same, or two tokens. */
const asBefore: Pattern = ({ values, before }) => {
  if (before) values.set(before);
};

const zeros: Pattern = ({ values, scaling, rowContrast }) => {
  if (scaling && rowContrast > 1) values.fill(0);
};

/** Larger or smaller than its neighbours, and about another mean. */
const moved: Pattern = ({ values, scaling, rowContrast, draw }) => {
  if (!scaling || rowContrast === 1) return;
  const [least, most] = [Math.max(scaling.least, 1 / rowContrast), Math.min(scaling.most, rowContrast)];
  const factor = 2 ** Math.round(Math.log2(least) + draw(0) * Math.log2(most / least));
  const shift = scaling.offset * (2 * draw(1) - 1);
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

/** Repeated values are multiples of a sixteenth of the row's largest, so that serial sums of a million of them are exact. */
const REPEATED_BITS = 4;

/** Rows from this length on have no repeated values: their rounding errors would add up. */
const LONGEST_REPEATED = 2 ** 18;

/** One of the row's values; rounded if it is a float. */
function drawnValue({ values, draw, isFloat }: Row, i: number): number {
  const value = values[Math.floor(draw(i) * values.length)]!;
  if (!isFloat) return value;
  const largest = values.reduce((most, other) => Math.max(most, Math.abs(other)), 0);
  if (largest === 0 || !Number.isFinite(largest)) return value;
  const unit = 2 ** (Math.floor(Math.log2(largest)) - REPEATED_BITS + 1);
  return (Math.sign(value) || 1) * unit * Math.max(1, Math.floor(Math.abs(value) / unit));
}
