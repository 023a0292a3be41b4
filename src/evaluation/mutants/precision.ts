import { isFloating } from '../../core/dtype.ts';
import { unitRoundoff } from '../ulp.ts';
import type { Mutant } from './mutant.ts';

/** Bits of precision given away against the I/O dtype: fp16 becomes bf16. */
const BITS_LOST = 3;

/** Kernels that keep intermediates in too few bits. */
export const precisionMutants: readonly Mutant[] = [
  {
    id: 'low-precision',
    title: `rounds every intermediate to ${BITS_LOST} bits less than the output holds`,
    outputs: ({ outputs, compute }) => {
      const floating = outputs.filter(({ dtype }) => isFloating(dtype));
      if (floating.length === 0) return undefined;
      const fewestBits = Math.min(...floating.map(({ dtype }) => -Math.log2(unitRoundoff(dtype))));
      return compute({ rounding: { significantBits: fewestBits - BITS_LOST } });
    },
  },
];
