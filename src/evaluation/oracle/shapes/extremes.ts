import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import { completeDimensions } from '../../../core/plan/dimensions.ts';
import type { DimensionDeclaration, Dimensions, ProblemFile } from '../../../core/problem.ts';
import { roundUp } from '../../../core/values.ts';
import { below, byLot, createStream, type Draw, shuffle } from '../../../stats/random.ts';
import { summedOver } from '../judgeable-sums.ts';
import { type Cost, costsLittle, isWithin } from './cost.ts';
import {
  ALIGNMENTS,
  type Drawing,
  FOLLOWING_RATIO,
  flagsOf,
  followingSize,
  openDimensions,
  PINNED_RATIO,
  type ShapeSource,
  withListed,
} from './drawing.ts';
import { tuplesOf } from './options.ts';
import { logUniform } from './sizes.ts';

/** How many shapes beyond all others, and what each may cost. */
export interface ExtremeDraw {
  /** In how many dimensions, at most. */
  readonly count: number;
  readonly most: Cost;
  /** Whether a shape is cheap to run and its sums can be judged. */
  readonly isFit: (dimensions: Dimensions) => boolean;
  /** The same for shapes in which a dimension has more tiles than 16 bits count; there are none without. */
  readonly isFarFit?: ((dimensions: Dimensions) => boolean) | undefined;
}

/**
 * A large size is one above 65,536 and all others, above those of all workloads where that is cheap, sometimes above 2²⁰: just above in a quarter of the draws, of any
 * order of magnitude up to the cost in the rest. `farthest`: 2¹⁶ tiles of 32. If that is too dear: above a smaller power of two, but more than
 * `leastFactor` times all others.
 */
const LARGE = {
  ...{ above: 2 ** 16, farAbove: 2 ** 20, farRatio: 0.3, farthest: 2 ** 21 },
  ...{ nearRatio: 0.25, nearSpread: 1 / 64, leastFactor: 2, tries: 5 },
} as const;

/** Two large dimensions: from this size down in steps of this factor, each by up to so much larger or smaller. */
const BULKY = { from: 4096, least: 64, step: 2 ** -0.25, spread: 2, tries: 2 } as const;

/** A shape that flags leave so much less to compute than others is drawn again with those. */
const IDLE = 4;

/** What shapes beyond all others are drawn with. */
interface ExtremeDrawing extends Drawing, Omit<ExtremeDraw, 'count' | 'isFarFit'> {}

/**
 * Shapes beyond all others. There counters and indices of 8 or 16 bits overflow, grids end, and fast paths for large sizes
 * begin. The dimensions come in a secret order.
 *
 * @param sizes names of dimensions.
 */
export function drawExtremes(
  drawing: Drawing,
  { count, isFarFit, ...limits }: ExtremeDraw,
  { sizes, others, seed }: { sizes: readonly string[]; others: readonly Dimensions[]; seed: number },
): Dimensions[] {
  const { problem, timed } = drawing;
  const extreme: ExtremeDrawing = { ...drawing, ...limits };
  const stream = createStream(seed, 'dimensions drawn large');
  const inTurn = byLot(sizes, seed, 'dimensions drawn large');
  const found: Dimensions[] = [];
  const add = (shape: Dimensions | undefined): void => {
    if (shape && ![timed, ...others, ...found].some((other) => isSameShape(other, shape))) found.push(shape);
  };
  const addBoth = (shape: Dimensions | undefined): void => {
    add(shape);
    add(shape && busiest(extreme, shape));
  };
  const known = (name: string): number => Math.max(...[...others, ...found, timed].map((shape) => shape[name]!));
  for (const [i, name] of inTurn.entries()) {
    if (i === count) break;
    const isFar = inTurn.length > 1 && stream.uniform(inTurn.length + i) < LARGE.farRatio;
    const shape = drawLarge(extreme, name, { known: known(name), isFar });
    addBoth(shape);
    if (shape && summedOver(problem).includes(name)) {
      addBoth(alone(extreme, name, shape));
      if (isFarFit) for (const other of withEachTwoFlags(extreme, shape)) add(other);
    } else if (shape && isFarFit) add(withOppositeFlags(extreme, shape));
    if (inTurn.length === 1 && known(name) <= LARGE.farAbove)
      add(drawLarge(extreme, name, { known: known(name), isFar: true }));
  }
  const [first, second] = inTurn;
  if (first !== undefined && second !== undefined) addBoth(drawBulky(extreme, [first, second]));
  add(smallestShape(drawing));
  for (const name of isFarFit ? inTurn : [])
    if (known(name) <= LARGE.farthest)
      add(drawLarge({ ...extreme, isFit: isFarFit! }, name, { known: LARGE.farthest, isFar: true }));
  return found;
}

const isSameShape = (a: Dimensions, b: Dimensions): boolean => Object.keys(a).every((name) => a[name] === b[name]);

const isGood = ({ problem, takes, most, isFit }: Omit<ExtremeDrawing, 'next'>, shape: Dimensions): boolean =>
  isWithin(most, problem, shape) && takes(shape) && isFit(shape);

/**
 * The shape with the flags, dimensions of two listed values, with which most is computed: a causal mask leaves one of very many keys to a lone
 * query. `undefined` if the shape's own leave much of it.
 */
function busiest(extreme: ExtremeDrawing, shape: Dimensions): Dimensions | undefined {
  const { problem } = extreme;
  const flopOf = (one: Dimensions): number => evaluateExpression(problem.flop, one);
  return withFlags(problem, shape)
    .filter((one) => flopOf(one) > IDLE * flopOf(shape))
    .toSorted((a, b) => flopOf(b) - flopOf(a))
    .find((one) => isGood(extreme, one));
}

/** Flags of which all combinations are looked at; others keep their values. */
const MOST_FLAGS = 6;

/** The shape with each combination of a problem's flags. */
const withFlags = (problem: ProblemFile, shape: Dimensions): Dimensions[] =>
  withListed(problem, flagsOf(problem).slice(0, MOST_FLAGS), shape);

/** The shape with as many flags changed as it can be: strides that are too short show in one of two layouts. */
function withOppositeFlags(extreme: ExtremeDrawing, shape: Dimensions): Dimensions | undefined {
  const changed = (one: Dimensions): number =>
    flagsOf(extreme.problem).filter((name) => one[name] !== shape[name]).length;
  return withFlags(extreme.problem, shape)
    .filter((one) => changed(one) > 0)
    .toSorted((a, b) => changed(b) - changed(a))
    .find((one) => isGood(extreme, one));
}

/**
 * The shape with other flags, so that each two of them come together in every way. A distance of 16 bits is too short under a causal mask alone, and for a lone query
 * if the mask is aligned with the last key, too.
 */
function withEachTwoFlags(extreme: ExtremeDrawing, shape: Dimensions): Dimensions[] {
  const names = flagsOf(extreme.problem);
  const pairsOf = (one: Dimensions): string[] =>
    tuplesOf(
      names.map((name) => `${name}=${one[name]}`),
      2,
    );
  const combined = shuffle(withFlags(extreme.problem, shape), (bound) => below(extreme.next, bound));
  const left = combined.filter((one) => isGood(extreme, one));
  const seen = new Set(pairsOf(shape));
  const fresh = (one: Dimensions): number => pairsOf(one).filter((pair) => !seen.has(pair)).length;
  const found: Dimensions[] = [];
  for (;;) {
    const [best] = left.toSorted((a, b) => fresh(b) - fresh(a));
    if (!best || fresh(best) === 0) return found;
    found.push(best);
    for (const pair of pairsOf(best)) seen.add(pair);
  }
}

/** A shape with this dimension above all that are `known`, as large as is cheap; `undefined` if there is none. */
function drawLarge(
  extreme: ExtremeDrawing,
  name: string,
  sought: { readonly known: number; readonly isFar: boolean },
): Dimensions | undefined {
  const { problem, takes, isFit, next, most } = extreme;
  const { maximum = Number.MAX_SAFE_INTEGER } = problem.dimensions[name]!;
  for (const level of levelsAbove(largestWorkload(problem, name), sought)) {
    let largest = Math.min(maximum, most.elements);
    for (const alignment of ALIGNMENTS) {
      for (let attempt = 0; attempt < LARGE.tries && largest > level; attempt++) {
        const above = next() < LARGE.nearRatio ? justAbove(level, next) : logUniform(level + 1, largest, next);
        const size = roundUp(above, alignment);
        if (size > maximum) continue;
        const shape = shapeWith(extreme, { [name]: size }, alignment);
        if (!isWithin(most, problem, shape)) largest = size - 1;
        else if (takes(shape) && isFit(shape)) return shape;
      }
      // Two of everything else may be too dear where one is not.
      const size = roundUp(justAbove(level, next), alignment);
      const cheapest =
        size <= maximum && alone(extreme, name, shapeWith(extreme, { [name]: size }, alignment, 'least'));
      if (cheapest) return cheapest;
    }
  }
  return undefined;
}

const justAbove = (level: number, next: Draw): number => Math.ceil(level * (1 + LARGE.nearSpread * next())) + 1;

/** What a size is to be above: as a workload of the problem first, then the best that is cheap. */
function levelsAbove(wanted: number, { known, isFar }: { readonly known: number; readonly isFar: boolean }): number[] {
  const levels = [
    ...(wanted > Math.max(LARGE.above, known) ? [wanted] : []),
    ...(isFar ? [Math.max(LARGE.farAbove, known)] : []),
    Math.max(LARGE.above, known),
  ];
  for (let level = LARGE.above / 2; level > LARGE.leastFactor * known; level /= 2) levels.push(level);
  if (LARGE.leastFactor * known < LARGE.above) levels.push(LARGE.leastFactor * known);
  return levels;
}

/** The largest size of a dimension in the problem's workloads. */
const largestWorkload = (problem: ProblemFile, name: string): number =>
  Math.max(...problem.workloads.map(({ dimensions }) => completeDimensions(problem.dimensions, dimensions)[name]!));

/** A shape with both of these dimensions large, as far as is cheap; `undefined` if there is none. */
function drawBulky(extreme: ExtremeDrawing, names: readonly string[]): Dimensions | undefined {
  const { problem, next } = extreme;
  for (let about: number = BULKY.from; about > BULKY.least; about *= BULKY.step) {
    for (const alignment of ALIGNMENTS) {
      for (let attempt = 0; attempt < BULKY.tries; attempt++) {
        const sizes = names.map((name) => {
          const { maximum = Number.MAX_SAFE_INTEGER } = problem.dimensions[name]!;
          const size = about * BULKY.spread ** (2 * next() - 1);
          return [name, Math.min(maximum, roundUp(size, alignment))] as const;
        });
        const shape = shapeWith(extreme, Object.fromEntries(sizes), alignment);
        if (isGood(extreme, shape)) return shape;
      }
    }
  }
  return undefined;
}

/** These sizes, and the other dimensions small, or what follows from those before. Of listed values, the least may be wanted where there are more than of a flag. */
function shapeWith(
  { problem, timed, next }: Drawing,
  sizes: Dimensions,
  alignment: number,
  listed: 'drawn' | 'least' = 'drawn',
): Dimensions {
  const listedOf = (values: readonly number[]): number =>
    listed === 'least' && values.length > 2 ? Math.min(...values) : values[below(next, Math.min(2, values.length))]!;
  const smallSize = ({ values, minimum = 1, maximum = Number.MAX_SAFE_INTEGER }: DimensionDeclaration): number =>
    values ? listedOf(values) : Math.min(maximum, roundUp(minimum + below(next, 2), alignment));
  const shape: Record<string, number> = {};
  for (const [other, declared] of Object.entries(problem.dimensions)) {
    const follows = typeof declared.default === 'string' && next() < FOLLOWING_RATIO;
    const isPinned = alignment > 1 && next() < PINNED_RATIO;
    const value = isPinned ? timed[other]! : smallSize(declared);
    shape[other] = sizes[other] ?? ((follows && followingSize(other, declared, shape)) || value);
  }
  return shape;
}

/** Like a shape with one large dimension, but all others at their minimum: one query of very many keys. `undefined` if the kernel does not take it. */
function alone(extreme: ExtremeDrawing, name: string, like: Dimensions): Dimensions | undefined {
  const shape = { ...like };
  for (const [other, declared] of openDimensions(extreme.problem))
    if (other !== name) shape[other] = followingSize(other, declared, shape) ?? declared.minimum ?? 1;
  return isGood(extreme, shape) ? shape : undefined;
}

/** Each size at its minimum or the least multiple of a usual tile; what the problem lists as in the timed shape. */
function smallestShape({ problem, timed, takes }: ShapeSource): Dimensions | undefined {
  const sizes = openDimensions(problem);
  const least = ({ minimum = 1 }: DimensionDeclaration, alignment: number): number =>
    roundUp(Math.max(1, minimum), alignment);
  const at = (alignment: number): Dimensions => ({
    ...timed,
    ...Object.fromEntries(sizes.map(([name, declared]) => [name, least(declared, alignment)])),
  });
  const isTaken = (shape: Dimensions): boolean => costsLittle(problem, shape) && takes(shape);
  let smallest = ALIGNMENTS.map(at).find(isTaken);
  if (!smallest) return undefined;
  for (const [name, declared] of sizes) {
    for (const alignment of ALIGNMENTS) {
      const smaller: Dimensions = { ...smallest, [name]: least(declared, alignment) };
      if (smaller[name]! >= smallest[name]!) break;
      if (isTaken(smaller)) smallest = smaller;
    }
  }
  return smallest;
}

/**
 * For each dimension the largest size, in powers of two above 65,536, that the kernel takes beside the smallest others and that costs no more.
 * Drawn shapes reach up to there.
 */
export function largestShapes(source: ShapeSource, most: Cost): Dimensions[] {
  const { problem, takes } = source;
  const smallest = smallestShape(source);
  if (!smallest) return [];
  return openDimensions(problem).flatMap(([name, { maximum = most.elements }]) => {
    for (let size = 2 ** Math.floor(Math.log2(Math.min(maximum, most.elements))); size > LARGE.above; size /= 2) {
      const shape = { ...smallest, [name]: size };
      if (isWithin(most, problem, shape) && takes(shape)) return [shape];
    }
    return [];
  });
}
