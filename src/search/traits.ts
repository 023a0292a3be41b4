import type { ConfigurationValue } from './list-space.ts';
import type { SearchDimension, SearchSpace } from './strategy.ts';

/**
 * One way in which values of a dimension can be alike. `coordinates` has one number, 0…1, for every place, `null` where
 * the value has none; without coordinates values are equal or not.
 */
export interface Trait {
  /** Place of the dimension in the space. */
  readonly dimension: number;
  readonly valueCount: number;
  readonly coordinates: readonly (number | null)[] | undefined;
}

/** With fewer distinct values, divisibility adds nothing to their size. */
const FEWEST_FOR_DIVISIBILITY = 5;

/**
 * The traits of a space's dimensions, those of a single value left out. Numbers are alike by size, and long lists of
 * whole numbers by the powers of two that divide them besides: warps, sectors and wide loads make 48 resemble 80 more
 * than 49.
 */
export const traitsOf = ({ dimensions }: SearchSpace): Trait[] =>
  dimensions.flatMap(({ values, ordered }: SearchDimension, dimension): Trait[] => {
    const valueCount = values.length;
    if (valueCount < 2) return [];
    if (!ordered) return [{ dimension, valueCount, coordinates: undefined }];
    const divisibility = divisibilities(values);
    return [
      { dimension, valueCount, coordinates: sizes(values) },
      ...(divisibility ? [{ dimension, valueCount, coordinates: divisibility }] : []),
    ];
  });

/** Half by rank, half by magnitude: lists of tuning values are neither always linear nor always doublings. */
function sizes(values: readonly ConfigurationValue[]): (number | null)[] {
  const numbers = values.filter((value) => typeof value === 'number');
  const lowest = numbers[0]!;
  const magnitude = (value: number): number => (lowest >= 0 ? Math.log2(value + (lowest === 0 ? 1 : 0)) : value);
  const span = magnitude(numbers.at(-1)!) - magnitude(lowest) || 1;
  const lastRank = Math.max(numbers.length - 1, 1);
  // Ordered values are ascending numbers behind `null`, each once.
  const first = values.length - numbers.length;
  return values.map((value, place) =>
    typeof value === 'number' ? ((place - first) / lastRank + (magnitude(value) - magnitude(lowest)) / span) / 2 : null,
  );
}

/** Exponents of two in each value, scaled to 0…1; undefined if they add nothing to the size. */
function divisibilities(values: readonly ConfigurationValue[]): (number | null)[] | undefined {
  const numbers = values.filter((value) => typeof value === 'number');
  const isPositiveInteger = (value: number): boolean => Number.isInteger(value) && value > 0 && value < 2 ** 31;
  if (numbers.length < FEWEST_FOR_DIVISIBILITY || !numbers.every(isPositiveInteger)) return undefined;
  const exponent = (value: number): number => Math.log2(value & -value);
  const exponents = numbers.map(exponent);
  const span = Math.max(...exponents) - Math.min(...exponents);
  if (span === 0 || numbers.every((value) => 2 ** exponent(value) === value)) return undefined;
  const lowest = Math.min(...exponents);
  return values.map((value) => (typeof value === 'number' ? (exponent(value) - lowest) / span : null));
}
