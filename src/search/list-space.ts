import { packedSpace } from './packed-space.ts';
import type { SearchDimension, SearchSpace } from './strategy.ts';

export type ConfigurationValue = SearchDimension['values'][number];

/** Values by dimension; `null` for a missing dimension. */
export type Configuration = Readonly<Record<string, ConfigurationValue>>;

/**
 * The space of these configurations, in their order. A dimension whose values are numbers is ordered; any other keeps its
 * values in the order in which they first appear.
 *
 * @throws RangeError when a dimension has more than 65,536 values.
 */
export function listSpace(configurations: readonly Configuration[]): SearchSpace {
  const names = new Set(configurations.flatMap((configuration) => Object.keys(configuration)));
  const dimensions = [...names].map((name) =>
    dimensionOf(name, new Set(configurations.map((configuration) => configuration[name] ?? null))),
  );
  return placeConfigurations(dimensions, configurations);
}

const MOST_VALUES = 2 ** 16;

/** Values in their order: `null`, then numbers ascending; anything else as it comes. */
export function dimensionOf(name: string, found: ReadonlySet<ConfigurationValue>): SearchDimension {
  if (found.size > MOST_VALUES) throw new RangeError(`dimension ${name} has ${found.size} values`);
  const others = [...found].filter((value) => value !== null);
  const ordered = others.every((value) => typeof value === 'number');
  if (ordered) others.sort((a, b) => Number(a) - Number(b));
  return { name, values: found.has(null) ? [null, ...others] : others, ordered };
}

/** The space of these configurations over given dimensions, which name all their values. */
export function placeConfigurations(
  dimensions: readonly SearchDimension[],
  configurations: readonly Configuration[],
): SearchSpace {
  const placeOf = dimensions.map(({ values }) => new Map(values.map((value, place) => [value, place])));
  const rows = new Uint16Array(configurations.length * dimensions.length);
  configurations.forEach((configuration, index) => {
    dimensions.forEach(({ name }, dimension) => {
      rows[index * dimensions.length + dimension] = placeOf[dimension]!.get(configuration[name] ?? null)!;
    });
  });
  return packedSpace(dimensions, rows);
}

/** The values of configuration `index`, without those that don't apply. */
export function configurationAt(space: SearchSpace, index: number): Record<string, Exclude<ConfigurationValue, null>> {
  const places = space.at(index);
  const configuration: Record<string, Exclude<ConfigurationValue, null>> = {};
  space.dimensions.forEach(({ name, values }, dimension) => {
    const value = values[places[dimension]!]!;
    if (value !== null) configuration[name] = value;
  });
  return configuration;
}

/** The index of this configuration, or undefined if it is not in the space. */
export function findConfiguration(space: SearchSpace, configuration: Configuration): number | undefined {
  const places = space.dimensions.map(({ name, values }) => values.indexOf(configuration[name] ?? null));
  return places.includes(-1) ? undefined : space.find(places);
}
