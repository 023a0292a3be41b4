import type { Coverage } from '../../core/evaluation.ts';
import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import { placedSteps } from '../../core/plan/declared-steps.ts';
import { completeDimensions } from '../../core/plan/dimensions.ts';
import { planScope, type Scope } from '../../core/plan/scope.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { distinctValues } from '../../core/values.ts';
import { byLot } from '../../stats/random.ts';
import { type Check, DECLARED, extremeCheck, onceAt } from '../oracle/check.ts';
import { SOME_COST, shapesForConditions } from '../oracle/checks/for-conditions.ts';
import {
  type ChecksRequest,
  extremeCost,
  hasOneSize,
  MOST_EMULATED_THREADS,
  takesShape,
  threadsOf,
} from '../oracle/checks/request.ts';
import { furtherGeneratorSets, secretSetsInTurn } from '../oracle/checks/sets.ts';
import { canJudgeSums, summedOver } from '../oracle/judgeable-sums.ts';
import { secretSetsOf, variantSetsOf } from '../oracle/secret/sets-of-problem.ts';
import { isForLongestVectors, showsEnds } from '../oracle/secret/variants/index.ts';
import { type Cost, costsLittle, elementsOf, isWithin } from '../oracle/shapes/cost.ts';
import { hasSeveralTiles, openNames } from '../oracle/shapes/drawing.ts';
import { hasUsualSums, isJudgedLongRow } from '../oracle/shapes/large.ts';
import { aimedShapes, firstFitting } from './aimed-shapes.ts';
import { constantChecks } from './checks-of-values.ts';
import { shapesOfEqualSizes } from './equal-sizes.ts';
import { shapesAtGridEdges } from './grid-edges.ts';
import { irregularSizes, numbersOfExpressions, rareShapes } from './irregular-sizes.ts';
import { jointShapes } from './joint-shapes.ts';
import { choicesIn, shapesForChoices, withFewerMultiprocessors } from './launch-expressions.ts';
import { shapesOfManyParts } from './many-parts.ts';
import { mayBeLaunched } from './reachable-steps.ts';
import { scarceWayChecks } from './scarce-ways.ts';
import { shapesOfSeldomWays } from './seldom-ways.ts';
import { shapesAroundProducts } from './shapes-around-products.ts';
import { shapesBeyondReach } from './shapes-beyond-reach.ts';
import { shapesAtLimits, shapesOfMultiples, shapesOfQuotients } from './shapes-of-numbers.ts';
import { raggedShapesForSteps, shapesAtTurns, shapesForSteps } from './step-shapes.ts';
import { numbersOfLaunches, numbersOfSteps, shapesAtThresholds } from './threshold-shapes.ts';
import { type ShapeOfTiles, shapesOfTileCounts } from './tile-counts.ts';
import { isLong, type VerifyRequest } from './verify-request.ts';

/** How many shapes are drawn for conditions that went one way: cheap ones, and those that take some seconds. */
const AIMED_SHAPES = {
  ample: { most: 4, ofEach: { least: 2, most: 3 } },
  cheap: { most: 3, ofEach: { least: 1, most: 3 } },
  dear: { most: 1, ofEach: { least: 1, most: 1 } },
  ragged: 4,
  equal: 4,
} as const;

/**
 * In how many shapes every function should be launched, and shapes for that. A winner's are cheap ones, which run with every generator set: a path for two bins is right for most sizes and
 * most values.
 */
const OF_STEPS = { usual: { ofEach: 3, most: 4 }, thorough: { ofEach: 6, most: 10 } } as const;

/** Sizes that are whole tiles of any kernel, and how many shapes with one are looked at where sizes are to be equal. */
const WHOLE_TILES = [64, 128, 192, 256, 320, 768];
const MOST_OF_WHOLE_TILES = 24;
/** Shapes of few elements, and dear ones, that are looked at there first: one size may be large. */
const FEW = 4;

/** What the expressions of the candidate's kernel.json may name. */
const scopeAt = ({ problem, candidate, device }: VerifyRequest, dimensions: Dimensions): Scope =>
  planScope({
    ...{ problem: problem.file, parameters: candidate.parameters, dimensions },
    device: { smCount: device.spec.smCount.value },
  });

/**
 * Checks of shapes in which conditions of the candidate's code go the way that they have not gone. Only for candidates that have such
 * conditions.
 */
function aimedChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { device, module, planFor } = request;
  if (!device.decisions || isLong(request)) return [];
  const { cheap, ample, dear, varied, poolAround, isFit, isCheap, checksAt } = shapesForConditions(
    choice,
    device.constants?.(module).sizes ?? [],
  );
  const aim = { device, module, planFor, isFit };
  const drawn = [...coverage.drawnShapes];
  const isAmple = (shape: Dimensions): boolean => hasSeveralTiles(request.problem.file, shape);
  drawn.push(...aimedShapes({ ...aim, pool: ample, drawn: drawn.filter(isAmple), ...AIMED_SHAPES.ample }));
  drawn.push(...aimedShapes({ ...aim, pool: cheap, drawn, ...AIMED_SHAPES.cheap }));
  drawn.push(...aimedShapes({ ...aim, pool: dear, drawn, ...AIMED_SHAPES.dear }));
  const wholeTiles = (): readonly Dimensions[] => poolAround(WHOLE_TILES).slice(0, MOST_OF_WHOLE_TILES);
  const most = extremeCost(request.problem.file, true, request.thorough ? 'thorough' : 'usual');
  const equal = {
    ...aim,
    problem: request.problem.file,
    pool: () => [...cheap().slice(0, FEW), ...dear().slice(0, FEW), ...wholeTiles(), ...ample()],
    isCheap: (shape: Dimensions) => isWithin(most, request.problem.file, shape),
  };
  drawn.push(...shapesOfEqualSizes({ ...equal, drawn: drawn.filter(isAmple), most: AIMED_SHAPES.equal }));
  const ofSteps = {
    ...{ planFor, isFit, drawn, functions: mayBeLaunched(request) },
    ...OF_STEPS[request.thorough ? 'thorough' : 'usual'],
    counts: request.thorough ? isCheap : () => true,
  };
  const ofConditions = numbersOfSteps(request.candidate.kernel.file).flatMap((size) => [size, 2 * size, 3 * size]);
  drawn.push(...shapesForSteps({ ...ofSteps, pool: () => [...poolAround(ofConditions), ...varied()] }));
  const { candidate, dimensions: timed, seed } = request;
  const { file: problem } = request.problem;
  const scopeOf = (dimensions: Dimensions): Scope => scopeAt(request, dimensions);
  drawn.push(
    ...raggedShapesForSteps({
      ...{ problem, kernel: candidate.kernel.file, timed, seed, scopeOf, isCheap, isFit, drawn },
      most: AIMED_SHAPES.ragged,
    }),
  );
  const found = drawn.slice(coverage.drawnShapes.length);
  coverage.drawnShapes = drawn;
  return found.flatMap(checksAt);
}

/** Shapes too dear to be run whole in which conditions go the way that they have gone in no check, a list for each. */
export function dearShapes(request: VerifyRequest, choice: ChecksRequest): Dimensions[][] {
  const { device, module, planFor, problem } = request;
  const takes = takesShape(choice);
  const sizes = device.constants?.(module).sizes ?? [];
  return shapesBeyondReach({ device, module, planFor, problem: problem.file, sizes, takes });
}

/** How many shapes of irregular sizes are run. */
const MOST_IRREGULAR = 4;

/** Checks of sizes at which the launches are not as at the sizes beside them: about sizes, not inputs. Only for candidates that have such. */
function irregularChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { candidate, dimensions, thorough } = request;
  const problem = request.problem.file;
  if (isLong(request)) return [];
  const scope = scopeAt(request, dimensions);
  const open = openNames(problem);
  const { file: kernel } = candidate.kernel;
  const irregular = irregularSizes(kernel, scope, open);
  const sizes = [...new Set([...irregular.map(({ size }) => size), ...numbersOfExpressions(kernel)])];
  const rare = rareShapes(kernel, scope, open).map((shape) => ({ ...dimensions, ...shape }));
  if (sizes.length === 0 && rare.length === 0) return [];
  const { poolAround, isFit } = shapesForConditions(choice, []);
  const beside = sizes.length === 0 ? [] : poolAround(sizes, thorough ? 'whole' : 'cheap');
  const ofEach = (thorough ? irregular : []).flatMap(({ name, size }) =>
    firstFitting(
      beside.filter((shape) => shape[name] === size),
      isFit,
      1,
    ),
  );
  const found = distinctValues([
    ...firstFitting(rare, isFit, MOST_IRREGULAR),
    ...ofEach,
    ...firstFitting(beside, isFit, MOST_IRREGULAR),
  ]);
  coverage.drawnShapes = [...coverage.drawnShapes, ...found];
  // What is left out at such a size is often a few elements of a row, which weigh little among those of the declared inputs.
  const inRows = thorough && secretSetsOf(problem).includes('secret:rows') ? ['secret:rows'] : [];
  return found.flatMap((shape) =>
    [DECLARED, ...inRows].map((generatorSet) => ({ ...extremeCheck(shape), generatorSet })),
  );
}

/** From how many shapes edges of grids are sought, and how many shapes at edges are run. */
const AT_EDGES = { usual: { bases: 1, most: 4 }, thorough: { bases: 3, most: 16 } } as const;

/** Checks of shapes in which the last tile of a launch is full, and of those with one element more. */
function edgeChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { planFor, seed, thorough = false } = request;
  const problem = request.problem.file;
  if (isLong(request)) return [];
  const { isFit, isCheap } = shapesForConditions(choice, []);
  const { bases, most } = AT_EDGES[thorough ? 'thorough' : 'usual'];
  const cheap = byLot(coverage.drawnShapes.filter(isCheap), seed, 'shapes whose grids have edges');
  const found = shapesAtGridEdges({
    ...{ problem, planFor, most, bases: cheap.slice(0, bases) },
    isFit: (shape) => isCheap(shape) && isFit(shape),
  });
  coverage.drawnShapes = [...coverage.drawnShapes, ...found];
  return found.map(extremeCheck);
}

/** Shapes beside sizes from which other functions are launched, and what one may cost: of one size there are few, and they may be long. */
const AT_TURNS = { most: 8, elementsOfOneSize: 2.1 * 2 ** 23 } as const;

/** Of a thorough verification: checks of shapes beside sizes at which other steps begin to run. Only for candidates whose steps have conditions. */
function turnChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { candidate, dimensions: timed, planFor, thorough = false } = request;
  const problem = request.problem.file;
  const hasConditions = placedSteps(candidate.kernel.file.steps).some(({ step: { when } }) => when !== undefined);
  if (!thorough || isLong(request) || !hasConditions) return [];
  const { flop, elements } = extremeCost(problem, true, 'thorough');
  const most = { flop, elements: hasOneSize(problem) ? AT_TURNS.elementsOfOneSize : elements };
  const { isFit } = shapesForConditions(choice, []);
  const turns = shapesAtTurns({ problem, planFor, timed, takes: takesShape(choice) });
  const found = firstFitting(turns, (shape) => isWithin(most, problem, shape) && isFit(shape), AT_TURNS.most);
  coverage.drawnShapes = [...coverage.drawnShapes, ...found];
  return found.map(extremeCheck);
}

/** Shapes in which a grid has very many CTAs. */
const MOST_OF_MANY_PARTS = 24;

/** Of a thorough verification: checks of shapes in which there is more to merge than a warp or a CTA merges at once. Only for candidates that merge. */
function manyPartsChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { candidate, thorough = false, seed } = request;
  const problem = request.problem.file;
  if (!thorough || isLong(request)) return [];
  const { file: kernel } = candidate.kernel;
  const parts = shapesOfManyParts({ problem, kernel, scope: scopeAt(request, request.dimensions), seed });
  const most = extremeCost(problem, true, 'thorough');
  const { isFit } = shapesForConditions(choice, []);
  const found = firstFitting(
    parts.filter((shape) => isWithin(most, problem, shape)),
    isFit,
    MOST_OF_MANY_PARTS,
  );
  coverage.drawnShapes = [...coverage.drawnShapes, ...found];
  return found.map(extremeCheck);
}

/**
 * Shapes with telling numbers of tiles; what one may cost, and how many elements all of them together may have. A problem of one size has some dear ones, too: 1,021 tiles
 * of 8,192 elements are eight million.
 */
const OF_TILES = {
  usual: { most: 48, cost: { flop: 5e7, elements: 2.2 * 2 ** 20 }, together: 2 ** 23 },
  dear: { most: 3, cost: { flop: 2e8, elements: 2.1 * 2 ** 23 }, together: 2 ** 25 },
} as const;

/** So many shapes at most, what one of them may cost, and how many elements all may have. */
interface Affordable {
  readonly most: number;
  readonly cost: Cost;
  readonly together: number;
}

/** GPUs of so few multiprocessors have several rounds of few tiles. */
const FEW_MULTIPROCESSORS = [2, 3, 5, 6, 7] as const;

/** Of a thorough verification: checks of shapes in which a tile is left over after whole rounds of a grid, or the number of tiles is one of the code's. */
function tileCountChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { candidate, device, dimensions, module, planFor, seed, thorough = false } = request;
  const problem = request.problem.file;
  if (!thorough || isLong(request)) return [];
  const { isFit } = shapesForConditions(choice, []);
  const onFew = !device.measuring && JSON.stringify(candidate.kernel.file.steps).includes('device.smCount');
  const few = onFew ? byLot(FEW_MULTIPROCESSORS, seed, 'few multiprocessors').slice(0, 2) : [];
  const shapes = shapesOfTileCounts({
    ...{ problem, planFor, seed, timed: dimensions, parameters: candidate.parameters, takes: takesShape(choice) },
    numbers: [...new Set([...(device.constants?.(module).sizes ?? []), ...numbersOfLaunches(candidate.kernel.file)])],
    multiprocessors: [undefined, ...few],
  });
  const affordable = (from: readonly ShapeOfTiles[], { most, cost, together }: Affordable): ShapeOfTiles[] => {
    let left = together;
    const isTaken = ({ dimensions: shape }: ShapeOfTiles): boolean => {
      if (!isWithin(cost, problem, shape) || elementsOf(problem, shape) > left || !isFit(shape)) return false;
      left -= elementsOf(problem, shape);
      return true;
    };
    return firstFitting(from, isTaken, most);
  };
  const dear = shapes.filter(({ dimensions: shape }) => !isWithin(OF_TILES.usual.cost, problem, shape));
  const found = [
    ...affordable(shapes, OF_TILES.usual),
    ...(hasOneSize(problem) ? affordable(dear, OF_TILES.dear) : []),
  ];
  coverage.drawnShapes = [...coverage.drawnShapes, ...found.map((one) => one.dimensions)];
  // A tile is little of a long sum as declared.
  const showing = variantSetsOf(problem).filter(showsEnds);
  return found.map(({ dimensions: shape, name, multiprocessors }, i) => {
    const isSummed = showing.length > 0 && summedOver(problem).includes(name);
    return { ...onceAt(shape, isSummed ? showing[i % showing.length]! : DECLARED), multiprocessors };
  });
}

/** Of shapes beside numbers with which the candidate compares sizes. */
const MOST_AT_THRESHOLDS = 8;

/** Checks of shapes beside the numbers with which the candidate's code compares sizes. Only for candidates that do. */
function thresholdChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
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
function jointChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
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
function seldomChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
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

/** Shapes of multiples of the code's numbers. */
const MOST_OF_MULTIPLES = 24;

/** Of a thorough verification: checks of shapes in which a size is a whole multiple of a number of the code, of which nothing is left over. */
function multipleChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
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
  const shapes = shapesOfMultiples(aim, device.constants?.(module).sizes ?? []);
  const found = firstFitting(shapes, (shape) => isCheap(shape) && isFit(shape), MOST_OF_MULTIPLES);
  coverage.drawnShapes = [...coverage.drawnShapes, ...found];
  return found.map((shape) => onceAt(shape, DECLARED));
}

/** A shape at a limit runs with every generator set where it has no more elements. */
const ELEMENTS_WITH_ALL_SETS = 2 ** 22;

/** Of a thorough verification: checks of shapes with the largest size that the candidate's limits allow, also with values that are counted most often. Only for candidates that have such limits. */
function limitChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
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
function quotientChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
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

/** Checks that follow from the candidate's own code, each kind after the runs of those before. */
export const CHECKS_OF_CODE = [
  ...[aimedChecks, irregularChecks, edgeChecks, turnChecks, manyPartsChecks, tileCountChecks],
  ...[thresholdChecks, jointChecks, seldomChecks, multipleChecks, limitChecks, quotientChecks, constantChecks],
] as const;
