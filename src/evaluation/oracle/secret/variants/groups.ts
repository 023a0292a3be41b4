import { isFloating } from '../../../../core/dtype.ts';
import type { Freedom } from '../freedom.ts';
import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

/**
 * Neighbours that are equal, as in a picture that was made larger; a row that repeats its beginning; one value everywhere, but for pairs that lie as
 * far above and below it; a sorted row in which one element in 64 is another; one value up to some place; zeros but for such pairs; the second half is the first
 * one backwards, with the first element or without it, as in a spectrum.
 */
const GROUPED = ['neighbours', 'period', 'pairs', 'rising', 'prefix', 'quiet', 'mirrored'] as const;

/**
 * Sizes of groups, and of periods, in powers of two, each for a stretch; of so many elements two are a pair, in long rows of more, so that few
 * samples meet one, and of a tile the first ones are not.
 */
const GROUPS = {
  ...{ neighbours: 5, period: 8, stretch: 512, risen: 64 },
  ...{ paired: 512, pairs: 8, tile: 64, alike: 8 },
} as const;

const repeating = (name: string, { isFree, longestRepeated }: Freedom): boolean =>
  isFree(name) && longestRepeated(name) > 0;

function group(values: Float64Array, { buffer, stream, index, freedom }: Treated): Float64Array {
  const columns = columnsOf(buffer);
  if (!repeating(buffer.name, freedom) || columns > freedom.longestRepeated(buffer.name)) return values;
  const kind = GROUPED[index]!;
  if (kind === 'rising' && !freedom.sorts(buffer.name)) return values;
  for (let start = 0; start < values.length; start += columns)
    GROUPINGS[kind](values.subarray(start, start + columns), (place) => stream.bits(1 + start + place));
  return values;
}

type Grouping = (row: Float64Array, bits: (place: number) => number) => void;

/** A power of two for each stretch of a row. */
const sizeAt = (place: number, bits: (place: number) => number, most: number): number =>
  2 ** (1 + (bits(place - (place % GROUPS.stretch)) % most));

/** One value everywhere, but for pairs that lie as far above and below it. */
function pairsBeside(middle: number, row: Float64Array, bits: (place: number) => number): void {
  const [low, high] = [row.reduce((a, b) => Math.min(a, b)), row.reduce((a, b) => Math.max(a, b))];
  const step = Math.min(1, high - middle, middle - low);
  row.fill(middle);
  const distance = Math.max(GROUPS.paired, Math.floor(row.length / GROUPS.pairs));
  // Of long rows, not at the beginning, where kernels look.
  const start = distance > GROUPS.paired ? Math.floor(distance / 2) : 0;
  for (let from = start; from + GROUPS.tile <= row.length; from += distance) {
    const place = from + GROUPS.alike + (bits(from) % (GROUPS.tile - 2 * GROUPS.alike));
    row[place]! += step;
    row[place + GROUPS.alike / 2]! -= step;
  }
}

const GROUPINGS: Readonly<Record<(typeof GROUPED)[number], Grouping>> = {
  neighbours: (row, bits) => {
    for (let i = 0; i < row.length; i++) row[i] = row[i - (i % sizeAt(i, bits, GROUPS.neighbours))]!;
  },
  period: (row, bits) => {
    for (let i = 0; i < row.length; i++) {
      const [within, size] = [i % GROUPS.stretch, sizeAt(i, bits, GROUPS.period)];
      if (within >= size) row[i] = row[i - size]!;
    }
  },
  prefix: (row, bits) => {
    const end = Math.floor((row.length * (1 + (bits(0) % 3))) / 4);
    row.fill(row[bits(1) % row.length]!, 0, end);
  },
  pairs: (row, bits) => pairsBeside(row[bits(0) % row.length]!, row, bits),
  quiet: (row, bits) => pairsBeside(row.some((value) => value < 0) ? 0 : row[0]!, row, bits),
  mirrored: (row, bits) => {
    const first = bits(0) % 2;
    for (let i = 1; i + i <= row.length; i++) row[row.length - i] = row[i - 1 + first]!;
  },
  rising: (row, bits) => {
    row.sort();
    const sorted = row.slice();
    for (let i = 1; i + 1 < row.length; i++)
      if (bits(2 * i) % GROUPS.risen === 0) row[i] = sorted[bits(2 * i + 1) % row.length]!;
  },
};

export const groups: Treatment = {
  count: (problem, freedom) =>
    inputsThat(problem, (name) => repeating(name, freedom)).length > 0 ? GROUPED.length : 0,
  treat: group,
  // Where samples are a small share of a row, they miss a few values of whole numbers that are alike.
  isForLongRows: (index, problem) =>
    GROUPED[index] === 'pairs' && Object.values(problem.inputs).some(({ dtype }) => !isFloating(dtype)),
};
