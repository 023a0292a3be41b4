import type { SearchDimension, SearchSpace } from './strategy.ts';

/**
 * How unlike two places of a dimension are, 0…1: steps apart along ordered values, else 1 for any other value. A
 * parameter that one of the two lacks is as unlike as can be.
 */
function unlikeness({ values, ordered }: SearchDimension, a: number, b: number): number {
  if (a === b) return 0;
  if (!ordered || values[a] === null || values[b] === null) return 1;
  return Math.abs(a - b) / (values.length - 1);
}

/** Sum of unlikenesses over all dimensions. */
export function distance(space: SearchSpace, a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let dimension = 0; dimension < space.dimensions.length; dimension += 1) {
    sum += unlikeness(space.dimensions[dimension]!, a[dimension]!, b[dimension]!);
  }
  return sum;
}
