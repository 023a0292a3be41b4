import type { ParameterDeclaration, ParameterRange } from '../kernel.ts';

export type AllowedValues = ParameterDeclaration['values'];

/** Most values of one parameter; more are certainly a mistake in a range. */
export const MAXIMUM_RANGE_VALUES = 4096;

export const isRange = (values: AllowedValues): values is ParameterRange => !Array.isArray(values);

/** Number of values, computed for a range. 0 if a range begins beyond its end. */
export function countValues(values: AllowedValues): number {
  if (!isRange(values)) return values.length;
  const { from, to } = values;
  if (!(from <= to)) return 0;
  if ('step' in values) return Math.floor((to - from) / values.step) + 1;
  let count = 0;
  for (let value = from; value <= to; value *= values.factor) count += 1;
  return count;
}

/** Every value: as listed, or a range's ascending. */
export function listValues(values: AllowedValues): readonly number[] {
  if (!isRange(values)) return values;
  const { from } = values;
  return Array.from({ length: countValues(values) }, (_, place) =>
    'step' in values ? from + place * values.step : from * values.factor ** place,
  );
}

/** Whether a parameter may have this value, without listing a range. */
export function allowsValue(values: AllowedValues, value: number): boolean {
  if (!isRange(values)) return values.includes(value);
  if (!(Number.isInteger(value) && value >= values.from && value <= values.to)) return false;
  if ('step' in values) return (value - values.from) % values.step === 0;
  let member = values.from;
  while (member < value) member *= values.factor;
  return member === value;
}

/** The nearest allowed values of one that is not allowed: the greatest below it and the least above it, if they exist. */
export function valuesNear(values: AllowedValues, value: number): number[] {
  const all = listValues(values);
  const below = all.filter((other) => other < value);
  const above = all.filter((other) => other > value);
  return [...(below.length > 0 ? [Math.max(...below)] : []), ...(above.length > 0 ? [Math.min(...above)] : [])];
}

/** `one of 64, 128, 256`; `16 to 256 in steps of 16`; `1 to 64, each 2 times the one before`. */
export function describeValues(values: AllowedValues): string {
  if (!isRange(values)) return `one of ${values.join(', ')}`;
  const ends = `${values.from} to ${values.to}`;
  return 'step' in values
    ? `${ends} in steps of ${values.step}`
    : `${ends}, each ${values.factor} times the one before`;
}
