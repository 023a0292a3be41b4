import type { SearchDimension, SearchSpace } from './strategy.ts';

/**
 * Distance of two places of a dimension, 0…1. Along ordered values it counts the steps between them; other values are 1
 * apart if they differ. If one of the two lacks the parameter, the distance is 1.
 */
function unlikeness({ values, ordered }: SearchDimension, a: number, b: number): number {
  if (a === b) return 0;
  if (!ordered || values[a] === null || values[b] === null) return 1;
  return Math.abs(a - b) / (values.length - 1);
}

/** Sum of the distances in all dimensions. */
export function distance(space: SearchSpace, a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let dimension = 0; dimension < space.dimensions.length; dimension += 1) {
    sum += unlikeness(space.dimensions[dimension]!, a[dimension]!, b[dimension]!);
  }
  return sum;
}
