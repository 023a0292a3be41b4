import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import { fillElements, type Generate } from './generator.ts';

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
