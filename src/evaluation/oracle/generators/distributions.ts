import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import { fillNormal } from '../../../process/fill-normal.ts';
import { fillElements, type Generate } from './generator.ts';

/** Generators of elements that do not depend on their place. */

/** Independent normal values; mean 0 and standard deviation 1 unless given. */
export const normal: Generate<'normal'> = ({ mean = 0, standardDeviation = 1 }, { elementCount, stream }) =>
  fillNormal(stream, elementCount, mean, standardDeviation);

/** Normal values with a large standard deviation: finds missing maximum subtraction and overflow. */
export const large: Generate<'large'> = ({ magnitude }, { elementCount, stream }) =>
  fillNormal(stream, elementCount, 0, magnitude);

/** Independent values, uniform between low and high. */
export const uniform: Generate<'uniform'> = ({ low, high }, { elementCount, stream }) =>
  fillElements(elementCount, (i) => low + (high - low) * stream.uniform(i));

/** Uniform values that are never zero or negative: [1/16, 1] unless given. Sums of them never cancel. */
export const positive: Generate<'positive'> = ({ low = 0.0625, high = 1 }, { elementCount, stream }) =>
  fillElements(elementCount, (i) => low + (high - low) * stream.uniform(i));

/** The same value everywhere: exact ties. */
export const constant: Generate<'constant'> = ({ value }, { elementCount }) =>
  new Float64Array(elementCount).fill(value);

/** Significant bits of tf32 operands, and the distance of every value from them, in units of their last place. */
const BITS = 11;
const BEYOND = 0.4;

/**
 * Values between 1 and 2 that lie 0.4 units above a number of 11 significant bits. An operand rounded or truncated to 11,
 * 12 or 13 bits errs in the same direction everywhere, so long sums show it; random values average it out.
 */
export const offGrid: Generate<'off-grid'> = (_generator, { elementCount, stream }) =>
  fillElements(elementCount, (i) => 1 + (Math.floor(stream.uniform(i) * 2 ** (BITS - 1)) + BEYOND) / 2 ** (BITS - 1));

/** Ranges from this size on: a uniform draw hardly meets their ends. */
const WIDE = 2 ** 16;
const END_RATIO = 1 / 64;

/** Integers drawn uniformly from low (included) to high (excluded), repeats allowed. Of a wide range, one in 64 is an end. */
export const indexRange: Generate<'index-range'> = (generator, { elementCount, dimensions, stream }) => {
  const low = evaluateExpression(generator.low, dimensions);
  const high = evaluateExpression(generator.high, dimensions);
  const endRatio = high - low < WIDE ? 0 : END_RATIO;
  return fillElements(elementCount, (i) => {
    const place = stream.uniform(i);
    if (place < endRatio) return place < endRatio / 2 ? low : high - 1;
    return low + Math.floor(((place - endRatio) / (1 - endRatio)) * (high - low));
  });
};

/**
 * Integers 0 … count − 1 by Zipf's law: P(k) ∝ (k + 1)^−exponent, with exponent 1 by default. Few values are very frequent,
 * as in words, keys and grey values. Drawn by inverting the cumulative distribution.
 */
export const zipf: Generate<'zipf'> = ({ count, exponent = 1 }, { elementCount, dimensions, stream }) => {
  const cumulative = fillElements(evaluateExpression(count, dimensions), (k) => (k + 1) ** -exponent);
  for (let k = 1; k < cumulative.length; k++) cumulative[k]! += cumulative[k - 1]!;
  const total = cumulative.at(-1)!;
  return fillElements(elementCount, (i) => firstAbove(cumulative, stream.uniform(i) * total));
};

/** Index of the first of the ascending values that is greater than x; the last index if none is. */
function firstAbove(ascending: Float64Array, x: number): number {
  let [low, high] = [0, ascending.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle]! > x) high = middle;
    else low = middle + 1;
  }
  return low;
}
