import { isFloating } from '../../core/dtype.ts';
import { unitRoundoff } from '../ulp.ts';
import type { Mutant } from './mutant.ts';

/** Bits of precision given away against the I/O dtype: fp16 becomes bf16. */
const BITS_LOST = 3;

/** Rounds to so many significant bits, whatever the exponent. */
const roundToBits = (bits: number): ((value: number) => number) => {
  // Veltkamp's splitting: the product and the difference round away all but the leading bits.
  const splitter = 2 ** (53 - bits) + 1;
  return (value) => {
    const scaled = value * splitter;
    return Number.isFinite(scaled) ? scaled - (scaled - value) : value;
  };
};

/** Kernels that keep intermediates in too few bits. */
export const precisionMutants: readonly Mutant[] = [
  {
    id: 'low-precision',
    title: `rounds every intermediate to ${BITS_LOST} bits less than the output holds`,
    outputs: ({ outputs, compute }) => {
      const floating = outputs.filter(({ dtype }) => isFloating(dtype));
      if (floating.length === 0) return undefined;
      const fewestBits = Math.min(...floating.map(({ dtype }) => -Math.log2(unitRoundoff(dtype))));
      return compute({ round: roundToBits(fewestBits - BITS_LOST) });
    },
  },
];
