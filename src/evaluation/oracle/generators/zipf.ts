import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import { fillElements, type Generate } from './generator.ts';

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
