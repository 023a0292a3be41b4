import { isFloating } from '../../core/dtype.ts';
import { evaluateExpression, namesInExpression } from '../../core/expressions/evaluate.ts';
import { completeDimensions } from '../../core/plan/dimensions.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { NORMAL } from './generators/generator.ts';
import { comparisonOf } from './tolerances/index.ts';

/**
 * Sums of so many terms are judged although they are longer than all others, and no longer ones of an unknown length. Where units in the last
 * place are counted, longer ones up to so many times as long as a workload of the problem, whose author wants those judged: serial sums of 2.6 million exponentials were
 * beyond √n units in five of six rows, by up to 43 %, and of 1.6 million at 74 % of them at most.
 */
const LONG_SUM = 2 ** 17;
const BEYOND_WORKLOADS = 1.5;

/**
 * The same where a tolerance grows with the root of their number, and serial sums of sorted rows err by more: they were beyond it in two of 60 rows of 130,000
 * values, and in none of 60 of 92,000.
 */
export const LONG_CALIBRATED_SUM = 1.2 * 2 ** 16;

/**
 * Whether a tolerance holds for honest kernels where sums get longer than in the other shapes. Beside a large dimension the
 * others are as small as 1, so that a sum over indices may have equal terms, whose rounding errors add up beyond any
 * tolerance. Where a comparison does not name the terms, the tolerance does not grow with them; and where it grows with their root only, tensor
 * cores, which cut off what does not fit, were beyond it at a million terms.
 */
export function canJudgeSums(problem: ProblemFile, shape: Dimensions, others: readonly Dimensions[]): boolean {
  const longest = Math.max(...others.map((other) => longestSum(problem, other)));
  if (longestSum(problem, shape) > longest && !isContinuous(problem)) return false;
  if (followsLongSums(problem)) return true;
  const lengthOf = namesItsTerms(problem) ? longestSum : longestReduced;
  const kinds = new Set(comparisonsOf(problem).map(({ kind }) => kind));
  if (kinds.has('calibrated')) return lengthOf(problem, shape) <= LONG_CALIBRATED_SUM;
  if (kinds.has('allclose') || kinds.has('conditioned')) return lengthOf(problem, shape) <= LONG_SUM;
  const wanted = problem.workloads.map(({ dimensions }) =>
    lengthOf(problem, completeDimensions(problem.dimensions, dimensions)),
  );
  return lengthOf(problem, shape) <= Math.max(LONG_SUM, BEYOND_WORKLOADS * Math.max(...wanted));
}

/** The largest dimension that is summed over, as far as the problem says; otherwise the largest of all. */
function longestReduced(problem: ProblemFile, shape: Dimensions): number {
  const summed = summedOver(problem);
  return Math.max(...(summed.length > 0 ? summed.map((name) => shape[name]!) : Object.values(shape)));
}

/** Whether every input holds numbers of a distribution that rarely repeats one. */
const isContinuous = ({ inputs }: ProblemFile): boolean =>
  Object.values(inputs).every(({ dtype, generator = NORMAL }) => isFloating(dtype) && CONTINUOUS.has(generator.kind));

const CONTINUOUS: ReadonlySet<string> = new Set(['normal', 'uniform', 'positive']);

const comparisonsOf = (problem: ProblemFile) =>
  Object.keys({ ...problem.inputs, ...problem.outputs }).map((name) => comparisonOf(problem, name));

/** Whether every comparison is exact or names the terms of its sums. */
const namesItsTerms = (problem: ProblemFile): boolean =>
  comparisonsOf(problem).every(
    (comparison) => comparison.kind === 'exact' || ('terms' in comparison && comparison.terms !== undefined),
  );

/** The most terms that a comparison names at these dimensions. */
const longestSum = (problem: ProblemFile, dimensions: Dimensions): number =>
  Math.max(
    ...comparisonsOf(problem)
      .map((comparison) => ('terms' in comparison && comparison.terms !== undefined ? comparison.terms : 0))
      .map((terms) => evaluateExpression(terms, dimensions)),
  );

const FOLLOWS_LONG_SUMS: ReadonlySet<string> = new Set(['exact', 'conditioned']);

/** Whether every tolerance allows for what a running sum loses. */
export const followsLongSums = (problem: ProblemFile): boolean =>
  Object.keys({ ...problem.inputs, ...problem.outputs }).every((name) =>
    FOLLOWS_LONG_SUMS.has(comparisonOf(problem, name).kind),
  );

/** Dimensions of the axis that the operation reduces over: what is split, capped and merged in most kernels. */
export function summedOver({ reducedAxis, inputs }: ProblemFile): string[] {
  const extent = reducedAxis && inputs[reducedAxis.input]?.shape[reducedAxis.axis];
  return typeof extent === 'string' ? namesInExpression(extent) : [];
}
