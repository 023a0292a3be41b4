import { isShapeOf } from '../../../core/plan/dimensions.ts';
import type { DimensionDeclaration, Dimensions } from '../../../core/problem.ts';
import { distinctValues, roundUp } from '../../../core/values.ts';
import { below } from '../../../stats/random.ts';
import { type Cost, isWithin } from './cost.ts';
import { ALIGNMENTS, drawingOf, followingSize, openNames, type ShapesAround } from './drawing.ts';
import { relatedSize } from './relations.ts';
import { logUniform } from './sizes.ts';

/** What many small shapes are drawn from. */
export interface ManyDraw extends Omit<ShapesAround, 'most'> {
  /** Whether a CPU runs the launches in milliseconds; always on a GPU. */
  readonly isQuick: (dimensions: Dimensions) => boolean;
  readonly count: number;
}

/** In turn tiny shapes, and such with several tiles in one dimension or two. */
const COSTS: readonly Cost[] = [
  { flop: 2e6, elements: 2e4 },
  { flop: 8e6, elements: 1e5 },
  { flop: 8e6, elements: 4e5 },
];

/** Sizes of the dimension that a shape is about, and of others, some of which are large, too. */
const LARGE = { least: 8, most: 4000 } as const;
const BESIDE = { least: 1, most: 12 } as const;
const ALSO_LARGE_RATIO = 0.4;

/** Most draws for each shape. */
const TRIES = 60;

/**
 * Very many small shapes whose sizes have nothing in common but that they are cheap: no tiles, no aim. A mistake of arithmetic on sizes shows
 * at one shape in some hundred and leaves no condition in the code: a reciprocal that is rounded down for 41 tiles, a loop that ends a key early where a group of six
 * heads ends in a tile.
 */
export function drawMany(draw: ManyDraw): Dimensions[] {
  const { problem, takes, isQuick, count } = draw;
  const { next } = drawingOf(draw, 'many small shapes');
  const { independentDimensions = [] } = problem;
  const open = openNames(problem).filter((name) => !independentDimensions.includes(name));
  const sizeOf = (name: string, declared: DimensionDeclaration, isLarge: boolean, before: Dimensions): number => {
    const { minimum = 1, maximum = LARGE.most } = declared;
    const { least, most } = isLarge ? LARGE : BESIDE;
    const whole = followingSize(name, declared, before);
    const size =
      whole === undefined ? logUniform(least, most, next) : relatedSize(whole, [next(), next()], LARGE.least);
    return Math.min(Math.max(minimum, size), maximum);
  };
  const sample = (alignment: number): Dimensions => {
    const chosen = open[below(next, open.length)];
    const shape: Record<string, number> = {};
    for (const [name, declared] of Object.entries(problem.dimensions)) {
      const { values } = declared;
      const isLarge = name === chosen || (open.includes(name) && next() < ALSO_LARGE_RATIO);
      shape[name] = values
        ? values[below(next, values.length)]!
        : roundUp(sizeOf(name, declared, isLarge, shape), alignment);
    }
    return shape;
  };
  const isFit = (shape: Dimensions, cost: Cost): boolean =>
    isShapeOf(problem, shape) && isWithin(cost, problem, shape) && takes(shape) && isQuick(shape);
  const found: Dimensions[] = [];
  // Multiples are only for kernels that take nothing else.
  for (const alignment of ALIGNMENTS) {
    for (let i = 0; i < count * TRIES && found.length < count; i++) {
      const shape = sample(alignment);
      if (isFit(shape, COSTS[found.length % COSTS.length]!)) found.push(shape);
    }
    if (found.length > 0) break;
  }
  return distinctValues(found);
}
