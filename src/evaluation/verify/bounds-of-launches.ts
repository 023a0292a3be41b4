import type { ObservedDecision } from '../../core/decisions.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { openNames } from '../oracle/shapes/drawing.ts';
import { type Aim, foreseen, functionsIn } from './aimed-shapes.ts';

/** Bits of the sizes that are tried, shapes that are varied for each choice of functions, and choices. Planning larger ones may fill memory with a workspace's contents, and says nothing more of sums and products. */
const SIZES = { leastBits: 1, mostBits: 20 } as const;
const BASES = 2;
const MOST_FUNCTIONS = 8;

/** In so many shapes a decision must be foreseen. */
const LEAST_FORESEEN = 12;

/**
 * Decisions about bounds that fit every launch: with one row a CTA, `row < rows` is true in all shapes, and the last row is as far below the bound in one shape as in any other. They are told by that: what is compared are
 * sums and products of arguments and the thread's place, and the difference where it is closest is the same in shapes of every size. So no shape lets them go the other way.
 *
 * @returns places among the module's decisions.
 */
export function boundsOfLaunches(
  { device, module, planFor, problem }: Pick<Aim, 'device' | 'module' | 'planFor'> & { readonly problem: ProblemFile },
  shapes: readonly Dimensions[],
): ReadonlySet<number> {
  const observed = device.decisions?.(module).decisions ?? [];
  const open = observed.flatMap((decision, place) => (isOneWay(decision) ? [place] : []));
  if (open.length === 0) return new Set();
  const margins = new Map<number, Margin>();
  for (const shape of [...shapes, ...shapesOfEverySize({ planFor, problem }, shapes)]) {
    const asked = open.filter((place) => !margins.get(place)?.varies);
    for (const [place, { margin }] of foreseen({ device, module, planFor }, shape, asked))
      if (margin) margins.set(place, withOneMore(margins.get(place), margin()));
  }
  return new Set(
    [...margins].flatMap(([place, { count, varies }]) => (count >= LEAST_FORESEEN && !varies ? [place] : [])),
  );
}

/** By how much what is compared differs where it is closest, in so many shapes. */
interface Margin {
  readonly value: number;
  readonly count: number;
  readonly varies: boolean;
}

const withOneMore = (known: Margin | undefined, value: number): Margin => ({
  value,
  count: (known?.count ?? 0) + 1,
  varies: known !== undefined && known.value !== value,
});

const isOneWay = ({ kind, wasTrue, wasFalse, isSettled, dependsOn }: ObservedDecision): boolean =>
  kind === 'comparison' && wasTrue !== wasFalse && !isSettled && dependsOn === 'launch';

/** Shapes like these with one dimension beside a power of two; nothing is run there. */
function shapesOfEverySize(
  { planFor, problem }: Pick<Aim, 'planFor'> & { readonly problem: ProblemFile },
  shapes: readonly Dimensions[],
): Dimensions[] {
  const bits = Array.from({ length: SIZES.mostBits - SIZES.leastBits + 1 }, (_, i) => SIZES.leastBits + i);
  const byFunctions = Map.groupBy(shapes, (shape) => functionsIn(() => planFor(shape)).join());
  const bases = [...byFunctions.values()].slice(0, MOST_FUNCTIONS).flatMap((alike) => alike.slice(0, BASES));
  return bases.flatMap((base) =>
    openNames(problem).flatMap((name) =>
      bits.flatMap((bit) => [2 ** bit, 2 ** bit + 1].map((size) => ({ ...base, [name]: size }))),
    ),
  );
}
