import { ulpAt } from '../ulp.ts';
import type { ToleranceRule } from './tolerance.ts';

/** Every element within so many units in the last place of the correctly rounded result. */
export const ulp: ToleranceRule<'ulp'> = {
  needs: () => ({ naive: false, perturbed: false }),
  expect: ({ maximumUlps }, { rounded, dtype }) => ({
    want: rounded,
    tolerances: rounded.map((value) => maximumUlps * ulpAt(value, dtype)),
    groupSize: 1,
  }),
};
