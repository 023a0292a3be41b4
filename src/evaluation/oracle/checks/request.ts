import type { KernelFile, ParameterValues } from '../../../core/kernel.ts';
import { type Dim3, GRID_LIMITS, type PlannedLaunch } from '../../../core/launch-plan.ts';
import { isShapeOf } from '../../../core/plan/dimensions.ts';
import { failedLimit } from '../../../core/plan/limits.ts';
import { failedConstraint } from '../../../core/plan/parameters.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import type { Suite } from '../../../core/suites.ts';
import type { Cost } from '../shapes/cost.ts';
import { openNames } from '../shapes/drawing.ts';

/** What checks are chosen for. */
export interface ChecksRequest {
  readonly problem: ProblemFile;
  readonly kernel: KernelFile;
  readonly parameters: ParameterValues;
  /** The main workload's. */
  readonly dimensions: Dimensions;
  readonly seed: number;
  readonly thorough?: boolean;
  /** Whether shapes as large as users' own are among them. */
  readonly large?: boolean;
  readonly suites?: readonly Suite[] | undefined;
  /** Whether a CPU runs the kernels. Then fewer generator sets fit for a large timed workload. */
  readonly isEmulated?: boolean;
  /** Multiprocessors of the device. */
  readonly smCount?: number;
  /**
   * Whether the device has room for the launches at these dimensions. Otherwise the shape is skipped, as if a limit
   * excluded it.
   */
  readonly fits?: (dimensions: Dimensions) => boolean;
  /** The launches at these dimensions; none if the plan has a mistake, which is reported elsewhere. */
  readonly launches?: (dimensions: Dimensions) => readonly Pick<PlannedLaunch, 'grid' | 'block'>[];
}

export type KernelTaking = Pick<ChecksRequest, 'problem' | 'kernel' | 'parameters' | 'fits'>;

/** Whether dimensions are a shape of the problem, and the kernel takes them. */
export const takesShape =
  ({ problem, kernel, parameters, fits = () => true }: KernelTaking) =>
  (shape: Dimensions): boolean =>
    isShapeOf(problem, shape) &&
    failedLimit(kernel, shape) === undefined &&
    failedConstraint(kernel, parameters, shape) === undefined &&
    fits(shape);

/**
 * What such a shape may cost: on a virtual GPU some tenths of a second, a second in a thorough verification; on a GPU the
 * host's share is the same, and drawing and comparing elements is cheap.
 */
const EXTREME_COST = {
  emulated: { usual: { flop: 2e7, elements: 3e5 }, thorough: { flop: 4e8, elements: 2 ** 23 } },
  measured: { usual: { flop: 2e8, elements: 2 ** 22 }, thorough: { flop: 1e9, elements: 2 ** 24 } },
} as const;

/** Elements of a shape of a problem with one size, where there are few such shapes: one beyond 2²⁰, of two tensors. */
const LEAST_ELEMENTS_OF_ONE_SIZE = 2.2 * 2 ** 20;

export function extremeCost(problem: ProblemFile, isEmulated: boolean, extent: 'usual' | 'thorough'): Cost {
  const { flop, elements } = EXTREME_COST[isEmulated ? 'emulated' : 'measured'][extent];
  return { flop, elements: hasOneSize(problem) ? Math.max(elements, LEAST_ELEMENTS_OF_ONE_SIZE) : elements };
}

export const hasOneSize = (problem: ProblemFile): boolean => openNames(problem).length <= 1;

/**
 * Most threads of a launch sequence for a shape beyond all others. Beyond 65,535 a CPU runs for up to a second where each
 * thread does little; where only 8 bits overflow, a tenth of that shows as much. More where a grid ends at what the hardware
 * allows, so that the kernel has to do the rest some other way.
 */
export const MOST_EMULATED_THREADS = {
  usual: { beyond16Bits: 2 ** 21, otherwise: 2 ** 17 },
  // Of one size, and where the kernel's own conditions ask for it: a warp for each of 65,536 rows, two threads for each of 2²⁰ elements.
  ample: { beyond16Bits: 2 ** 21 + 2 ** 18, otherwise: 2 ** 19 },
  // Where whole numbers of few bits end: a CTA of 256 threads for each four of 65,536 rows.
  wide: { beyond16Bits: 2 ** 23, otherwise: 2 ** 19 },
  endedGrid: 2 ** 25,
  // Of a thorough verification, once.
  large: 2 ** 25,
  // Of a vector that is longer than those: a thread for each element. Of a matrix with two long sides: four, where a grid is rounded up to powers of two.
  longest: 2 ** 27.1,
} as const;

type Extent = 'usual' | 'ample' | 'wide';

const mostEmulatedThreads = (shape: Dimensions, extent: Extent): number =>
  MOST_EMULATED_THREADS[extent][Object.values(shape).some((size) => size >= 2 ** 16) ? 'beyond16Bits' : 'otherwise'];

/** Whether a CPU runs the launches in little time; always on a GPU. */
export function isQuickToRun(
  { isEmulated, launches = () => [] }: ChecksRequest,
  shape: Dimensions,
  extent: Extent = 'usual',
): boolean {
  if (!isEmulated) return true;
  const all = launches(shape);
  const isEnded = all.some(({ grid }) => grid.includes(GRID_LIMITS[1]));
  return threadsOf(all) <= (isEnded ? MOST_EMULATED_THREADS.endedGrid : mostEmulatedThreads(shape, extent));
}

/** Threads of all of these launches. */
export const threadsOf = (launches: readonly Pick<PlannedLaunch, 'grid' | 'block'>[]): number =>
  launches.reduce((sum, { grid, block }) => sum + volumeOf(grid) * volumeOf(block), 0);

const volumeOf = ([x, y, z]: Dim3): number => x * y * z;
