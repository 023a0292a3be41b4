import { isEquality, type ObservedDecision } from '../../core/decisions.ts';
import type { Coverage } from '../../core/evaluation.ts';
import { isShapeOf } from '../../core/plan/dimensions.ts';
import type { Dimensions } from '../../core/problem.ts';
import { isSame } from '../../core/values.ts';
import { createStream } from '../../stats/random.ts';
import { type Check, onceAt } from '../oracle/check.ts';
import { type ChecksRequest, takesShape } from '../oracle/checks/request.ts';
import { shapeForValues } from '../oracle/checks/variants.ts';
import { setsAbout, setsOfIntegersAbout, setsOfSteps, setsOfWholesUpTo } from '../oracle/secret/kinds/constants.ts';
import { setsOfExactly } from '../oracle/secret/kinds/exactly.ts';
import { setsOfWords } from '../oracle/secret/kinds/words.ts';
import { costsLittle } from '../oracle/shapes/cost.ts';
import { openNames } from '../oracle/shapes/drawing.ts';
import { foreseen } from './aimed-shapes.ts';
import type { VerifyRequest } from './verify-request.ts';

/** How many generator sets are tried for numbers of the code, and for how many of those whose conditions went both ways. */
const SETS_OF_CONSTANTS = { usual: { all: 6, bothWays: 2 }, thorough: { all: 10, bothWays: 6 } } as const;

/** Of whole numbers that values are compared with: most of them. */
const MOST_INTEGERS = 6;

/**
 * Checks with inputs about as large as what the candidate's code compares values with, and with inputs that are exactly what it asks for.
 * Only for code that does.
 */
export function constantChecks(request: VerifyRequest, choice: ChecksRequest, coverage: Coverage): Check[] {
  const { problem, thorough = false } = request;
  const decisions = valueDecisions(request);
  const floats = decisions.filter(({ isFloat }) => isFloat);
  const [oneWay, bothWays] = [true, false].map((isOneWay) =>
    floats
      .filter(({ wasTrue, wasFalse }) => (wasTrue && wasFalse) !== isOneWay)
      .flatMap(({ constant }) => setsAbout(problem.file, constant)),
  ) as [string[], string[]];
  const most = SETS_OF_CONSTANTS[thorough ? 'thorough' : 'usual'];
  const about = [...new Set([...oneWay, ...bothWays.slice(0, most.bothWays)])];
  const exactly = floats.filter(({ comparison }) => isEquality(comparison)).map(({ constant }) => constant);
  const whole = decisions.filter(({ isFloat }) => !isFloat);
  const integers = whole.flatMap(({ constant }) => setsOfIntegersAbout(problem.file, constant));
  const exactIntegers = whole.filter(({ comparison }) => isEquality(comparison)).map(({ constant }) => constant);
  const words = setsOfWords(problem.file, exactIntegers);
  const upTo = floats.map(({ constant }) => constant);
  const gaps = request.device.constants?.(request.module).gaps ?? [];
  const steps = thorough ? setsOfSteps(problem.file, gaps).slice(0, MOST_INTEGERS) : [];
  const wholes = thorough ? setsOfWholesUpTo(problem.file, upTo).slice(0, MOST_INTEGERS) : [];
  const sets = [
    ...about.slice(0, most.all),
    ...setsOfExactly(problem.file, exactly),
    ...words,
    ...[...new Set(integers)].slice(0, MOST_INTEGERS),
    ...wholes,
  ];
  const dimensions = shapeForValues(choice, coverage.drawnShapes);
  // Sizes may bound whole numbers, and the timed ones are usual.
  const isBesideTimed = costsLittle(problem.file, request.dimensions) && !isSame(dimensions, request.dimensions);
  const places = whole.map(({ constant }) => constant);
  const long = thorough ? longShapes(choice, coverage.drawnShapes, places) : [];
  return [
    ...sets.map((generatorSet) => onceAt(dimensions, generatorSet)),
    ...long.flatMap((shape) => [...about.slice(0, most.all), ...steps].map((set) => onceAt(shape, set))),
    ...(isBesideTimed ? words : []).map((generatorSet) => onceAt(request.dimensions, generatorSet)),
  ];
}

/** How long rows are where values are aimed at, and how many of them there are: as many as cost little. */
const LONG = { least: 10_000, spread: 10_000, rows: [16, 8, 4, 2, 1] } as const;

/**
 * Of each dimension that is not of independent parts: a shape that costs little and in which it is large, and beyond the whole numbers that the code compares values with. Where
 * in a row a value lies may matter from a place on, as in `where >= 10000 && maximum > 40`.
 */
function longShapes(choice: ChecksRequest, drawn: readonly Dimensions[], places: readonly number[]): Dimensions[] {
  const { problem, seed, dimensions: timed } = choice;
  const { independentDimensions = [] } = problem;
  const takes = takesShape(choice);
  const open = openNames(problem);
  const lot = createStream(seed, 'long rows of aimed values');
  const least = Math.max(LONG.least, ...places.filter((place) => place < LONG.spread * LONG.rows[0]));
  const longest = open
    .filter((name) => !independentDimensions.includes(name))
    .map((name, i) => {
      const size = least + Math.floor(lot.uniform(i) * LONG.spread);
      const shapes = LONG.rows.flatMap((rows) =>
        [timed, ...drawn].map(
          (like): Dimensions => ({ ...like, ...Object.fromEntries(open.map((other) => [other, rows])), [name]: size }),
        ),
      );
      return shapes.find((shape) => isShapeOf(problem, shape) && costsLittle(problem, shape) && takes(shape));
    });
  return longest.filter((shape) => shape !== undefined);
}

/** Comparisons with a number that do not follow from the launch. */
function valueDecisions(request: VerifyRequest): (ObservedDecision & { constant: number })[] {
  const ofValues = new Set(placesOfValues(request));
  return (request.device.decisions?.(request.module).decisions ?? []).flatMap((decision, place) => {
    const { constant, isFloat } = decision;
    const isOfValues = isFloat || ofValues.has(place);
    return isOfValues && constant !== undefined && Number.isFinite(constant) ? [{ ...decision, constant }] : [];
  });
}

/** Places of the decisions that do not follow from the launch. */
export function placesOfValues({ device, module, planFor, dimensions }: VerifyRequest): number[] {
  const all = device.decisions?.(module).decisions ?? [];
  const ofLaunch = foreseen({ device, module, planFor }, dimensions, [...all.keys()]);
  return all.flatMap(({ isSettled }, place) => (isSettled || ofLaunch.has(place) ? [] : [place]));
}
