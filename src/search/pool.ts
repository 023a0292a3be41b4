import type { RandomSource } from '../stats/random.ts';
import { integerBelow } from './draw.ts';
import type { SearchSpace } from './strategy.ts';
import type { Unvisited } from './unvisited.ts';

/**
 * At most `limit` unvisited configurations to predict: all if they fit. Otherwise favourites, those that differ from an
 * elite in one value, then in two, up to half of the limit, and random others.
 */
export function drawPool(
  space: SearchSpace,
  unvisited: Unvisited,
  elites: readonly number[],
  limit: number,
  random: RandomSource,
  favourites: readonly number[] = [],
): number[] {
  if (unvisited.count <= limit) return Array.from(unvisited.list());
  const found = new Set(favourites.filter((index) => unvisited.has(index)).slice(0, limit / 4));
  const add = (places: ArrayLike<number>): void => {
    const index = space.find(places);
    if (index !== undefined && unvisited.has(index) && found.size < limit / 2) found.add(index);
  };
  for (const elite of elites) forEachNeighbour(space, elite, add);
  if (elites.length > 0) {
    for (let draw = 0; draw < limit; draw += 1) add(changeTwo(space, elites[draw % elites.length]!, random));
  }
  while (found.size < limit) found.add(unvisited.draw(random)!);
  return [...found];
}

function forEachNeighbour(space: SearchSpace, index: number, visit: (places: Uint16Array) => void): void {
  const places = Uint16Array.from(space.at(index));
  space.dimensions.forEach(({ values }, dimension) => {
    const own = places[dimension]!;
    for (let place = 0; place < values.length; place += 1) {
      if (place === own) continue;
      places[dimension] = place;
      visit(places);
    }
    places[dimension] = own;
  });
}

function changeTwo(space: SearchSpace, index: number, random: RandomSource): Uint16Array {
  const places = Uint16Array.from(space.at(index));
  for (let change = 0; change < 2; change += 1) {
    const dimension = integerBelow(random, places.length);
    places[dimension] = integerBelow(random, space.dimensions[dimension]!.values.length);
  }
  return places;
}
