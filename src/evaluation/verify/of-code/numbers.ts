import type { Coverage } from '../../../core/evaluation.ts';
import type { Dimensions } from '../../../core/problem.ts';
import { type Check, DECLARED, extremeCheck, onceAt } from '../../oracle/check.ts';
import { SOME_COST, shapesForConditions } from '../../oracle/checks/for-conditions.ts';
import {
  type ChecksRequest,
  extremeCost,
  hasOneSize,
  MOST_EMULATED_THREADS,
  takesShape,
  threadsOf,
} from '../../oracle/checks/request.ts';
import { furtherGeneratorSets } from '../../oracle/checks/sets.ts';
import { variantSetsOf } from '../../oracle/secret/sets-of-problem.ts';
import { isForLongestVectors } from '../../oracle/secret/variants/index.ts';
import { elementsOf } from '../../oracle/shapes/cost.ts';
import { firstFitting } from '../aimed-shapes.ts';
import { shapesAtLimits, shapesOfDifferences, shapesOfMultiples, shapesOfQuotients } from '../shapes-of-numbers.ts';
import { isLong, type VerifyRequest } from '../verify-request.ts';
import { AT_TURNS } from './launches.ts';

/** Shapes of multiples of the code's numbers. */
const MOST_OF_MULTIPLES = 24;
/** Shapes in which two sizes differ by one of them. */
const MOST_OF_DIFFERENCES = 32;

/** Of a thorough verification: checks of shapes in which a size, or the difference of two, is a whole multiple of a number of the code, of which nothing is left over. */
export function multipleChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { device, module, problem, dimensions: timed, seed, thorough = false } = request;
  if (!thorough || isLong(request)) return [];
  const { isFit, isCheap } = shapesForConditions(choice, []);
  const aim = {
    problem: problem.file,
    timed,
    seed,
    takes: takesShape({ ...choice, fits: undefined }),
    most: SOME_COST,
  };
  const numbers = device.constants?.(module).sizes ?? [];
  const isWanted = (shape: Dimensions): boolean => isCheap(shape) && isFit(shape);
  const found = [
    ...firstFitting(shapesOfMultiples(aim, numbers), isWanted, MOST_OF_MULTIPLES),
    ...firstFitting(shapesOfDifferences(aim, numbers), isWanted, MOST_OF_DIFFERENCES),
  ];
  coverage.drawnShapes = [...coverage.drawnShapes, ...found];
  return found.map((shape) => onceAt(shape, DECLARED));
}

/** A shape at a limit runs with every generator set where it has no more elements. */
const ELEMENTS_WITH_ALL_SETS = 2 ** 22;

/** Of a thorough verification: checks of shapes with the largest size that the candidate's limits allow, also with values that are counted most often. Only for candidates that have such limits. */
export function limitChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { candidate, dimensions: timed, seed, thorough = false } = request;
  const problem = request.problem.file;
  if (!thorough || isLong(request) || !candidate.kernel.file.limits?.length) return [];
  const { flop, elements } = extremeCost(problem, true, 'thorough');
  const most = { flop, elements: hasOneSize(problem) ? AT_TURNS.elementsOfOneSize : elements };
  const { isFit } = shapesForConditions(choice, []);
  const found = shapesAtLimits({ problem, timed, seed, most, takes: takesShape(choice) }).filter(isFit);
  coverage.drawnShapes = [...coverage.drawnShapes, ...found];
  const further = [...furtherGeneratorSets(problem, seed), ...variantSetsOf(problem).filter(isForLongestVectors)];
  return found.flatMap((shape) =>
    [DECLARED, ...(elementsOf(problem, shape) <= ELEMENTS_WITH_ALL_SETS ? further : [])].map((generatorSet) => ({
      ...extremeCheck(shape),
      generatorSet,
    })),
  );
}

/** Of a thorough verification: checks of shapes in which many things are numbered in one and divided by the quotient of two sizes. Only of problems that have such sizes. */
export function quotientChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { problem, dimensions: timed, seed, thorough = false } = request;
  if (!thorough || isLong(request)) return [];
  const most = extremeCost(problem.file, true, 'thorough');
  // Each of the things may have a warp, or a CTA.
  const isQuick = (shape: Dimensions): boolean =>
    threadsOf(choice.launches?.(shape) ?? []) <= MOST_EMULATED_THREADS.wide.beyond16Bits;
  const aim = { problem: problem.file, timed, seed, most, takes: takesShape(choice) };
  const found = shapesOfQuotients(aim).filter(isQuick);
  coverage.drawnShapes = [...coverage.drawnShapes, ...found];
  return found.map(extremeCheck);
}
