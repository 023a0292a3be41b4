import { fillElements, type Generate } from './generator.ts';

/** Significant bits of tf32 operands, and the distance of every value from them, in units of their last place. */
const BITS = 11;
const BEYOND = 0.4;

/**
 * Values between 1 and 2 that lie 0.4 units above a number of 11 significant bits. An operand rounded or truncated to 11,
 * 12 or 13 bits errs in the same direction everywhere, so long sums show it; random values average it out.
 */
export const offGrid: Generate<'off-grid'> = (_generator, { elementCount, stream }) =>
  fillElements(elementCount, (i) => 1 + (Math.floor(stream.uniform(i) * 2 ** (BITS - 1)) + BEYOND) / 2 ** (BITS - 1));
