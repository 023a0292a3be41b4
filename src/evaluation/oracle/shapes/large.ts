import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import { completeDimensions } from '../../../core/plan/dimensions.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import { distinctValues, isSame, roundUp } from '../../../core/values.ts';
import { below, belowInOrder, createStream, type Draw as DrawNumber, inOrder, shuffle } from '../../../stats/random.ts';
import { NORMAL } from '../generators/generator.ts';
import { followsLongSums, LONG_CALIBRATED_SUM, summedOver } from '../judgeable-sums.ts';
import { isExact } from '../secret/scaling.ts';
import { type Cost, elementsOf, isWithin, largestBuffer } from './cost.ts';
import { ALIGNMENTS, openNames } from './drawing.ts';
import { listedByLot } from './listed-by-lot.ts';
import { sizeBetween } from './sizes.ts';

/** What shapes are drawn from that are as large as users' own. */
export interface LargeDraw {
  readonly problem: ProblemFile;
  /** The main workload's. */
  readonly timed: Dimensions;
  /** Whether the kernel takes a shape, its sums can be judged, and it is run in some seconds. */
  readonly isFit: (dimensions: Dimensions) => boolean;
  readonly seed: number;
}

/**
 * Largest shape, and all of them together: some ten seconds of a CPU that runs the kernel, too. Above 2²⁴ elements counters in fp32 and
 * grids of 1,024 × 1,024 threads end, and persistent CTAs have several rounds.
 */
const MOST: Cost = { flop: 1e9, elements: 2 ** 25.5 };
const MOST_TOGETHER: Cost = { flop: 2e9, elements: 2 ** 26.5 };

/** How large shapes are drawn. */
interface Draw {
  /** Which dimensions may be the long one; `rows`: those that are not summed over and that some input has, too. */
  readonly along: 'all' | 'rows';
  /** What that one exceeds. */
  readonly longest: number;
  /** What becomes of a size that fp32 may not hold. */
  readonly ending: (size: number, next: DrawNumber) => number;
  readonly least: number;
  readonly smaller: readonly number[];
  readonly spread: number;
  readonly mostBeside: number;
  /** How often the second dimension is one or two. */
  readonly thinRatio: number;
  readonly others: { readonly least: number; readonly spread: number };
  readonly shapes: number;
  readonly tries: number;
  readonly most: Cost;
}

/**
 * The largest buffer has more than 2²⁴ elements, by so much that it shows if the rest is left out, or fewer where that is too dear and there is no other dimension; most of them along one dimension.
 * Unless that is summed over, another one is up to 4,096, and in a third of the draws one or two, so that there are more than 65,536 tiles of 64 along the first; all others are up to three.
 */
const LARGE: Draw = {
  along: 'all',
  longest: 0,
  ending: wholeTilesAndLittle,
  least: 2 ** 24,
  smaller: [1, 1 / 2, 1 / 4, 1 / 8],
  spread: 3 / 4,
  mostBeside: 4096,
  thinRatio: 1 / 3,
  others: { least: 1, spread: 3 },
  shapes: 2,
  tries: 8,
  most: MOST,
};

/**
 * More than 65,536 tiles of 64 along a dimension that inputs and results share, and one or two of all others. Half as many elements, since a tile takes as many threads there as elsewhere; such shapes are also
 * among {@link LARGE} ones, where they can be run.
 */
const THIN: Draw = {
  ...LARGE,
  along: 'rows',
  ...{ longest: 64 * 2 ** 16, least: 2 ** 23, spread: 1 / 4, thinRatio: 1, others: { least: 1, spread: 2 }, shapes: 1 },
};

/**
 * Of these a virtual GPU runs a few CTAs, so that only the host's work limits their size: some hundred megabytes. One dimension alone exceeds 2²⁴, and none
 * is 1, because what is multiplied with 0 shows no mistake.
 */
const SAMPLED: Draw = {
  ...LARGE,
  ending: roundedDown,
  ...{ least: 2 ** 25, smaller: [1], spread: 1 / 8, mostBeside: 2, others: { least: 2, spread: 1 } },
  shapes: Number.POSITIVE_INFINITY,
  most: { flop: 1e9, elements: 2 ** 26.5 },
};

/** Shapes as large as users' own. */
export interface LargeShapes {
  readonly drawn: Dimensions[];
  /** Of these one dimension alone is large, and has more than 65,536 tiles of 64; none where a problem has no such dimension, or the kernel does not take it. */
  readonly thin: Dimensions[];
  readonly workloads: Dimensions[];
}

/**
 * Those that are still verified: two that the seed draws, and the problem's other workloads, as many as fit, by lot; and a thin one.
 */
export function largeShapes(draw: LargeDraw): LargeShapes {
  const { problem, timed, isFit, seed } = draw;
  const workloads = problem.workloads.map(({ dimensions }) => completeDimensions(problem.dimensions, dimensions));
  const others = distinctValues(workloads).filter((shape) => !isSame(shape, timed));
  const inLot = shuffle(others, belowInOrder(createStream(seed, 'order of workloads')));
  let left = MOST_TOGETHER;
  const fits = (shape: Dimensions): boolean => {
    if (!isWithin(MOST, problem, shape) || !isWithin(left, problem, shape)) return false;
    if (!hasUsualSums(problem, shape) || !isFit(shape)) return false;
    left = {
      flop: left.flop - evaluateExpression(problem.flop, shape),
      elements: left.elements - elementsOf(problem, shape),
    };
    return true;
  };
  const thin = drawLarge({ ...draw, seed: createStream(seed, 'thin shapes').bits(0) }, THIN);
  return { drawn: drawLarge(draw, LARGE).filter(fits), thin, workloads: inLot.filter(fits) };
}

/** Shapes of which a sample of CTAs is run, one for each dimension, at secret sizes. `isFit` need not ask what a run of all would take. */
export const drawShapesToSample = (draw: LargeDraw): Dimensions[] =>
  drawLarge({ ...draw, seed: createStream(draw.seed, 'shapes to sample').bits(0) }, SAMPLED);

/** Whole numbers of so many bits are exact in fp32. */
const FP32_BITS = 24;

/** Tiles of most kernels divide it. */
const USUAL_TILES = 15 * 2 ** 12;

/** The next size that is whole tiles and so little more that fp32 rounds it down to them: a number of tiles that is worked out in fp32 is one too small there. */
function wholeTilesAndLittle(size: number, next: DrawNumber): number {
  if (size < 2 ** FP32_BITS) return size;
  const tiles = roundUp(size, USUAL_TILES);
  const spacing = 2 ** (Math.floor(Math.log2(tiles)) + 1 - FP32_BITS);
  return tiles + 1 + below(next, spacing / 2);
}

/** The next size that fp32 rounds down, where it does not hold all: what counts in fp32 loses the last elements. */
function roundedDown(size: number): number {
  if (size < 2 ** FP32_BITS) return size;
  let next = size;
  while (Math.fround(next) >= next) next++;
  return next;
}

/** A second dimension is one or two: powers of this with exponents below 1, rounded down. */
const THIN_SPREAD = 3;

const isOfInputs = ({ inputs }: ProblemFile, dimension: string): boolean =>
  Object.values(inputs).some(({ shape }) => shape.includes(dimension));

/** One with most of its elements along one dimension for each of two: the summed one and another by lot; none where that is too dear. */
function drawLarge({ problem, timed, isFit, seed }: LargeDraw, how: Draw): Dimensions[] {
  const next = inOrder(createStream(seed, 'large shapes'));
  const sizes = openNames(problem);
  const summed = summedOver(problem);
  const inTurn = shuffle(sizes, (bound) => below(next, bound)).sort(
    (a, b) => Number(summed.includes(b)) - Number(summed.includes(a)),
  );
  const draw = (first: string, alignment: number, least: number): Dimensions | undefined => {
    const aligned = (size: number): number => roundUp(size, alignment);
    const second = inTurn.filter((name) => name !== first)[Math.floor(next() * (inTurn.length - 1))];
    const listed = listedByLot({ problem, timed, takes: isFit, next });
    const small = Object.entries(problem.dimensions).map(([name, { values, minimum = 1 }]) => [
      name,
      values ? listed[name]! : aligned(Math.max(minimum, how.others.least + Math.floor(how.others.spread * next()))),
    ]);
    const isLong = summed.includes(first);
    const mostBeside = next() < how.thinRatio ? THIN_SPREAD : how.mostBeside;
    const beside = second &&
      !isLong && { [second]: aligned(Math.max(how.others.least, Math.floor(mostBeside ** next()))) };
    const shape: Dimensions = { ...Object.fromEntries(small), ...beside };
    const wanted = least * (1 + how.spread * next());
    for (let size = alignment; size <= wanted; size *= 2) {
      const most = largestBuffer(problem, { ...shape, [first]: 2 * size })?.elements ?? 0;
      if (most < wanted) continue;
      const large = aligned(Math.ceil(((2 * size) / most) * wanted));
      return { ...shape, [first]: alignment === 1 ? how.ending(large, next) : large };
    }
    return undefined;
  };
  const found: Dimensions[] = [];
  for (const first of inTurn) {
    if (found.length === how.shapes) break;
    if (how.along === 'rows' && (summed.includes(first) || !isOfInputs(problem, first))) continue;
    const tries = (sizes.length === 1 ? how.smaller : [1]).flatMap((share) =>
      ALIGNMENTS.flatMap((alignment) => Array.from({ length: how.tries }, () => ({ alignment, share }))),
    );
    for (const { alignment, share } of tries) {
      const shape = draw(first, alignment, share * how.least);
      if (
        !shape ||
        shape[first]! <= how.longest ||
        !isWithin(how.most, problem, shape) ||
        !hasUsualSums(problem, shape) ||
        !isFit(shape)
      )
        continue;
      found.push(shape);
      break;
    }
  }
  return found;
}

/** Sides of a matrix, at least, and by how much of it more at most: 256 tiles of 16 end there in both. */
const LONG_SIDES = { least: 4096, spread: 1 / 16, others: [2, 3] } as const;

/**
 * Where results are a matrix: both of its sides long. Shapes above are long in one direction, and what mixes tile numbers of both, as an order of tiles along a curve does, is wrong only where
 * both have many bits. At most one shape.
 */
export function longSides({ problem, timed, isFit, seed }: LargeDraw): Dimensions[] {
  const summed = summedOver(problem);
  const [rows, columns, ...further] = openNames(problem).filter((name) => !summed.includes(name));
  if (rows === undefined || columns === undefined || further.length > 0) return [];
  const next = inOrder(createStream(seed, 'long sides'));
  const side = (): number => LONG_SIDES.least + 1 + below(next, LONG_SIDES.least * LONG_SIDES.spread);
  const others = Object.entries(problem.dimensions).map(([name, { values, minimum = 1 }]) => [
    name,
    values ? timed[name]! : Math.max(minimum, LONG_SIDES.others[below(next, 2)]!),
  ]);
  const shape: Dimensions = { ...Object.fromEntries(others), [rows]: side(), [columns]: side() };
  if (largestBuffer(problem, shape)?.elements !== shape[rows]! * shape[columns]!) return [];
  const aligned = ALIGNMENTS.map((alignment) =>
    Object.fromEntries(
      Object.entries(shape).map(([name, size]) => [
        name,
        problem.dimensions[name]!.values ? size : roundUp(size, alignment),
      ]),
    ),
  );
  return aligned.filter((found) => isWithin(MOST, problem, found) && isFit(found)).slice(0, 1);
}

/** Elements of a vector, as many as the host has memory for, and by how much of it more at most: the first is beyond 2²⁷, the second beyond 2²⁶. */
const LONGEST = { elements: [2 ** 27, 2 ** 26.05], spread: 1 / 32 } as const;

/**
 * Where a problem is one long vector, as of a scan or a histogram: longer than {@link LARGE}, because what merges parts of a vector often has room for 1,024 of them, each of 65,536 elements, and
 * 16 bits count what a warp meets of a value. The other dimensions are the timed ones, then as small as can be, so that all elements are alike. None where sums of this length can't be judged, or the
 * kernel doesn't take them.
 */
export function longestShapes({ problem, timed, isFit, seed }: LargeDraw): Dimensions[] {
  const long = onlySummed(problem);
  if (long === undefined || !followsLongSums(problem) || !isVector(problem, timed, long)) return [];
  const next = inOrder(createStream(seed, 'longest shapes'));
  const least = Object.entries(timed).map(([name, value]) => [name, problem.dimensions[name]?.minimum ?? value]);
  const others = distinctValues<Dimensions>(
    [timed, Object.fromEntries(least)].map((shape) => ({ ...shape, [long]: 0 })),
  );
  const longer = (shape: Dimensions): Dimensions[] =>
    LONGEST.elements.map((elements) => {
      const size = roundedDown(Math.ceil(elements * (1 + LONGEST.spread * next())));
      return { ...shape, [long]: size };
    });
  return others.flatMap((shape) => longer(shape).filter(isFit).slice(0, 1));
}

/**
 * So many lengths of one long sum, of every order of magnitude alike. Where a place is worked out in fp32, the end of the vector is lost at one length in
 * twenty, and a few elements of millions are within the tolerance of drawn values.
 */
const LONG_SUMS = { shapes: 40, least: 2 ** 18, most: 2 ** 21 } as const;

/** Where a problem is one long vector of which one inexact sum is taken: lengths at which its end is looked for, with inputs that are zeros but for it and a few others. */
export function longSums({ problem, timed, isFit, seed }: LargeDraw): Dimensions[] {
  const long = onlySummed(problem);
  if (long === undefined || !followsLongSums(problem) || isExact(problem)) return [];
  if (!isVector(problem, timed, long)) return [];
  const next = inOrder(createStream(seed, 'long sums'));
  const { shapes, least, most } = LONG_SUMS;
  return Array.from({ length: shapes }, () => ({ ...timed, [long]: sizeBetween(least, most, next) })).filter(isFit);
}

/** Elements of a row, at least, and by how much of it more at most; and how many rows. */
const LONG_ROW = { elements: 2 ** 17, spread: 1, rows: 2 } as const;

/**
 * Where rows are summed and only the result is rounded to few bits: a row longer than {@link canJudgeSums} lets shapes with inputs of every kind have. As drawn, its terms are of both signs, so that
 * honest sums in fp32 stay far within the tolerance; merges of 32 parts of 4,096 elements end there.
 */
export function longRow({ problem, timed, isFit, seed }: LargeDraw): Dimensions[] {
  const long = onlySummed(problem);
  if (long === undefined || !isSummedInRows(problem)) return [];
  const next = inOrder(createStream(seed, 'long row'));
  const size = Math.ceil(LONG_ROW.elements * (1 + LONG_ROW.spread * next()));
  const small = Object.entries(problem.dimensions).map(([name, { values, minimum = 1 }]) => [
    name,
    values ? timed[name]! : Math.max(minimum, LONG_ROW.rows),
  ]);
  return [{ ...Object.fromEntries(small), [long]: size }].filter(isFit);
}

/** Whether a shape is no larger than such a row, and its sums are longer than those of other shapes may be. */
export function isJudgedLongRow(problem: ProblemFile, shape: Dimensions): boolean {
  const long = onlySummed(problem);
  if (long === undefined || !isSummedInRows(problem)) return false;
  return shape[long]! > LONG_CALIBRATED_SUM && shape[long]! <= LONG_ROW.elements * (1 + LONG_ROW.spread);
}

/** The only dimension that is summed over, as far as the problem says. */
function onlySummed(problem: ProblemFile): string | undefined {
  const [long, ...further] = summedOver(problem);
  return further.length === 0 ? long : undefined;
}

/** Whether the reduced axis is the last one of an input of continuous values of both signs, and results are calibrated. */
function isSummedInRows(problem: ProblemFile): boolean {
  const { reducedAxis, inputs, comparison } = problem;
  const input = reducedAxis && inputs[reducedAxis.input];
  if (!input || comparison.kind !== 'calibrated') return false;
  return reducedAxis.axis === input.shape.length - 1 && (input.generator ?? NORMAL).kind === 'normal';
}

/** Whether the largest buffer has as many elements as this dimension says, and no more. */
const isVector = (problem: ProblemFile, timed: Dimensions, long: string): boolean =>
  [3, 5].every(
    (factor) => largestBuffer(problem, { ...timed, [long]: factor * 2 ** 20 })?.elements === factor * 2 ** 20,
  );

/** A running sum of fp32 numbers loses what it adds where there are many millions, which only some tolerances allow for. */
const LONGEST_SUM = 2 ** 13;

/** Whether sums are so short that an honest running one is right, whatever the inputs. */
export const hasUsualSums = (problem: ProblemFile, shape: Dimensions): boolean =>
  followsLongSums(problem) || summedOver(problem).every((name) => shape[name]! <= LONGEST_SUM);
