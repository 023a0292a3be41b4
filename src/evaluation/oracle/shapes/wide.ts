import type { Dimensions } from '../../../core/problem.ts';
import { createStream, inOrder } from '../../../stats/random.ts';
import { shapesBeside } from './around.ts';
import type { Cost } from './cost.ts';
import { drawingOf, type FittingAround, hasSeveralTiles, openDimensions } from './drawing.ts';
import { logUniform } from './sizes.ts';

/** Sizes of one dimension where the others have several tiles, too: of every order of magnitude alike. */
const WIDE = { least: 300, most: 8192, tries: 8 } as const;

/** Of each dimension, what all but the first two of them cost at most: of a product, a host works out some seconds otherwise. */
const DEAR = { count: 2, others: { flop: 6e7, elements: 2 ** 21 } } as const;

/**
 * Shapes with one dimension of dozens of tiles beside several of every other: tiles taken in groups, of which the last is incomplete, queues of
 * tiles, a column beyond some thousand in a row beyond the seventieth, a quotient of tiles by a rounded reciprocal. `each` for every dimension; none where there is only one.
 */
export function wideShapes(source: FittingAround, each: number): Dimensions[] {
  const { problem, most, seed, isFit } = source;
  const drawing = drawingOf(source, 'wide shapes');
  const next = inOrder(createStream(seed, 'sizes of wide shapes'));
  const cheaper: Cost = {
    flop: Math.min(most.flop, DEAR.others.flop),
    elements: Math.min(most.elements, DEAR.others.elements),
  };
  const drawOne = (name: string, longest: number, most: Cost): Dimensions | undefined => {
    for (let attempt = 0; attempt < WIDE.tries; attempt++) {
      const shape = shapesBeside(drawing, { name, size: logUniform(WIDE.least, longest, next), most }).at(-1);
      if (shape && hasSeveralTiles(problem, shape) && isFit(shape)) return shape;
    }
    return undefined;
  };
  const open = openDimensions(problem);
  return (open.length < 2 ? [] : open).flatMap(([name, { maximum = WIDE.most }]) =>
    maximum < WIDE.least
      ? []
      : Array.from({ length: each }, (_, i) =>
          drawOne(name, Math.min(maximum, WIDE.most), i < DEAR.count ? most : cheaper),
        ).filter((shape) => shape !== undefined),
  );
}
