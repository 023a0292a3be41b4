import { isShapeOf } from '../../../core/plan/dimensions.ts';
import type { DimensionDeclaration, Dimensions } from '../../../core/problem.ts';
import { distinctValues, roundUp } from '../../../core/values.ts';
import { below } from '../../../stats/random.ts';
import { type Cost, isWithin } from './cost.ts';
import { ALIGNMENTS, drawingOf, followingSize, openNames, type ShapesAround } from './drawing.ts';
import { relatedParts, relatedSize } from './relations.ts';
import { logUniform } from './sizes.ts';

/** What random small shapes are drawn from. */
export interface RandomSmallDraw extends Omit<ShapesAround, 'most'> {
  /** Whether a CPU runs the launches in milliseconds; always on a GPU. */
  readonly isQuick: (dimensions: Dimensions) => boolean;
  readonly count: number;
}

/** In turn tiny shapes, and such with several tiles in one dimension or two. */
const COSTS: readonly [tiny: Cost, middle: Cost, dear: Cost] = [
  { flop: 2e6, elements: 2e4 },
  { flop: 3e7, elements: 1e5 },
  { flop: 6e7, elements: 4e5 },
];

/** Sizes of every order of magnitude alike. */
interface Bounds {
  readonly least: number;
  readonly most: number;
}

/** Sizes of the dimension that a shape is about, and of others, some of which are large, too. */
const LARGE: Bounds = { least: 8, most: 4000 };
/** The same of most shapes that may cost more: where work grows with the square of a size, few of the others have several tiles in it. */
const SEVERAL_TILES: Bounds = { least: 100, most: 400 };
/** Every so many of them, it is longer: from a size on, persistent CTAs have several rounds, or a path of their own. */
const LONGER: Bounds & { readonly every: number } = { least: 4000, most: 300_000, every: 8 };
/**
 * Every so many of them, it is of any length beside one of two tiles or three: what divides a tile's number by rounded reciprocals errs in the second row of tiles. Where
 * one follows from the other, as keys from queries, some shapes that have fewer tiles otherwise.
 */
const BAND: Bounds & { readonly beside: Bounds; readonly every: number; readonly everyFollowed: number } = {
  ...{ least: 1000, most: 5000, every: 2, everyFollowed: 4 * COSTS.length },
  beside: { least: 33, most: 144 },
};
/** How often each of several others is one of two tiles or three: the tile's number runs over one or the other. */
const BESIDE_BAND_RATIO = 0.7;
const BESIDE: Bounds = { least: 1, most: 12 };
const ALSO_LARGE_RATIO = 0.4;
/** How often it is the least that a dimension of several listed values has there. */
const LEAST_RATIO = 0.6;
/** Independent parts beside them: half of the time few, as shapes with several tiles are cheap only then. */
const FEW_PARTS = { bounds: { least: 1, most: 3 }, ratio: 0.5 } as const;

/**
 * Where a shape is about independent parts, such as heads: how many there are of them, of other parts, and how little there is in each. A place worked out by a rounded
 * reciprocal is another one among some hundreds of parts.
 */
const PARTS = {
  large: { least: 8, most: 600 },
  beside: { least: 1, most: 16 },
  within: { least: 1, most: 3 },
} as const;

/** Most draws for each shape. */
const TRIES = 60;

/**
 * Very many small shapes whose sizes have nothing in common but that they are cheap: no tiles, no aim. A mistake of arithmetic on sizes shows
 * at one shape in some hundred and leaves no condition in the code: a reciprocal that is rounded down for 41 tiles, a loop that ends a key early where a group of six
 * heads ends in a tile.
 */
export function drawRandomSmall(draw: RandomSmallDraw): Dimensions[] {
  const { problem, takes, isQuick, count } = draw;
  const { next } = drawingOf(draw, 'random small shapes');
  const { independentDimensions = [] } = problem;
  // What follows from another is never what a shape is about.
  const open = openNames(problem).filter((name) => typeof problem.dimensions[name]!.default !== 'string');
  const isOfParts = (name: string): boolean => independentDimensions.includes(name);
  // Sizes within a part: of a band one is long, another short, also of queries and the keys that follow from them.
  const within = openNames(problem).filter(
    (name) => !isOfParts(name) && !isOfParts(String(problem.dimensions[name]!.default)),
  );
  const sizeOf = (name: string, declared: DimensionDeclaration, bounds: Bounds, before: Dimensions): number => {
    const { minimum = 1, maximum = LONGER.most } = declared;
    const isOfBand = bounds === BAND || bounds === BAND.beside;
    const leader = isOfBand ? undefined : followingSize(name, declared, before);
    const related = (size: number): number =>
      isOfParts(String(declared.default))
        ? relatedParts(size, [next(), next()])
        : relatedSize(size, [next(), next()], LARGE.least);
    const size = leader === undefined ? logUniform(bounds.least, bounds.most, next) : related(leader);
    return Math.min(Math.max(minimum, size), maximum);
  };
  // The least of many, such as a head dimension, leaves room for more of everything else.
  const listed = (values: readonly number[], isSpare: boolean): number =>
    isSpare && values.length > 2 && next() < LEAST_RATIO ? Math.min(...values) : values[below(next, values.length)]!;
  const boundsOfParts = (name: string, chosen: string): Bounds =>
    name === chosen ? PARTS.large : isOfParts(name) ? PARTS.beside : PARTS.within;
  /** The next dimension is its second one. */
  const bandOf = (chosen: string): string => within[(within.indexOf(chosen) + 1) % within.length]!;
  const isFollowed = (chosen: string): boolean => !open.includes(bandOf(chosen));
  const isBand = (chosen: string, round: number): boolean => {
    if (isOfParts(chosen) || within.length < 2) return false;
    if (isFollowed(chosen)) return round % BAND.everyFollowed === 1;
    return round % COSTS.length === COSTS.length - 1 && Math.floor(round / COSTS.length) % BAND.every === 0;
  };
  /** What a band is about: where its second dimension follows from the first, in half of the shapes that one. */
  const longOfBand = (chosen: string): string => (isFollowed(chosen) && next() < 0.5 ? bandOf(chosen) : chosen);
  const boundsOf = (name: string, chosen: string, of: Bounds): Bounds => {
    if (name === chosen) return of;
    if (isOfParts(name)) return next() < FEW_PARTS.ratio ? FEW_PARTS.bounds : BESIDE;
    if (of === BAND && within.includes(name) && (within.length === 2 || next() < BESIDE_BAND_RATIO)) return BAND.beside;
    return next() < ALSO_LARGE_RATIO ? LARGE : BESIDE;
  };
  const sample = (chosen: string, of: Bounds, alignment: number): Dimensions => {
    const shape: Record<string, number> = {};
    for (const [name, declared] of Object.entries(problem.dimensions)) {
      const { values } = declared;
      const bounds = isOfParts(chosen) ? boundsOfParts(name, chosen) : boundsOf(name, chosen, of);
      shape[name] = values
        ? listed(values, of === SEVERAL_TILES)
        : roundUp(sizeOf(name, declared, bounds, shape), alignment);
    }
    return shape;
  };
  const isFit = (shape: Dimensions, cost: Cost): boolean =>
    isShapeOf(problem, shape) && isWithin(cost, problem, shape) && takes(shape) && isQuick(shape);
  const about = (chosen: string, of: Bounds, cost: Cost, alignment: number): Dimensions | undefined => {
    for (let i = 0; i < TRIES; i++) {
      const shape = sample(chosen, of, alignment);
      if (isFit(shape, cost)) return shape;
    }
    return undefined;
  };
  const kindOf = (chosen: string, round: number): { readonly bounds: Bounds; readonly cost: Cost } => {
    const [, middle, dear] = COSTS;
    const cost = isOfParts(chosen) ? middle : COSTS[round % COSTS.length]!;
    if (round % LONGER.every === 0) return { bounds: LONGER, cost: isOfParts(chosen) ? middle : dear };
    if (isBand(chosen, round)) return { bounds: BAND, cost: dear };
    const hasTiles = open.length > 1 && (cost === dear || (cost === middle && round % 2 === 0));
    return { bounds: hasTiles ? SEVERAL_TILES : LARGE, cost };
  };
  // Multiples are only for kernels that take nothing else.
  for (const alignment of ALIGNMENTS) {
    const found = Array.from({ length: count }, (_, i) => {
      const chosen = open[i % open.length]!;
      const { bounds, cost } = kindOf(chosen, Math.floor(i / open.length));
      return about(bounds === BAND ? longOfBand(chosen) : chosen, bounds, cost, alignment) ?? [];
    }).flat();
    if (found.length > 0) return distinctValues(found);
  }
  return [];
}
