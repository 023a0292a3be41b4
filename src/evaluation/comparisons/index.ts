import type { Comparison } from '../../core/problem.ts';
import { allclose } from './allclose.ts';
import { calibrated } from './calibrated.ts';
import type { ComparisonRule } from './comparison.ts';
import { conditioned } from './conditioned.ts';
import { exact } from './exact.ts';
import { ulp } from './ulp.ts';

const COMPARISONS: { readonly [K in Comparison['kind']]: ComparisonRule<K> } = {
  exact,
  ulp,
  allclose,
  calibrated,
  conditioned,
};

/** The rule of this comparison. */
export const comparisonRule = (comparison: Comparison): ComparisonRule<Comparison['kind']> =>
  COMPARISONS[comparison.kind] as ComparisonRule<Comparison['kind']>;
