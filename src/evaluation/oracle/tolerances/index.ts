import type { ProblemFile, Tolerance } from '../../../core/problem.ts';
import { allclose } from './allclose.ts';
import { calibrated } from './calibrated.ts';
import { conditioned } from './conditioned.ts';
import { exact } from './exact.ts';
import type { ToleranceRule } from './tolerance.ts';
import { ulp } from './ulp.ts';

const TOLERANCES: { readonly [K in Tolerance['kind']]: ToleranceRule<K> } = {
  exact,
  ulp,
  allclose,
  calibrated,
  conditioned,
};

/** The rule of this comparison. */
export const toleranceRule = (comparison: Tolerance): ToleranceRule<Tolerance['kind']> =>
  TOLERANCES[comparison.kind] as ToleranceRule<Tolerance['kind']>;

/** How an output is compared: as it says itself, else as the problem does. */
export const comparisonOf = ({ outputs, comparison }: ProblemFile, output: string): Tolerance =>
  outputs[output]?.comparison ?? comparison;
