import type { Coverage } from '../../../core/evaluation.ts';
import type { Scope } from '../../../core/plan/scope.ts';
import type { Dimensions } from '../../../core/problem.ts';
import type { Check } from '../../oracle/check.ts';
import { shapesForConditions } from '../../oracle/checks/for-conditions.ts';
import { type ChecksRequest, extremeCost, takesShape } from '../../oracle/checks/request.ts';
import { isWithin } from '../../oracle/shapes/cost.ts';
import { hasSeveralTiles } from '../../oracle/shapes/drawing.ts';
import { aimedShapes } from '../aimed-shapes.ts';
import { shapesOfEqualSizes } from '../equal-sizes.ts';
import { mayBeLaunched } from '../reachable-steps.ts';
import { shapesBeyondReach } from '../shapes-beyond-reach.ts';
import { raggedShapesForSteps, shapesForSteps } from '../step-shapes.ts';
import { numbersOfSteps } from '../threshold-shapes.ts';
import { isLong, type VerifyRequest } from '../verify-request.ts';
import { scopeAt } from './launches.ts';

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

/**
 * Checks of shapes in which conditions of the candidate's code go the way that they have not gone. Only for candidates that have such
 * conditions.
 */
export function aimedChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
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
