import type { ProblemFile } from '../../../../core/problem.ts';
import type { Freedom } from '../freedom.ts';
import { inputsThat, type Treated, type Treatment } from './treatment.ts';

const matrices = (problem: ProblemFile, { isFree, longestRepeated }: Freedom): string[] =>
  inputsThat(problem, (name) => isFree(name) && longestRepeated(name) > 0 && problem.inputs[name]!.shape.length > 1);

/**
 * Matrices with a structure that a few of their elements, or their sums, show in vain: zeros but for some diagonals, on one side or on both;
 * symmetric but for one element in 64; every second element of a row as large as the one before it, and of the other sign; the first row and
 * column zeros; ones on the diagonal and zeros beside it, but for one value.
 */
const BANDS = ['upper', 'both', 'symmetric', 'balanced', 'border', 'unit'] as const;

/** Diagonals beside the main one, and every so many elements of a symmetric matrix that are not. */
const BAND = { widest: 3, asymmetric: 64, besideUnit: 1 } as const;

function band(values: Float64Array, { problem, buffer, stream, index, freedom }: Treated): Float64Array {
  if (!matrices(problem, freedom).includes(buffer.name)) return values;
  const kind = BANDS[index]!;
  const [columns, rows] = [buffer.shape.at(-1)!, buffer.shape.at(-2)!];
  const isSparse = kind === 'upper' || kind === 'both' || kind === 'unit';
  if (isSparse && columns > freedom.longestRepeated(buffer.name)) return values;
  const lots = Array.from({ length: BAND.besideUnit }, (_, lot) => stream.bits(1 + lot) % values.length);
  const beside = new Set(kind === 'unit' ? lots : []);
  const width = 1 + (stream.bits(0) % BAND.widest);
  for (let i = 0; i < values.length; i++) {
    const [row, column] = [Math.floor(i / columns) % rows, i % columns];
    const across = i - row * columns - column + column * columns + row;
    const isMirrored = row > column && column < rows && row < columns && stream.bits(1 + i) % BAND.asymmetric !== 0;
    if (kind === 'symmetric') values[i] = isMirrored ? values[across]! : values[i]!;
    else if (kind === 'balanced') values[i] = column % 2 === 0 ? values[i]! : -values[i - 1]!;
    else if (kind === 'unit') values[i] = row === column ? 1 : beside.has(i) ? values[i]! : 0;
    else if (kind === 'border') values[i] = row === 0 || column === 0 ? 0 : values[i]!;
    else if (column - row > width || column - row < (kind === 'both' ? -width : 0)) values[i] = 0;
  }
  return values;
}

export const bands: Treatment = {
  count: (problem, freedom) => (matrices(problem, freedom).length > 0 ? BANDS.length : 0),
  treat: band,
  needs: () => 'square',
};
