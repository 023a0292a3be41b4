import type { ObservedDecision, Ways } from '../../core/decisions.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { elementsOf } from '../oracle/shapes/cost.ts';
import { flagsOf, openNames } from '../oracle/shapes/drawing.ts';
import { type Aim, foreseen } from './aimed-shapes.ts';
import { leastShapeWith } from './least-shape.ts';

export interface BeyondReach extends Pick<Aim, 'device' | 'module' | 'planFor'> {
  readonly problem: ProblemFile;
  /** Whole numbers of the code. */
  readonly sizes: readonly number[];
  /** Whether the kernel takes a shape. */
  readonly takes: (dimensions: Dimensions) => boolean;
}

/** Sizes beside a number of the code, what the host may draw, shapes in a list, and lists. */
const BEYOND = { beside: [1.05, 1.3, 2.1], leastSize: 1024, elements: 2 ** 25, shapes: 3, lists: 6 } as const;

/** Of dimensions that list their values, so many combinations at most. */
const MOST_LISTED = 12;

/**
 * Shapes in which conditions of the launch go a way that they went in no check, because every such shape takes too long: `max(row - 16384, 0)` where the work grows with the
 * square of the size. One dimension is beyond a number of the code and the others are small. A list for each such condition and each choice of flags, the cheapest shape first; a few CTAs of one can be run.
 */
export function shapesBeyondReach(beyond: BeyondReach): Dimensions[][] {
  const { device, module, problem } = beyond;
  const observed = device.decisions?.(module).decisions ?? [];
  const open = observed.flatMap((decision, place) => (isOneWay(decision) ? [place] : []));
  const pool = open.length === 0 ? [] : poolOf(beyond);
  // A condition may count with one value of a flag only, such as a mask.
  const flags = flagsOf(problem);
  const found = new Map<string, Dimensions[]>();
  for (const shape of pool)
    for (const [place, ways] of foreseen(beyond, shape, open)) {
      const key = `${place} ${flags.map((name) => shape[name])}`;
      const known = found.get(key) ?? [];
      if (known.length < BEYOND.shapes && goesOtherWay(observed[place]!, ways)) found.set(key, [...known, shape]);
    }
  const unlike = new Map([...found.values()].map((shapes) => [JSON.stringify(shapes), shapes]));
  return [...unlike.values()].slice(0, BEYOND.lists);
}

const isOneWay = ({ wasTrue, wasFalse, isSettled, dependsOn }: ObservedDecision): boolean =>
  wasTrue !== wasFalse && !isSettled && dependsOn !== 'values';

const goesOtherWay = ({ wasTrue }: Ways, ways: Ways): boolean => (wasTrue ? ways.wasFalse : ways.wasTrue);

/** The cheapest first. */
function poolOf({ problem, sizes, takes }: BeyondReach): Dimensions[] {
  const large = sizes
    .filter((size) => size >= BEYOND.leastSize)
    .flatMap((size) => BEYOND.beside.map((by) => Math.ceil(size * by)));
  const shapes = openNames(problem).flatMap((name) =>
    large.flatMap((size) =>
      listedIn(problem)
        .map((listed) => leastShapeWith(problem, { ...listed, [name]: size }))
        .filter((shape) => shape !== undefined),
    ),
  );
  return shapes
    .filter((shape) => takes(shape) && elementsOf(problem, shape) <= BEYOND.elements)
    .toSorted((a, b) => elementsOf(problem, a) - elementsOf(problem, b));
}

/** Combinations of listed values. */
function listedIn({ dimensions }: ProblemFile): Record<string, number>[] {
  let combined: Record<string, number>[] = [{}];
  for (const [name, { values }] of Object.entries(dimensions))
    if (values && combined.length * values.length <= MOST_LISTED)
      combined = combined.flatMap((one) => values.map((value) => ({ ...one, [name]: value })));
  return combined;
}
