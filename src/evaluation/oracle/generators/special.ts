import type { DType } from '../../../core/dtype.ts';
import type { Generator } from '../../../core/problem.ts';
import type { SpecialValue } from '../../../core/vocabulary.ts';
import type { RandomStream } from '../../../stats/random.ts';
import { smallestNormal, ulpAt } from '../ulp.ts';
import type { GeneratorContext } from './generator.ts';

const VALUES = {
  '-infinity': () => Number.NEGATIVE_INFINITY,
  infinity: () => Number.POSITIVE_INFINITY,
  nan: () => Number.NaN,
  zero: (_dtype: DType, _uniform: number, sign: number) => sign * 0,
  subnormal: (dtype: DType, uniform: number, sign: number) => {
    const smallest = ulpAt(0, dtype);
    return sign * smallest * (1 + Math.floor(uniform * (smallestNormal(dtype) / smallest - 1)));
  },
} as const;

/** An infinity, NaN or zero, or the smallest subnormal. */
export const specialValue = (value: SpecialValue, dtype: DType): number => VALUES[value](dtype, 0, 1);

const DEFAULT_RATIO = 0.1;

/** How many rows have special values side by side at one end: masks and padding come so, and fill whole tiles. */
const RUN_RATIO = 0.4;

/** Every second one of such rows has whole tiles of them between other values: masks of blocks come so. */
const ROWS_OF_TILES = { least: 4096, fewestTiles: 4, smallest: 64, apart: 2 ** 31 } as const;

/**
 * Another generator's values, in place, a share of them replaced by special ones: at random places, and in two of five rows
 * (last axis) from the first element on or up to the last, for half of a row on average; in every second long row, whole tiles in between. In every row of two and more elements at
 * least one stays, unless all are to be replaced: a row of masked logits alone has no right answer.
 */
export function special(
  values: Float64Array,
  { value, ratio = DEFAULT_RATIO }: Extract<Generator, { kind: 'special' }>,
  { dtype, shape, stream, elementCount, sharedStream, input }: GeneratorContext,
): Float64Array {
  const places = sharedStream(`special places of ${input}`);
  const rowLength = shape.at(-1) ?? 1;
  const isInRun = runsIn(rowLength, sharedStream(`special runs of ${input}`));
  for (let i = 0; i < elementCount; i++) {
    const isKept =
      ratio < 1 && i % rowLength === Math.floor(places.uniform(elementCount + i - (i % rowLength)) * rowLength);
    if (isKept || (places.uniform(i) >= ratio && !isInRun(i))) continue;
    values[i] = VALUES[value](dtype, stream.uniform(i), places.bits(2 * elementCount + i) % 2 === 0 ? 1 : -1);
  }
  return values;
}

/** Whether an element is in the run at the begin or the end of its row. */
function runsIn(rowLength: number, runs: RandomStream): (i: number) => boolean {
  let current = -1;
  let [from, to] = [0, 0];
  return (i) => {
    const row = Math.floor(i / rowLength);
    if (row !== current) {
      current = row;
      if (rowLength >= ROWS_OF_TILES.least && row % 2 === 0) {
        [from, to] = tilesIn(rowLength, (place) => runs.bits(ROWS_OF_TILES.apart + 3 * row + place));
        return i % rowLength >= from && i % rowLength < to;
      }
      const length = runs.uniform(3 * row) < RUN_RATIO ? Math.floor(runs.uniform(3 * row + 1) * rowLength) : 0;
      [from, to] = runs.uniform(3 * row + 2) < 0.5 ? [0, length] : [rowLength - length, rowLength];
    }
    const place = i % rowLength;
    return place >= from && place < to;
  };
}

/** Some whole tiles of a power of two, neither the first nor the last ones. */
function tilesIn(rowLength: number, bits: (place: number) => number): [from: number, to: number] {
  const sizes = Math.floor(Math.log2(rowLength / ROWS_OF_TILES.fewestTiles / ROWS_OF_TILES.smallest)) + 1;
  const tile = ROWS_OF_TILES.smallest * 2 ** (bits(0) % sizes);
  const between = Math.floor(rowLength / tile) - 2;
  const first = 1 + (bits(1) % between);
  return [first * tile, (first + 1 + (bits(2) % (between + 1 - first))) * tile];
}
