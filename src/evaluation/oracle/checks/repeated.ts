import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import { expandBuffers } from '../../../core/plan/expand-buffers.ts';
import { isDomainSet } from '../../../core/plan/generator-sets.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import { type Check, DECLARED, USUAL } from '../check.ts';
import { outputsOf } from '../reference-runs.ts';
import { secretSetOf } from '../secret/secret-set.ts';
import { costsLittle, countElements, elementsIn, largestOf } from '../shapes/cost.ts';
import { listedChecks } from './listed.ts';
import type { ChecksRequest } from './request.ts';

/** Fewest output elements for repeated launches, so that several warps have work; if no check has as many, fewest elements of the inputs. */
const LEAST_REPEATED_ELEMENTS = 1000;

/**
 * The check whose launches are cheapest to repeat: the one with the fewest operations among those with enough outputs for
 * several warps, or enough inputs, otherwise the one with the most outputs. Not one with a domain's special values, if there is another: NaNs in
 * whole rows look the same whatever else the inputs hold.
 */
export function cheapestToRepeat(problem: ProblemFile, checks: readonly Check[]): Check {
  const whole = checks.filter(({ isOnce, isDrawn }) => !isOnce && !isDrawn);
  const telling = whole.filter(({ generatorSet }) => !isDomainSet(problem, generatorSet));
  const costs = (telling.length > 0 ? telling : whole).map((check) => ({
    check,
    flop: evaluateExpression(problem.flop, check.dimensions),
    elements: countElements(outputsOf(expandBuffers(problem, check.dimensions))),
  }));
  const large = costs.filter(({ elements }) => elements >= LEAST_REPEATED_ELEMENTS);
  const wide = costs.filter(({ check }) => elementsIn(problem, check.dimensions) >= LEAST_REPEATED_ELEMENTS);
  const enough = large.length > 0 ? large : wide;
  const [best] =
    enough.length > 0 ? enough.sort((a, b) => a.flop - b.flop) : costs.sort((a, b) => b.elements - a.elements);
  return best!.check;
}

/**
 * Larger checks for a kernel that may remember earlier launches, or look at its output: it may do so for large inputs only. At the largest listed shape, and at the
 * timed one or, if that takes long, the largest drawn one.
 */
export function checksOfMemory(request: ChecksRequest, drawn: readonly Dimensions[]): Check[] {
  const { problem, dimensions: timed } = request;
  const isCheap = (shape: Dimensions): boolean => costsLittle(problem, shape);
  const largest = (shapes: readonly Dimensions[]): Dimensions | undefined => largestOf(problem, shapes.filter(isCheap));
  const shapes = [largest(listedChecks(request).known), isCheap(timed) ? timed : largest(drawn)];
  return shapes
    .filter((shape) => shape !== undefined)
    .map((dimensions) => ({ dimensions, generatorSet: DECLARED, ...USUAL, isDrawn: true, isForMemory: true }));
}

/**
 * Other inputs for a check whose launches are repeated: those of another check of its shape, so that they are drawn only once,
 * or of another seed. Here, too, no special values, and no secret sets, which may first have to be made milder.
 */
export function otherInputs(
  problem: ProblemFile,
  { dimensions, generatorSet }: Check,
  { checks, seed }: { readonly checks: readonly Check[]; readonly seed: number },
): { generatorSet: string; seed: number } {
  const other = checks.find(
    (one) =>
      one.dimensions === dimensions &&
      one.generatorSet !== generatorSet &&
      !isDomainSet(problem, one.generatorSet) &&
      secretSetOf(one.generatorSet) === undefined,
  );
  return other ? { generatorSet: other.generatorSet, seed } : { generatorSet, seed: seed + 1 };
}
