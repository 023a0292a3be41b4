import type { Dimensions } from '../../../core/problem.ts';
import { createStream, inOrder } from '../../../stats/random.ts';
import { shapesBeside } from './around.ts';
import { drawingOf, type FittingAround, openDimensions } from './drawing.ts';
import { sizeBetween } from './sizes.ts';

/** Sizes between those of drawn shapes and the largest: from here on, of every order of magnitude alike. */
const MIDDLE = 1024;
const LEAST_MIDDLE = 256;

/**
 * Shapes with one dimension between the usual sizes and the largest that is cheap, beside small others: steps that are for middle sizes only,
 * shares and trees that come out even at some of them. `each` for every dimension; four times as many where there is only one.
 */
export function middleShapes(source: FittingAround, each: number): Dimensions[] {
  const { problem, most, seed, isFit } = source;
  const drawing = drawingOf(source, 'shapes of middle sizes');
  const next = inOrder(createStream(seed, 'middle sizes'));
  const open = openDimensions(problem);
  const around = (name: string, size: number): Dimensions | undefined =>
    shapesBeside(drawing, { name, size, most }).find(isFit);
  return open.flatMap(([name, { minimum = 1, maximum = most.elements }]) => {
    const end = largestPower(Math.min(maximum, most.elements), (size) => around(name, size) !== undefined);
    if (end === undefined || end < minimum) return [];
    // Where two dimensions are one, as queries and keys, middle sizes are dear, and the largest that fit are the middle ones.
    const from = Math.min(MIDDLE, end / 2);
    return Array.from({ length: open.length === 1 ? 4 * each : each }, () =>
      around(name, Math.max(minimum, sizeBetween(from, end, next))),
    ).filter((shape) => shape !== undefined);
  });
}

/** The largest power of two up to this that fits, none below some tiles. */
function largestPower(most: number, fits: (size: number) => boolean): number | undefined {
  for (let size = 2 ** Math.floor(Math.log2(most)); size >= LEAST_MIDDLE; size /= 2) if (fits(size)) return size;
  return undefined;
}
