import { fillElements, type Generate } from './generator.ts';

/** Significant bits of tf32 operands, and how far beyond them every value lies, in units of their last place. */
const BITS = 11;
const BEYOND = 0.4;

/**
 * Positive values between 1 and 2 that all lie 0.4 units beyond what 11 significant bits hold. An operand rounded or cut
 * to 11, 12 or 13 bits errs in the same direction everywhere, so that long sums show it, which random values average out.
 */
export const offGrid: Generate<'off-grid'> = (_generator, { elementCount, stream }) =>
  fillElements(elementCount, (i) => 1 + (Math.floor(stream.uniform(i) * 2 ** (BITS - 1)) + BEYOND) / 2 ** (BITS - 1));
