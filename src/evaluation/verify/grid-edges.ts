import type { LaunchPlan } from '../../core/launch-plan.ts';
import { rememberedAt } from '../../core/once-for.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { distinctValues } from '../../core/values.ts';
import { openNames } from '../oracle/shapes/drawing.ts';
import { firstFitting } from './aimed-shapes.ts';
import { launchesOf } from './verify-request.ts';

/** What shapes at edges of grids are sought from. */
export interface EdgeAim {
  readonly problem: ProblemFile;
  readonly planFor: (dimensions: Dimensions) => LaunchPlan;
  /** Shapes of which one size after the other grows. */
  readonly bases: readonly Dimensions[];
  readonly isFit: (dimensions: Dimensions) => boolean;
  readonly most: number;
}

/** How far beyond a size an edge is sought. */
const FARTHEST = 2 ** 16;

/**
 * The largest size for which a launch has as many CTAs as for a smaller one, and the next: the last tile is then full, or has one element. Launches
 * are only planned, whatever expressions their grids have: one like `ceilDiv(N - 1, 1536)` has an edge at 1537, where an element is left over.
 */
export function shapesAtGridEdges({ problem, planFor, bases, isFit, most }: EdgeAim): Dimensions[] {
  const edges = bases.flatMap((base) =>
    openNames(problem).flatMap((name) => {
      const of = (size: number): Dimensions => ({ ...base, [name]: size });
      const planned = new Map<number, number[]>();
      const gridsOf = (size: number): number[] =>
        rememberedAt(planned, size, () => launchesOf(() => planFor(of(size))).flatMap(({ grid }) => grid));
      const start = base[name]!;
      return gridsOf(start).flatMap((_, axis) => {
        const next = firstOtherSize(start, (size) => gridsOf(size)[axis]);
        return next === undefined ? [] : [of(next - 1), of(next)];
      });
    }),
  );
  return firstFitting(distinctValues(edges), isFit, most);
}

/** The first size for which the count is not as it is for `start`. None where it differs for every size, as in a grid with a CTA for each row. */
export function firstOtherSize(start: number, countOf: (size: number) => number | undefined): number | undefined {
  const count = countOf(start);
  const differs = (size: number): boolean => countOf(size) !== count;
  if (count === undefined || (differs(start + 1) && countOf(start + 1) !== countOf(start + 2))) return undefined;
  let [same, other] = [start, start + 1];
  for (let step = 1; !differs(other); step *= 2) {
    if (step > FARTHEST) return undefined;
    [same, other] = [other, other + step];
  }
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2);
    if (differs(middle)) other = middle;
    else same = middle;
  }
  return countOf(other) === undefined ? undefined : other;
}
