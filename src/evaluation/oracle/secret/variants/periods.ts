import type { ProblemFile } from '../../../../core/problem.ts';
import { below, type Draw, inOrder } from '../../../../stats/random.ts';
import { summedOver } from '../../judgeable-sums.ts';
import { type Freedom, freedomOf } from '../freedom.ts';
import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

/**
 * A block again and again, each copy like the first one or its opposite: along rows a block of a few values, which often is a few words in turn, forth and back; from row to row a block of drawn
 * rows. So a thread's own values may add up to nothing, and what some places of a vector hold is what a run of one value would hold there.
 */
const PERIODIC = { 'along rows': takesFew, 'from row to row': takesCopies } as const;
type Periodic = keyof typeof PERIODIC;

/** Sizes of blocks: those of most vectors, warps and tiles come more often. */
const PERIODS = [1, 2, 4, 8, 16, 32, 64, 4, 8, 16, 16, 32, 3, 6, 12, 24, 48] as const;

/** Each stretch of a row, and each stretch of columns, has a period of its own; values of a block, different words, how many of them a block consists of, and how often its copies turn. */
const BLOCKS = { stretch: 512, columns: 16, values: [2, 4], words: 2, places: [2, 4], turnedRatio: 1 / 4 } as const;

/** Rows that may hold few values. */
function takesFew(_: ProblemFile, name: string, { isFree, longestRepeated }: Freedom): boolean {
  return isFree(name) && longestRepeated(name) > 0;
}

/** Rows that may be like others: where they are not summed over, or terms may be the same. */
function takesCopies(problem: ProblemFile, name: string, { isFree, longestRepeated }: Freedom): boolean {
  const { shape } = problem.inputs[name]!;
  const isSummed = summedOver(problem).includes(String(shape.at(-2)));
  return isFree(name) && shape.length > 1 && (!isSummed || longestRepeated(name) > 0);
}

/** The kinds that change some input of a problem. */
const kindsOf = (problem: ProblemFile, freedom: Freedom): Periodic[] =>
  (Object.keys(PERIODIC) as Periodic[]).filter(
    (kind) => inputsThat(problem, (name) => PERIODIC[kind](problem, name, freedom)).length > 0,
  );

const kindAt = (problem: ProblemFile, index: number): Periodic | undefined =>
  kindsOf(problem, freedomOf(problem))[index];

function repeat(values: Float64Array, request: Treated): Float64Array {
  const { problem, buffer, stream, index, freedom } = request;
  const columns = columnsOf(buffer);
  const draw = inOrder(stream);
  const hasSign = values.some((value) => value < 0);
  const kind = kindsOf(problem, freedom)[index]!;
  if (!PERIODIC[kind](problem, buffer.name, freedom)) return values;
  if (kind === 'along rows') {
    const fits = columns <= freedom.longestRepeated(buffer.name);
    for (let start = 0; fits && start < values.length; start += columns)
      for (let at = 0; at < columns; at += BLOCKS.stretch)
        fillWithBlock(values.subarray(start + at, start + Math.min(columns, at + BLOCKS.stretch)), draw, hasSign);
  } else {
    const rows = buffer.shape.at(-2)!;
    for (let start = 0; start < values.length; start += rows * columns)
      for (let first = 0; first < columns; first += BLOCKS.columns) {
        const slice = values.subarray(start, start + rows * columns);
        copyRows(slice, { columns, first, end: Math.min(columns, first + BLOCKS.columns) }, draw, hasSign);
      }
  }
  return values;
}

/** Whether a number has an odd number of bits (the Thue–Morse sequence): of copies that lie any power of two apart, every second one is the opposite of the other. */
function isOdd(number: number): boolean {
  let parity = false;
  for (let left = number; left > 0; left &= left - 1) parity = !parity;
  return parity;
}

const periodOf = (draw: Draw): number => PERIODS[below(draw, PERIODS.length)]!;

/** Few values, and of each its opposite: the negative one, or, where there are none, the one at the other end of the list. */
function fillWithBlock(stretch: Float64Array, draw: Draw, hasSign: boolean): void {
  const [fewest, most] = BLOCKS.values;
  const pool = Array.from(
    { length: fewest + below(draw, most - fewest + 1) },
    () => stretch[below(draw, stretch.length)]!,
  );
  const opposites = hasSign ? pool.map((value) => -value) : pool.toReversed();
  const block = drawBlock(periodOf(draw), pool.length, draw);
  const isTurned = draw() < BLOCKS.turnedRatio;
  for (let i = 0; i < stretch.length; i++) {
    const isOpposite = isTurned && isOdd(Math.floor(i / block.length));
    stretch[i] = (isOpposite ? opposites : pool)[block[i % block.length]!]!;
  }
}

/** Places in a list of so many values: words in turn, some of which hold one value only. In half of the blocks the second half is the first one backwards, word by word. */
function drawBlock(period: number, values: number, draw: Draw): number[] {
  const lengths = [1, ...BLOCKS.places.filter((places) => period % places === 0).map((places) => period / places)];
  const length = lengths[below(draw, lengths.length)]!;
  const words = Array.from({ length: BLOCKS.words }, () => {
    const [isPlain, one] = [draw() < 0.5, below(draw, values)];
    return Array.from({ length }, () => (isPlain ? one : below(draw, values)));
  });
  const order = Array.from({ length: period / length }, () => below(draw, words.length));
  const isMirrored = draw() < 0.5;
  return order.flatMap((_, i) => words[isMirrored ? order[Math.min(i, order.length - 1 - i)]! : order[i]!]!);
}

interface Columns {
  readonly columns: number;
  readonly first: number;
  readonly end: number;
}

/** In these columns, every row is like the one at its place in the first block, or its negative one. */
function copyRows(slice: Float64Array, { columns, first, end }: Columns, draw: Draw, hasSign: boolean): void {
  const period = periodOf(draw);
  const isTurned = hasSign && draw() < NEGATIVE_RATIO;
  for (let row = period; row * columns < slice.length; row++) {
    const sign = isTurned && isOdd(Math.floor(row / period)) ? -1 : 1;
    for (let column = first; column < end; column++)
      slice[row * columns + column] = sign * slice[(row % period) * columns + column]!;
  }
}

/** Copies that are negative show more: sums of them are nothing. */
const NEGATIVE_RATIO = 2 / 3;

export const periods: Treatment = {
  count: (problem, freedom) => kindsOf(problem, freedom).length,
  treat: repeat,
  // Shapes of whole tiles: the smaller ones often have few rows.
  needs: (index, problem) => (kindAt(problem, index) === 'from row to row' ? 'square' : undefined),
  // A few thousand stretches have every kind of block. Several bytes are one word, of which one comparison may be made for all.
  isForLongRows: (index, problem) =>
    kindAt(problem, index) === 'along rows' &&
    Object.values(problem.inputs).some(({ dtype }) => dtype === 'u8' || dtype === 'i8'),
};
