import { bearing } from './bears-arithmetic.ts';
import type { ToleranceRule } from './tolerance.ts';

/**
 * |got − want| ≤ atol + rtol · |want| with `want` rounded to the output's dtype, as in torch.testing.assert_close and
 * numpy.testing.assert_allclose. NaN passes where NaN is wanted.
 */
export const allclose: ToleranceRule<'allclose'> = {
  needs: () => ({ naive: false, perturbed: false }),
  expect: ({ atol, rtol }, facts) => {
    const { rounded } = facts;
    const tolerances = new Float64Array(rounded.length);
    for (let i = 0; i < tolerances.length; i++) {
      const size = Math.abs(rounded[i]!);
      if (Number.isFinite(size)) tolerances[i] = atol + rtol * size;
    }
    return bearing(facts, tolerances);
  },
};
