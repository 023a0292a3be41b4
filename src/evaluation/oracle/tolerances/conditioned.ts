import { type DType, isFloating } from '../../../core/dtype.ts';
import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import { ulpAt, unitRoundoff } from '../ulp.ts';
import { conditionOf } from './condition.ts';
import { exact } from './exact.ts';
import { groupSizeOf, maximumPerGroup } from './groups.ts';
import { naiveErrorsOf, namesAny } from './naive-errors.ts';
import { type Expectation, type OutputFacts, type ToleranceRule, wantOf } from './tolerance.ts';

/**
 * Partial sums stay within the result plus this many standard deviations of a random walk over the terms, in any order of
 * addition.
 */
const WALK = 3;

/**
 * Terms of one sign are added to sums that are much larger, and what is lost of them does not cancel: of squares of normal
 * numbers, of which many are small, n additions in precision u lose 0.033 · (n · u)^1.5 of the sum. (Rounding t to a grid of step g
 * errs by 2 · ζ(−½, ½) · g^1.5 · f on average where t's density is f ÷ √t.) A sum of 1.2 million squares, one after the other in
 * fp32, erred by 0.034 · (n · u)^1.5.
 */
const LOST = 0.05;

/**
 * Allowed error of n operations in precision u: `constant` · u · √n · (|y| + 3 · condition). Every partial result of a sum
 * of n terms lies within |y| + 3 · √Σ t² (a random walk that ends at y), each addition errs by u of it, and n independent
 * errors add up to √n of one. Below the normal numbers an operation errs by the smallest subnormal instead; flushing those
 * to zero is not allowed. Partial results that are never below `magnitude` err by u of that: a sum of which the logarithm is nearly 0 is 1. Where values of the inputs repeat, errors are not independent: n of them add up to n. Source of √n: N. J. Higham and T. Mary, "A new approach to probabilistic rounding error
 * analysis", SIAM J. Sci. Comput. 2019.
 */
export function arithmeticErrors(
  facts: OutputFacts,
  {
    constant,
    unit,
    operations,
    magnitude = 0,
  }: { constant: number; unit: DType; operations: number; magnitude?: number | undefined },
): Float64Array {
  const scale = constant * (facts.placed ? operations : Math.sqrt(operations));
  const [relative, least] = [scale * unitRoundoff(unit), scale * ulpAt(0, unit)];
  const errors = conditionOf(facts);
  const { oracle } = facts;
  for (let i = 0; i < errors.length; i++) {
    const size = Math.abs(oracle[i]!);
    errors[i] = Number.isFinite(size) ? relative * (Math.max(size, magnitude) + WALK * errors[i]!) + least : 0;
  }
  return errors;
}

/**
 * Allowed error ÷ the largest of the naive run in its row. A formula such as 1 + erf(x) loses digits that no input shows:
 * what the reference loses where it rounds, a kernel may, too.
 */
const NAIVE_FACTOR = 2;

function addNaive(tolerances: Float64Array, facts: OutputFacts, naive: Float64Array): void {
  const groupSize = groupSizeOf(facts.shape);
  for (const [group, error] of maximumPerGroup(naiveErrorsOf(facts, naive), groupSize).entries()) {
    const end = Math.min(tolerances.length, (group + 1) * groupSize);
    for (let i = group * groupSize; i < end; i++) tolerances[i] = tolerances[i]! + NAIVE_FACTOR * error;
  }
}

/**
 * |got − want| ≤ the error of `terms` operations in `unit`, plus what a sum of as many terms of one sign loses, plus ½ ulp for rounding
 * the result to the output's dtype, plus twice what a naive run with the roundings that problem.json names loses.
 */
export const conditioned: ToleranceRule<'conditioned'> = {
  needs: ({ roundings }) => ({ naive: namesAny(roundings), perturbed: true }),
  expect: ({ constant, unit, terms, roundings, magnitude }, facts) => {
    const { oracle, dtype, dimensions, naive } = facts;
    if (!isFloating(dtype)) return exact.expect({ kind: 'exact' }, facts);
    const operations = evaluateExpression(terms, dimensions);
    const tolerances = arithmeticErrors(facts, { constant, unit, operations, magnitude });
    const lost = LOST * (operations * unitRoundoff(unit)) ** 1.5;
    for (let i = 0; i < tolerances.length; i++) {
      const size = Math.abs(oracle[i]!);
      tolerances[i] = tolerances[i]! + ulpAt(size, dtype) / 2 + (Number.isFinite(size) ? lost * size : 0);
    }
    if (naive && namesAny(roundings)) addNaive(tolerances, facts, naive);
    return { want: wantOf(facts), tolerances, groupSize: 1 } satisfies Expectation;
  },
};
