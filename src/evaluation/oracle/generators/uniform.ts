import { fillElements, type Generate } from './generator.ts';

/** Independent values, uniform between low and high. */
export const uniform: Generate<'uniform'> = ({ low, high }, { elementCount, stream }) =>
  fillElements(elementCount, (i) => low + (high - low) * stream.uniform(i));
