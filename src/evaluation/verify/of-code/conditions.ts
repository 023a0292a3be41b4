import type { Coverage } from '../../../core/evaluation.ts';
import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import { completeDimensions } from '../../../core/plan/dimensions.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import { byLot } from '../../../stats/random.ts';
import { type Check, DECLARED, extremeCheck, onceAt } from '../../oracle/check.ts';
import { shapesForConditions } from '../../oracle/checks/for-conditions.ts';
import { type ChecksRequest, takesShape } from '../../oracle/checks/request.ts';
import { furtherGeneratorSets, secretSetsInTurn } from '../../oracle/checks/sets.ts';
import { canJudgeSums } from '../../oracle/judgeable-sums.ts';
import { costsLittle, isWithin } from '../../oracle/shapes/cost.ts';
import { hasUsualSums, isJudgedLongRow } from '../../oracle/shapes/large.ts';
import { jointShapes } from '../joint-shapes.ts';
import { choicesIn, shapesForChoices, withFewerMultiprocessors } from '../launch-expressions.ts';
import { scarceWayChecks } from '../scarce-ways.ts';
import { shapesOfSeldomWays } from '../seldom-ways.ts';
import { shapesAroundProducts } from '../shapes-around-products.ts';
import { numbersOfLaunches, numbersOfSteps, shapesAtThresholds } from '../threshold-shapes.ts';
import { isLong, type VerifyRequest } from '../verify-request.ts';

/** Of shapes beside numbers with which the candidate compares sizes. */
const MOST_AT_THRESHOLDS = 8;

/** Checks of shapes beside the numbers with which the candidate's code compares sizes. Only for candidates that do. */
export function thresholdChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { device, module, planFor, dimensions: timed, candidate, seed, thorough = false } = request;
  if (!device.decisions || isLong(request)) return [];
  const { poolAround, isFit, checksAtThreshold } = shapesForConditions(choice, []);
  // Dear ones are for numbers that cheap ones do not reach.
  const poolsAround = (sizes: readonly number[]): (readonly Dimensions[])[] => [
    poolAround(sizes),
    thorough ? poolAround(sizes, 'whole') : [],
  ];
  const shapes = shapesAtThresholds({
    ...{ device, module, planFor, isFit, timed, seed, poolsAround, kernel: candidate.kernel.file },
    drawn: coverage.drawnShapes,
    most: MOST_AT_THRESHOLDS,
  });
  coverage.drawnShapes = [...coverage.drawnShapes, ...shapes.map(({ dimensions }) => dimensions)];
  let untimed = 0;
  return shapes.flatMap(({ dimensions, isUntimed }) =>
    checksAtThreshold(dimensions, isUntimed, isUntimed ? untimed++ : untimed),
  );
}

/** Shapes in which rare ways of conditions come together. */
const MOST_JOINT = { usual: 6, thorough: 16 } as const;

/** Checks of shapes in which rare ways of several conditions of the candidate's code come together. */
export function jointChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { device, module, planFor, problem, dimensions: timed, seed, thorough = false } = request;
  if (!device.decisions || isLong(request)) return [];
  const { isFit, isCheap, sizes } = shapesForConditions(choice, device.constants?.(module).sizes ?? []);
  const shapes = jointShapes({
    ...{ device, module, planFor, isFit, isCheap, sizes, timed, seed },
    problem: problem.file,
    drawn: [
      ...problem.file.checkShapes.map(({ dimensions }) => completeDimensions(problem.file.dimensions, dimensions)),
      ...coverage.drawnShapes,
    ].filter((shape) => isCheap(shape)),
    most: MOST_JOINT[thorough ? 'thorough' : 'usual'],
  });
  coverage.drawnShapes = [...coverage.drawnShapes, ...shapes];
  return shapes.map((dimensions) => onceAt(dimensions, DECLARED));
}

/** Shapes in which conditions go ways that they seldom go. */
const MOST_SELDOM = 96;

/** Of a thorough verification: checks of shapes in which conditions of sizes go ways that they have gone in few shapes. */
export function seldomChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { device, module, planFor, problem, seed, thorough = false } = request;
  if (!thorough || !device.decisions || isLong(request)) return [];
  const { isFit, isCheap, sizes } = shapesForConditions(choice, device.constants?.(module).sizes ?? []);
  const shapes = shapesOfSeldomWays({
    ...{ device, module, planFor, isFit, isCheap, seed, sizes, drawn: coverage.drawnShapes.filter(isCheap) },
    problem: problem.file,
    most: MOST_SELDOM,
  });
  coverage.drawnShapes = [...coverage.drawnShapes, ...shapes];
  // A scale that is 2 % off shows where scores are large: each way meets as many sets as it meets shapes.
  const sets = byLot(setsBesideDeclared(problem.file, seed), seed, 'inputs of shapes of seldom ways');
  return shapes.flatMap((dimensions, i) =>
    [DECLARED, ...(hasUsualSums(problem.file, dimensions) ? sets.slice(i % sets.length).slice(0, 1) : [])].map((set) =>
      onceAt(dimensions, set),
    ),
  );
}

const setsBesideDeclared = (problem: ProblemFile, seed: number): string[] => [
  ...furtherGeneratorSets(problem, seed),
  ...secretSetsInTurn(problem, seed),
];

/** Shapes in which scarce ways of conditions are met with other inputs. */
const MOST_SCARCE = 8;

/** Of a thorough verification: checks with which each way of a condition of sizes is met with every generator set. */
export function scarceChecks(request: VerifyRequest, choice: ChecksRequest, ran: readonly Check[]): Check[] {
  const { device, module, planFor, problem, seed, thorough = false } = request;
  if (!thorough || !device.decisions || isLong(request)) return [];
  const { isFit, isCheap } = shapesForConditions(choice, []);
  const sets = [DECLARED, ...setsBesideDeclared(problem.file, seed)];
  const isSmall = (shape: Dimensions): boolean => isCheap(shape) && costsLittle(problem.file, shape);
  const onOtherGpus = withFewerMultiprocessors(request, ran, isSmall).map(({ dimensions, multiprocessors }) => ({
    ...onceAt(dimensions, DECLARED),
    multiprocessors,
  }));
  const ofWays = scarceWayChecks({
    ...{ device, module, planFor, isFit, ran, sets },
    problem: problem.file,
    choicesIn: (shape) => choicesIn(request, { dimensions: shape }).keys(),
    takes: takesShape(choice),
    isCheap: isSmall,
    most: MOST_SCARCE,
  });
  return [...onOtherGpus, ...ofWays];
}

/** What a shape may cost that is run for a choice of a launch alone, how many there are at most, and in how many dimensions one is larger than it must be. */
const FOR_CHOICES = { cost: { flop: 4e9, elements: 2 ** 25 }, most: 3, dimensions: 3 } as const;

/**
 * Of a thorough verification: checks of shapes in which expressions of kernel.json come out as they have in no check, because others are cheaper: `M * N <= 1048576` is false, where
 * K is 1,024 and more. A simulator may take too long for one.
 */
export function choiceChecks(request: VerifyRequest, choice: ChecksRequest, ran: readonly Check[]): Check[] {
  const { device, candidate, dimensions: timed, thorough = false } = request;
  const problem = request.problem.file;
  if (!thorough || !device.decisions || isLong(request)) return [];
  const takes = takesShape(choice);
  const known = [timed, ...ran.map(({ dimensions }) => dimensions)];
  const isJudged = (shape: Dimensions): boolean =>
    isWithin(FOR_CHOICES.cost, problem, shape) &&
    (canJudgeSums(problem, shape, known) || isJudgedLongRow(problem, shape));
  const numbers = [...numbersOfLaunches(candidate.kernel.file), ...numbersOfSteps(candidate.kernel.file)];
  const pool = (): Dimensions[] =>
    shapesAroundProducts({ problem, numbers: [...new Set(numbers)], listed: timed, most: FOR_CHOICES.dimensions })
      .filter((shape) => isJudged(shape) && takes(shape))
      .map((shape) => ({ shape, flop: evaluateExpression(problem.flop, shape) }))
      .toSorted((a, b) => a.flop - b.flop)
      .map(({ shape }) => shape);
  const found = shapesForChoices(request, ran, { takes, pool });
  return found.slice(0, FOR_CHOICES.most).map((shape) => ({ ...extremeCheck(shape), isLarge: true }));
}
