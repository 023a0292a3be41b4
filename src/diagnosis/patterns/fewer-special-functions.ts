import type { Pattern } from '../pattern.ts';
import { more, movesOr, rungs } from './moves.ts';

/** Fewer trips through the special-function units for the same result. */
export const fewerSpecialFunctions: Pattern = {
  id: 'fewer-special-functions',
  title: 'Use fewer special functions, and fold their scales',
  source:
    'FlashAttention-2: exp2 with log2(e) folded into the scale; FlashAttention-4: part of the exponentials as polynomials',
  triggers: ['special-function-bound'],
  propose: movesOr(
    'exp2f with log2(e) folded into the scale instead of expf, one reciprocal per row instead of a division per ' +
      'element, and a polynomial on the fp32 pipe for part of the exponentials.',
    rungs(0.6, 'it needs fewer special functions'),
    more('column-tile', 0.2, 'larger tiles rescale running sums less often'),
  ),
};
