import type { Dimensions } from '../../../core/problem.ts';
import { createStream, inOrder } from '../../../stats/random.ts';
import { shapesBeside } from './around.ts';
import { drawingOf, type FittingAround, hasSeveralTiles, openDimensions } from './drawing.ts';
import { sizeBetween } from './sizes.ts';

/** Sizes of one dimension where the others have several tiles, too. */
const WIDE = { least: 600, most: 2500, tries: 8 } as const;

/**
 * Shapes with one dimension of dozens of tiles beside several of every other: tiles taken in groups, of which the last is incomplete, and queues of
 * tiles. `each` for every dimension; none where there is only one.
 */
export function wideShapes(source: FittingAround, each: number): Dimensions[] {
  const { problem, most, seed, isFit } = source;
  const drawing = drawingOf(source, 'wide shapes');
  const next = inOrder(createStream(seed, 'sizes of wide shapes'));
  const drawOne = (name: string, longest: number): Dimensions | undefined => {
    for (let attempt = 0; attempt < WIDE.tries; attempt++) {
      const shape = shapesBeside(drawing, { name, size: sizeBetween(WIDE.least, longest, next), most }).at(-1);
      if (shape && hasSeveralTiles(problem, shape) && isFit(shape)) return shape;
    }
    return undefined;
  };
  const open = openDimensions(problem);
  return (open.length < 2 ? [] : open).flatMap(([name, { maximum = WIDE.most }]) =>
    maximum < WIDE.least
      ? []
      : Array.from({ length: each }, () => drawOne(name, Math.min(maximum, WIDE.most))).filter(
          (shape) => shape !== undefined,
        ),
  );
}
