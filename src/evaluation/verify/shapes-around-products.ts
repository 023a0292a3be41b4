import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { distinctValues, roundUp } from '../../core/values.ts';
import { openNames } from '../oracle/shapes/drawing.ts';
import { leastShapeWith } from './least-shape.ts';

/** Just above a number; vectors of 8 elements stay whole. */
const [BEYOND, VECTOR] = [1.02, 8] as const;

/** Sizes that are tried beside the numbers: paths for vectors and whole tiles ask for such. */
const USUAL = [8, 64];

/** Sizes above this are not tried, and of products no factors below the least. */
const TRIED = { most: 2 ** 22, leastProduct: 2 ** 12 } as const;

/**
 * Shapes about the numbers that a kernel compares sizes and products of two sizes with: `K >= 1024 && M * N > 1048576`. A dimension is a number, one more, just beyond one or
 * the root of one, of usual size, or as small as may be.
 *
 * @param most dimensions that are larger than they must be.
 */
export function shapesAroundProducts({
  problem,
  numbers,
  listed,
  most,
}: {
  problem: ProblemFile;
  numbers: readonly number[];
  /** Values of dimensions that list theirs. */
  listed: Dimensions;
  most: number;
}): Dimensions[] {
  const beyond = (number: number): number => roundUp(Math.ceil(BEYOND * number), VECTOR);
  const roots = numbers.filter((number) => number >= TRIED.leastProduct).map(Math.sqrt);
  const odd = numbers.filter((number) => number >= TRIED.leastProduct).map((number) => number + 1);
  const sizes = [...new Set([...USUAL, ...numbers, ...odd, ...numbers.map(beyond), ...roots.map(beyond)])].filter(
    (size) => Number.isInteger(size) && size <= TRIED.most,
  );
  const names = openNames(problem);
  const given = (from: number, left: number): Record<string, number>[] => {
    if (from === names.length || left === 0) return [{}];
    const others = given(from + 1, left);
    const larger = given(from + 1, left - 1);
    return [...others, ...sizes.flatMap((size) => larger.map((one) => ({ ...one, [names[from]!]: size })))];
  };
  const shapes = given(0, most).map((one) => leastShapeWith(problem, one, listed));
  return distinctValues(shapes.filter((shape) => shape !== undefined));
}
