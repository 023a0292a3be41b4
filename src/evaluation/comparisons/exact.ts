import type { ComparisonRule } from './comparison.ts';

/** Every element equals the oracle rounded to the output's dtype. Zeros of either sign are equal. */
export const exact: ComparisonRule<'exact'> = {
  needs: () => ({ naive: false, perturbed: false }),
  expect: (_comparison, { rounded }) => ({
    want: rounded,
    tolerances: new Float64Array(1),
    groupSize: rounded.length,
  }),
};
