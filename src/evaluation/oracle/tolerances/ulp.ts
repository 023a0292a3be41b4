import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import { ulpAt } from '../ulp.ts';
import { bearing } from './bears-arithmetic.ts';
import type { ToleranceRule } from './tolerance.ts';

/**
 * Every element within so many units in the last place of the correctly rounded result, and √terms more: the last of n additions
 * that err by one unit each, independently, is off by √n. By n where an input holds one value nearly everywhere: then all of them err in
 * the same direction.
 */
export const ulp: ToleranceRule<'ulp'> = {
  needs: () => ({ naive: false, perturbed: false }),
  expect: ({ maximumUlps, terms }, facts) => {
    const { rounded, dtype, dimensions, repeats } = facts;
    const additions = terms === undefined ? 0 : evaluateExpression(terms, dimensions);
    const units = maximumUlps + (repeats ? additions : Math.sqrt(additions));
    const tolerances = new Float64Array(rounded.length);
    for (let i = 0; i < tolerances.length; i++) tolerances[i] = units * ulpAt(rounded[i]!, dtype);
    return bearing(facts, tolerances);
  },
};
