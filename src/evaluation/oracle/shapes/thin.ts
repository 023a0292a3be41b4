import type { Dimensions } from '../../../core/problem.ts';
import { shapeBeside } from './around.ts';
import { type Cost, isWithin } from './cost.ts';
import { type Drawing, drawingOf, type FittingAround, openNames } from './drawing.ts';
import { listedByLot } from './listed-by-lot.ts';
import { ABOUT } from './sizes.ts';

/**
 * Sizes of the dimensions beside a long one: above one and two, which the shapes beyond all others have; elements of a whole shape; and the number of
 * dimensions above which each one is long in one shape only.
 */
const THIN = { least: 3, most: 33, elements: 2 ** 20, dimensions: 3 } as const;

/**
 * Shapes in which one dimension is so long that there are about a million elements, and every other one is short: for kernels that treat narrow matrices
 * in another way, or divide by a reciprocal to find a row. `each` for every dimension; none where there is only one.
 */
export function thinShapes(source: FittingAround, each: number): Dimensions[] {
  const drawing = drawingOf(source, 'thin shapes');
  const open = openNames(source.problem);
  return (open.length < 2 ? [] : open).flatMap((name) =>
    Array.from({ length: open.length > THIN.dimensions ? 1 : each }, () =>
      thinShape(drawing, name, source.most),
    ).filter((shape) => shape !== undefined && source.isFit(shape)),
  ) as Dimensions[];
}

/** With this dimension as long as is cheap, and few of each other one; `undefined` if the kernel does not take it. */
function thinShape(drawing: Drawing, name: string, most: Cost): Dimensions | undefined {
  const { problem, takes, next } = drawing;
  const { least } = THIN;
  const shape = shapeBeside(drawing, {
    name,
    size: 1,
    listed: listedByLot(drawing),
    least,
    most: Math.round(least * (THIN.most / least) ** next()) + 1,
  });
  const { maximum = Number.MAX_SAFE_INTEGER } = problem.dimensions[name]!;
  const longest = Math.min(maximum, Math.floor(THIN.elements * (1 - next() / 4)));
  for (let size = longest; size > ABOUT.most; size = Math.floor(size / 2)) {
    const long = { ...shape, [name]: size };
    if (isWithin({ ...most, elements: 2 * THIN.elements }, problem, long)) return takes(long) ? long : undefined;
  }
  return undefined;
}
