import { isShapeOf } from '../../../core/plan/dimensions.ts';
import type { Dimensions } from '../../../core/problem.ts';
import { below, createStream, inOrder, shuffle } from '../../../stats/random.ts';
import { type Cost, isWithin } from './cost.ts';
import { openNames, type ShapeSource } from './drawing.ts';

/** What shapes are drawn from in which some sizes are whole tiles. */
export interface PartlyAlignedDraw extends ShapeSource {
  /** Whether a CPU runs the launches in little time; always on a GPU. */
  readonly isQuick: (dimensions: Dimensions) => boolean;
  readonly most: number;
  readonly seed: number;
}

/** Tiles of kernels, the largest that is cheap; and how many tiles a size has at most. */
const TILES = [256, 128, 64, 32, 16] as const;
const MOST_TILES = 2;

/** Sizes that are no multiple of anything usual: odd, of every order of magnitude up to this power of two. */
const RAGGED_BITS = 6;

const TRIES = 12;

const MOST: Cost = { flop: 4e7, elements: 4e5 };

/**
 * Shapes in which some sizes are whole tiles and the others are odd: a path without bounds checks is often chosen by all sizes but one. Each
 * proper part of the sizes in turn, in a secret order, is whole. Listed values are as in the timed shape in half of them.
 */
export function drawPartlyAligned(draw: PartlyAlignedDraw): Dimensions[] {
  const { problem, timed, most, seed } = draw;
  const next = inOrder(createStream(seed, 'whole tiles in some dimensions'));
  const lot = (bound: number): number => below(next, bound);
  const drawWith = (whole: ReadonlySet<string>): Dimensions | undefined => {
    for (const tile of TILES)
      for (let attempt = 0; attempt < TRIES; attempt++) {
        const shape = Object.entries(problem.dimensions).map(([name, { values }]) => {
          if (values) return [name, lot(2) === 0 ? timed[name]! : values[lot(values.length)]!];
          return [name, whole.has(name) ? tile * (1 + lot(MOST_TILES)) : 1 + 2 * lot(2 ** lot(RAGGED_BITS))];
        });
        const dimensions: Dimensions = Object.fromEntries(shape);
        if (isFit(draw, dimensions)) return dimensions;
      }
    return undefined;
  };
  const found: Dimensions[] = [];
  for (const whole of shuffle(properParts(openNames(problem)), lot)) {
    if (found.length === most) break;
    const shape = drawWith(new Set(whole));
    if (shape) found.push(shape);
  }
  return found;
}

/** Elements that one load takes, and how many of them a size has: an odd number, so that it is no whole tile. */
const VECTORS = { widths: [2, 4, 8], most: 9 } as const;

/**
 * Shapes in which every size is a number of whole vectors, and none a whole tile: the last tile of a path of vectors is partly what the one before left there, which shows where that was an
 * infinity. One for each width.
 */
export function drawVectorMultiples(draw: Omit<PartlyAlignedDraw, 'most'>): Dimensions[] {
  const { problem, timed, seed } = draw;
  const next = inOrder(createStream(seed, 'whole vectors'));
  const drawOne = (width: number): Dimensions | undefined => {
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const open = openNames(problem).map((name) => [name, width * (3 + 2 * below(next, VECTORS.most))] as const);
      const dimensions: Dimensions = { ...timed, ...Object.fromEntries(open) };
      if (isFit(draw, dimensions)) return dimensions;
    }
    return undefined;
  };
  return VECTORS.widths.map(drawOne).filter((shape) => shape !== undefined);
}

/** Whether a shape is a cheap one of the problem, which the kernel takes too. */
const isFit = ({ problem, takes, isQuick }: Omit<PartlyAlignedDraw, 'most'>, shape: Dimensions): boolean =>
  isShapeOf(problem, shape) && isWithin(MOST, problem, shape) && takes(shape) && isQuick(shape);

/** All parts but none and all. */
function properParts<T>(all: readonly T[]): T[][] {
  const parts = all.reduce<T[][]>((some, one) => some.flatMap((part) => [part, [...part, one]]), [[]]);
  return parts.filter(({ length }) => length > 0 && length < all.length);
}
