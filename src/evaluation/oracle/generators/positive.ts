import { fillElements, type Generate } from './generator.ts';

/** Uniform values that are never zero or negative: [1/16, 1] unless given. Sums of them never cancel. */
export const positive: Generate<'positive'> = ({ low = 0.0625, high = 1 }, { elementCount, stream }) =>
  fillElements(elementCount, (i) => low + (high - low) * stream.uniform(i));
