import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import { ulpAt, unitRoundoff } from '../ulp.ts';
import type { ComparisonRule } from './comparison.ts';

/**
 * |got − want| ≤ c · ε · √n · Σ|x| + ½ ulp: the probabilistic error bound of a sum of n terms in precision ε, plus the
 * rounding of the result to the output's dtype. Σ|x| is the reference applied to the inputs' absolute values, which is
 * right for everything that is a sum of products of its inputs.
 * Source: N. J. Higham and T. Mary, "A new approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 2019.
 */
export const conditioned: ComparisonRule<'conditioned'> = {
  needs: { naive: false, magnitude: true },
  expect: ({ constant, unit, terms }, { oracle, magnitude, dtype, dimensions }) => {
    const scale = constant * unitRoundoff(unit) * Math.sqrt(evaluateExpression(terms, dimensions));
    return {
      want: oracle,
      tolerances: oracle.map((value, i) => scale * Math.abs(magnitude![i]!) + ulpAt(value, dtype) / 2),
      groupSize: 1,
    };
  },
};
