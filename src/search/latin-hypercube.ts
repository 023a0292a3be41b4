import { type RandomSource, shuffle } from '../stats/random.ts';
import { integerBelow, unit } from './draw.ts';
import { distance } from './geometry.ts';
import type { SearchSpace } from './strategy.ts';

/** Configurations a point of the design is matched against; all of them in a space that has no more. */
const MOST_MATCHED = 4096;

/**
 * A Latin hypercube over the places of every dimension: of `count` equal layers, each holds one point, in every
 * dimension. Constraints leave holes, so each point becomes the nearest configuration that is listed. All different;
 * fewer than `count` only where the space has fewer.
 *
 * Source: M. D. McKay, R. J. Beckman, W. J. Conover, "A Comparison of Three Methods for Selecting Values of Input
 * Variables" (1979).
 */
export function latinHypercube(space: SearchSpace, count: number, random: RandomSource): number[] {
  const points = Math.min(count, space.size);
  const layers = space.dimensions.map(() => shuffle(range(points), (bound) => integerBelow(random, bound)));
  const listed = space.size <= MOST_MATCHED ? range(space.size) : someOf(space.size, random);
  const chosen = new Set<number>();
  for (let point = 0; point < points; point += 1) {
    const wanted = space.dimensions.map(({ values }, dimension) =>
      Math.floor(((layers[dimension]![point]! + unit(random)) / points) * values.length),
    );
    const free = listed.filter((index) => !chosen.has(index));
    chosen.add(nearest(space, free, wanted));
  }
  return [...chosen];
}

const range = (length: number): number[] => Array.from({ length }, (_, index) => index);

function someOf(size: number, random: RandomSource): number[] {
  const drawn = new Set<number>();
  while (drawn.size < MOST_MATCHED) drawn.add(integerBelow(random, size));
  return [...drawn];
}

function nearest(space: SearchSpace, indices: readonly number[], wanted: ArrayLike<number>): number {
  let best = indices[0]!;
  let least = Number.POSITIVE_INFINITY;
  for (const index of indices) {
    const away = distance(space, space.at(index), wanted);
    if (away >= least) continue;
    least = away;
    best = index;
  }
  return best;
}
