import type { Coverage } from '../../../core/evaluation.ts';
import { placedSteps } from '../../../core/plan/declared-steps.ts';
import { planScope, type Scope } from '../../../core/plan/scope.ts';
import type { Dimensions } from '../../../core/problem.ts';
import { distinctValues } from '../../../core/values.ts';
import { byLot } from '../../../stats/random.ts';
import { type Check, DECLARED, extremeCheck, onceAt } from '../../oracle/check.ts';
import { shapesForConditions } from '../../oracle/checks/for-conditions.ts';
import { type ChecksRequest, extremeCost, hasOneSize, takesShape } from '../../oracle/checks/request.ts';
import { summedOver } from '../../oracle/judgeable-sums.ts';
import { secretSetsOf, variantSetsOf } from '../../oracle/secret/sets-of-problem.ts';
import { showsEnds } from '../../oracle/secret/variants/index.ts';
import { type Cost, elementsOf, isWithin } from '../../oracle/shapes/cost.ts';
import { openNames } from '../../oracle/shapes/drawing.ts';
import { firstFitting } from '../aimed-shapes.ts';
import { shapesAtGridEdges } from '../grid-edges.ts';
import { irregularSizes, numbersOfExpressions, rareShapes } from '../irregular-sizes.ts';
import { shapesOfManyParts } from '../many-parts.ts';
import { shapesAtTurns } from '../step-shapes.ts';
import { numbersOfLaunches } from '../threshold-shapes.ts';
import { type ShapeOfTiles, shapesOfTileCounts } from '../tile-counts.ts';
import { isLong, type VerifyRequest } from '../verify-request.ts';

/** What the expressions of the candidate's kernel.json may name. */
export const scopeAt = ({ problem, candidate, device }: VerifyRequest, dimensions: Dimensions): Scope =>
  planScope({
    ...{ problem: problem.file, parameters: candidate.parameters, dimensions },
    device: { smCount: device.spec.smCount.value },
  });

/** How many shapes of irregular sizes are run. */
const MOST_IRREGULAR = 4;

/** Checks of sizes at which the launches are not as at the sizes beside them: about sizes, not inputs. Only for candidates that have such. */
export function irregularChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
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
export function edgeChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
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
export const AT_TURNS = { most: 8, elementsOfOneSize: 2.1 * 2 ** 23 } as const;

/** Of a thorough verification: checks of shapes beside sizes at which other steps begin to run. Only for candidates whose steps have conditions. */
export function turnChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
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
export function manyPartsChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
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
export function tileCountChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
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
