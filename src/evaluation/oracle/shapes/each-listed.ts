import type { Dimensions } from '../../../core/problem.ts';
import { isWithin } from './cost.ts';
import { drawingOf, type FittingAround, flagsOf, followingSize } from './drawing.ts';
import { sizeBetween } from './sizes.ts';

/** Sizes beside such a value: from where a kernel has dozens of tiles, or a warp's worth of them; where that is too dear, down to some hundreds. */
const LONG = { from: 1024, to: 1152, step: 0.7, least: 200 } as const;

/**
 * For each listed value of a dimension that is no flag, a shape in which the sizes that are no numbers of independent parts are long: other long
 * shapes have the timed shape's values, so that a kernel could be right for long sequences in one head dimension only.
 */
export function shapesOfEachListed(source: FittingAround): Dimensions[] {
  const { problem, takes, timed, most, isFit } = source;
  const { next } = drawingOf(source, 'long shapes of listed values');
  const { dimensions, independentDimensions = [] } = problem;
  const flags = flagsOf(problem);
  const sizesLike = (long: number, listed: Dimensions): Dimensions => {
    const shape: Record<string, number> = {};
    for (const [name, declared] of Object.entries(dimensions)) {
      const { values, minimum = 1, maximum = long } = declared;
      const size = independentDimensions.includes(name) ? minimum : Math.min(maximum, Math.max(minimum, long));
      shape[name] = values ? listed[name]! : (followingSize(name, declared, shape) ?? size);
    }
    return shape;
  };
  const withFlags = (): Dimensions => ({
    ...timed,
    ...Object.fromEntries(flags.map((name) => [name, dimensions[name]!.values![next() < 0.5 ? 0 : 1]!])),
  });
  const longest = (listed: Dimensions): Dimensions | undefined => {
    for (let share = 1; share * LONG.from > LONG.least; share *= LONG.step) {
      const shape = sizesLike(sizeBetween(share * LONG.from, share * LONG.to, next), listed);
      if (isWithin(most, problem, shape) && takes(shape) && isFit(shape)) return shape;
    }
    return undefined;
  };
  return Object.entries(dimensions)
    .flatMap(([name, { values = [] }]) =>
      // More than a flag has, such as head dimensions: each chooses another path of a kernel, often one compiled for it.
      values.length > 2 ? values.map((value) => ({ [name]: value })) : [],
    )
    .map((one) => longest({ ...withFlags(), ...one }) ?? longest({ ...timed, ...one }))
    .filter((shape) => shape !== undefined);
}
