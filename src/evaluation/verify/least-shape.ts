import { WarpsmithError } from '../../core/errors.ts';
import { completeDimensions } from '../../core/plan/dimensions.ts';
import type { Scope } from '../../core/plan/scope.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';

/**
 * Every dimension as small as it may be, but for the given ones and what follows from them.
 *
 * @param listed where values of dimensions are found that list theirs.
 * @returns `undefined` if that is no shape.
 */
export function leastShapeWith(
  problem: ProblemFile,
  given: Readonly<Record<string, number>>,
  listed: Scope = {},
): Dimensions | undefined {
  const least = Object.entries(problem.dimensions).flatMap(([name, { minimum = 1, values, default: usual }]) => {
    if (values) return typeof listed[name] === 'number' ? [[name, listed[name]] as const] : [];
    return usual === undefined || typeof usual === 'number' ? [[name, minimum] as const] : [];
  });
  try {
    return completeDimensions(problem.dimensions, { ...Object.fromEntries(least), ...given });
  } catch (error) {
    if (error instanceof WarpsmithError) return undefined;
    throw error;
  }
}
