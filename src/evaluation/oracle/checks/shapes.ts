import type { Dimensions } from '../../../core/problem.ts';
import { canJudgeSums } from '../judgeable-sums.ts';
import { referenceLimits } from '../reference-process/reference-host.ts';
import { shapesAtPowers } from '../shapes/around.ts';
import { drawBeyondMemory } from '../shapes/beyond-memory.ts';
import { hostBytesOf } from '../shapes/cost.ts';
import { drawShapes } from '../shapes/drawn.ts';
import { shapesOfEachListed } from '../shapes/each-listed.ts';
import { largestShapes } from '../shapes/extremes.ts';
import { drawShapesToSample, largeShapes, longestShapes, longRow, longSides, longSums } from '../shapes/large.ts';
import { middleShapes } from '../shapes/middle.ts';
import { drawOptions } from '../shapes/options.ts';
import { drawPartlyAligned, drawVectorMultiples } from '../shapes/partly-aligned.ts';
import { drawRandomSmall } from '../shapes/random-small.ts';
import { thinShapes } from '../shapes/thin.ts';
import { wideShapes } from '../shapes/wide.ts';
import { listedChecks } from './listed.ts';
import {
  type ChecksRequest,
  extremeCost,
  hasOneSize,
  isQuickToRun,
  MOST_EMULATED_THREADS,
  takesShape,
  threadsOf,
} from './request.ts';

/** Number of drawn shapes of every verification, and of a thorough one. */
const DRAWN_SHAPES = { usual: 3, thorough: 5 } as const;

/** How many options of a problem come together in small shapes, and in how many shapes at most. */
const OPTIONS = { usual: { together: 2, most: 8 }, thorough: { together: 3, most: 32 } } as const;

/** In how many shapes some sizes are whole tiles and the others are not. */
const PARTLY_ALIGNED_SHAPES = { usual: 3, thorough: 14 } as const;

/** Of a thorough verification: shapes with a dimension at a power of two or beside one. */
const POWERS_OF_TWO = 40;

/** Of a thorough verification: shapes of middle sizes, for each dimension. */
const MIDDLE_SHAPES = 2;

/** The same beside several tiles of every other dimension. */
const WIDE_SHAPES = { emulated: 10, measured: 4 } as const;

/**
 * Of a thorough verification: small shapes that have nothing else in common. On a virtual GPU they take some seconds; a real one needs as many messages for
 * each as for a large one, and a virtual one looks besides.
 */
const RANDOM_SMALL_SHAPES = { emulated: 1000, measured: 200 } as const;

/** How much more than others a long shape may cost that is there for one listed value: there is one for each. */
const LISTED_FACTOR = 4;

/** Shapes with one dimension very long beside few of each other one; one for each dimension where there are many. */
const THIN_SHAPES = 3;

/** In how many dimensions, at most, a shape is drawn that is much larger than all others. */
const EXTREME_SHAPES = { usual: 2, thorough: 8 } as const;

/** What one check may take of a host's memory, in bytes. More costs seconds, because the system has to clear it first. */
const MOST_HOST_BYTES = Math.min(6 * 2 ** 30, referenceLimits.memoryBytes);

/** Shapes beside the listed ones, by why they are there. */
export interface ChosenShapes {
  readonly drawn: readonly Dimensions[];
  readonly extremes: readonly Dimensions[];
  /** Dimensions that the kernel leaves no choice. */
  readonly fixed: string[];
  /** Options that come together. */
  readonly options: readonly Dimensions[];
  /** Whole tiles in some dimensions. */
  readonly partlyAligned: readonly Dimensions[];
  /** Of a thorough verification. */
  readonly vectorMultiples: readonly Dimensions[];
  /** Sizes at powers of two. */
  readonly powers: readonly Dimensions[];
  /** Sizes between the usual and the largest ones. */
  readonly middle: readonly Dimensions[];
  /** Small ones, without any aim. */
  readonly randomSmall: readonly Dimensions[];
  /** Of a problem that is one long sum: lengths at which its end is looked for. */
  readonly longSums: readonly Dimensions[];
  /** As large as users' own: drawn ones, and the problem's workloads. */
  readonly large: readonly Dimensions[];
  /** The same, long in one direction alone. */
  readonly thin: readonly Dimensions[];
  readonly workloads: readonly Dimensions[];
  /** Matrices with two long sides, and vectors longer than those. */
  readonly longest: readonly Dimensions[];
  /** Rows so long that not every kind of inputs bears to be summed over them. */
  readonly longRows: readonly Dimensions[];
}

export function chooseShapes(request: ChecksRequest, known: readonly Dimensions[]): ChosenShapes {
  const { problem, dimensions: timed, seed, thorough = false, large = false } = request;
  const { isEmulated = false, launches = () => [] } = request;
  const extent = thorough ? 'thorough' : 'usual';
  const speed = isEmulated ? 'emulated' : 'measured';
  const takes = takesShape(request);
  const emulatedThreads = isEmulated ? (shape: Dimensions) => threadsOf(launches(shape)) : undefined;
  const isJudged = (shape: Dimensions): boolean => canJudgeSums(problem, shape, [timed, ...known]);
  const isQuick = (shape: Dimensions): boolean => isQuickToRun(request, shape);
  const ample = thorough || hasOneSize(problem) ? 'ample' : 'usual';
  const isFit = (shape: Dimensions): boolean => isQuickToRun(request, shape, ample) && isJudged(shape);
  const isLargeFit = (shape: Dimensions): boolean =>
    (emulatedThreads?.(shape) ?? 0) <= MOST_EMULATED_THREADS.large && isJudged(shape);
  const most = extremeCost(problem, isEmulated, extent);
  const source = { problem, takes, timed, seed };
  const around = { ...source, most, isFit };
  const { shapes, extremes, fixed } = drawShapes({
    ...{ ...source, known, emulatedThreads, count: DRAWN_SHAPES[extent] },
    extremes: { count: EXTREME_SHAPES[extent], most, isFit, isFarFit: thorough ? isLargeFit : undefined },
  });
  const largest = (): ReturnType<typeof largeShapes> =>
    largeShapes({ problem, timed, seed, isFit: (shape) => takes(shape) && isLargeFit(shape) });
  const { drawn, thin, workloads } = thorough && large ? largest() : { drawn: [], thin: [], workloads: [] };
  const isLongestFit = (shape: Dimensions): boolean =>
    hostBytesOf(problem, shape) <= MOST_HOST_BYTES &&
    takes(shape) &&
    (emulatedThreads?.(shape) ?? 0) <= MOST_EMULATED_THREADS.longest &&
    isJudged(shape);
  const longest =
    thorough && large
      ? [
          ...longSides({ problem, timed, seed, isFit: isLongestFit }),
          ...longestShapes({ problem, timed, seed, isFit: isLongestFit }),
        ]
      : [];
  const isRowFit = (shape: Dimensions): boolean => takes(shape) && isQuickToRun(request, shape, 'ample');
  return {
    ...{ drawn: shapes, extremes, fixed, large: drawn, thin, workloads, longest },
    longRows: thorough && large ? longRow({ problem, timed, seed, isFit: isRowFit }) : [],
    options: drawOptions({
      ...{ problem, takes, seed, emulatedThreads, ...OPTIONS[extent] },
      known: [timed, ...known, ...shapes],
    }),
    partlyAligned: drawPartlyAligned({ ...source, isQuick, most: PARTLY_ALIGNED_SHAPES[extent] }),
    vectorMultiples: thorough ? drawVectorMultiples({ ...source, isQuick }) : [],
    powers: thorough ? shapesAtPowers(source, POWERS_OF_TWO).filter(isQuick) : [],
    randomSmall: thorough ? drawRandomSmall({ ...source, isQuick, count: RANDOM_SMALL_SHAPES[speed] }) : [],
    longSums: thorough ? longSums({ problem, timed, seed, isFit: (shape) => takes(shape) && isFit(shape) }) : [],
    middle: thorough
      ? [
          ...middleShapes(around, MIDDLE_SHAPES),
          ...wideShapes(around, WIDE_SHAPES[speed]),
          ...thinShapes(around, THIN_SHAPES),
          ...shapesOfEachListed({ ...around, most: { ...most, flop: LISTED_FACTOR * most.flop } }),
        ]
      : [],
  };
}

/** Shapes so large that only a sample of their CTAs can be run. */
export function shapesToSample(request: ChecksRequest): Dimensions[] {
  const { problem, dimensions: timed, seed } = request;
  const { known } = listedChecks(request);
  const takes = takesShape(request);
  const isFit = (shape: Dimensions): boolean => takes(shape) && canJudgeSums(problem, shape, [timed, ...known]);
  return drawShapesToSample({ problem, timed, seed, isFit });
}

/** Shapes larger than a virtual device's memory, of which a sample of CTAs is run, too. */
export function shapesBeyondMemory(request: ChecksRequest): Dimensions[] {
  const { problem, dimensions: timed, seed } = request;
  const { known } = listedChecks(request);
  const takes = takesShape({ ...request, fits: undefined });
  const isFit = (shape: Dimensions): boolean => takes(shape) && canJudgeSums(problem, shape, [timed, ...known]);
  return drawBeyondMemory({ problem, timed, seed, isFit });
}

/** The largest shapes that a thorough verification may draw on a GPU, on any device: a plan that fails there fails at once, and not by lot. */
export const shapesToPlan = (request: ChecksRequest): Dimensions[] =>
  largestShapes(
    { problem: request.problem, takes: takesShape(request), timed: request.dimensions },
    extremeCost(request.problem, false, 'thorough'),
  );
