import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import { fillElements, type Generate } from './generator.ts';

/** Integers drawn uniformly from low (included) to high (excluded), repeats allowed. */
export const indexRange: Generate<'index-range'> = (generator, { elementCount, dimensions, stream }) => {
  const low = evaluateExpression(generator.low, dimensions);
  const high = evaluateExpression(generator.high, dimensions);
  return fillElements(elementCount, (i) => low + Math.floor(stream.uniform(i) * (high - low)));
};
