import type { ToleranceRule } from './tolerance.ts';

/** Every element equals the oracle rounded to the output's dtype. Zeros of either sign are equal. */
export const exact: ToleranceRule<'exact'> = {
  needs: () => ({ naive: false, perturbed: false }),
  expect: (_comparison, { rounded }) => ({
    want: rounded,
    tolerances: new Float64Array(1),
    groupSize: rounded.length,
  }),
};
