import { isFloating } from '../../../core/dtype.ts';
import { WarpsmithError } from '../../../core/errors.ts';
import type { ProblemFile } from '../../../core/problem.ts';
import { rounderFor } from '../../../core/rounding.ts';
import { unitRoundoff } from '../../oracle/ulp.ts';
import type { Mutant } from './mutant.ts';

/** Bits of precision lost relative to the I/O dtype: fp16 becomes bf16. */
const BITS_LOST = 3;

/**
 * Significant bits of operands: tf32, which tensor cores use for fp32, and two more, as in two-part splits that drop a
 * part.
 */
const OPERAND_BITS = [11, 13];

/** Kernels that round fp32 operands; sums and everything else stay exact. */
export function operandMutants(problem: ProblemFile): Mutant[] {
  const isNarrow = Object.values(problem.inputs).every(
    ({ dtype }) => !isFloating(dtype) || unitRoundoff(dtype) > 2 ** -24,
  );
  if (isNarrow) return [];
  return OPERAND_BITS.map((bits) => ({
    id: `operands-of-${bits}-bits`,
    title: `rounds its operands to ${bits} significant bits${bits === 11 ? ', as tf32 does' : ''}`,
    outputs: ({ inputs, compute }) => {
      const round = rounderFor({ significantBits: bits });
      const rounded = Object.entries(inputs).map(([name, values]) => [name, values.map((value) => round(value))]);
      return compute({ inputs: Object.fromEntries(rounded) });
    },
  }));
}

/** A reference in Python that takes no `round` has no intermediates to round: the mistake can't be played. */
function unlessRoundsNothing(error: unknown): undefined {
  if (error instanceof WarpsmithError && error.details.code === 'reference-rounds-nothing') return undefined;
  throw error;
}

/** Kernels that keep intermediates in too few bits. */
export const precisionMutants: readonly Mutant[] = [
  {
    id: 'low-precision',
    title: `rounds every intermediate to ${BITS_LOST} bits less than the output holds`,
    outputs: ({ outputs, compute }) => {
      const floating = outputs.filter(({ dtype }) => isFloating(dtype));
      if (floating.length === 0) return undefined;
      const fewestBits = Math.min(...floating.map(({ dtype }) => -Math.log2(unitRoundoff(dtype))));
      return compute({ rounding: { significantBits: fewestBits - BITS_LOST } }).catch(unlessRoundsNothing);
    },
  },
];
