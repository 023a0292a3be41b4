import { product } from '../core/values.ts';
import type { SearchDimension, SearchSpace } from './strategy.ts';

/** Products above this can't be told apart as one number. */
const MAXIMUM_KEY = 2 ** 53;

/**
 * A space of configurations given row by row: `rows` holds `dimensions.length` places for each, one configuration after
 * another, all different.
 */
export function packedSpace(dimensions: readonly SearchDimension[], rows: Uint16Array): SearchSpace {
  const width = dimensions.length;
  const size = width === 0 ? 1 : rows.length / width;
  const keyOf = placesToKey(dimensions);
  let indexByKey: Map<number | string, number> | undefined;
  const at = (index: number): Uint16Array => rows.subarray(index * width, (index + 1) * width);
  return {
    dimensions,
    size,
    at,
    find(places) {
      // Only strategies that build configurations need it; in a large space it takes a while to fill.
      if (!indexByKey) {
        indexByKey = new Map();
        for (let index = 0; index < size; index += 1) indexByKey.set(keyOf(at(index)), index);
      }
      return indexByKey.get(keyOf(places));
    },
  };
}

/** One key per configuration: its places as digits of a mixed-radix number if that is exact, else as text. */
function placesToKey(dimensions: readonly SearchDimension[]): (places: ArrayLike<number>) => number | string {
  const radices = dimensions.map(({ values }) => values.length);
  if (product(radices) >= MAXIMUM_KEY) return (places) => Array.from(places).join();
  return (places) => {
    let key = 0;
    for (let dimension = 0; dimension < radices.length; dimension += 1) {
      key = key * radices[dimension]! + places[dimension]!;
    }
    return key;
  };
}
