import { isEquality, type Ways } from '../../core/decisions.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { elementsOf } from '../oracle/shapes/cost.ts';
import { openNames } from '../oracle/shapes/drawing.ts';
import { type Aim, firstFitting, foreseen } from './aimed-shapes.ts';

/** What shapes in which two sizes are equal are worked out from. */
export interface EqualSizesAim extends Pick<Aim, 'device' | 'module' | 'planFor' | 'isFit' | 'drawn' | 'most'> {
  readonly problem: ProblemFile;
  /** Cheap shapes, in the order in which they are tried; a dimension of each is changed. */
  readonly pool: () => readonly Dimensions[];
  readonly isCheap: (dimensions: Dimensions) => boolean;
}

/** Shapes of which one dimension is changed, fewer where a size is compared with a constant; and how often it is. */
const SEARCH = { bases: 48, ofConstants: 8, steps: 6, step: 48 } as const;

/** Sizes beside a root: a quotient is the same for several. */
const BESIDE = [0, 1, -1, 2, -2, 3, -3] as const;

/**
 * Shapes in which two sizes are equal that the code compares, or a size and a constant: `N == 3 * M`, `ceilDiv(K, 16) == 896`. The secant's way leads there, since what is compared is mostly linear in a dimension. Only
 * those in which more comparisons hold that ask for equality than in any drawn shape in which these two sizes are equal: `N == 3 * M && M % 64 == 0`. Found by working the
 * conditions out, without running anything.
 */
export function shapesOfEqualSizes(aim: EqualSizesAim): Dimensions[] {
  const observed = aim.device.decisions?.(aim.module).decisions ?? [];
  const asking = observed.flatMap(({ comparison, isSettled }, place) =>
    isEquality(comparison) && !isSettled ? [place] : [],
  );
  const isEqual = (place: number, { wasTrue, wasFalse }: Ways): boolean =>
    observed[place]!.comparison.startsWith('eq') ? wasTrue : wasFalse;
  const heldIn = (shape: Dimensions): number =>
    [...foreseen(aim, shape, asking)].filter(([place, ways]) => isEqual(place, ways)).length;
  const open = openNames(aim.problem);
  const equations = mostHeldWhere(aim, asking, heldIn);
  const pool = equations.size === 0 ? [] : aim.pool();
  const found = new Map<string, { readonly shape: Dimensions; readonly held: number }>();
  for (const [place, mostHeld] of equations)
    for (const base of pool.slice(0, observed[place]!.constant === undefined ? SEARCH.bases : SEARCH.ofConstants))
      for (const shape of open.flatMap((name) => rootsBeside(aim, { place, base, name }))) {
        const held = heldIn(shape);
        if (held > mostHeld) found.set(JSON.stringify(shape), { shape, held });
      }
  const inTurn = [...found.values()]
    .toSorted((a, b) => b.held - a.held || elementsOf(aim.problem, b.shape) - elementsOf(aim.problem, a.shape))
    .map(({ shape }) => shape);
  return firstFitting(inTurn, aim.isFit, aim.most);
}

/** Comparisons of two sizes, and how many comparisons held, at most, in drawn shapes in which the two are equal; −1 if they are in none. */
function mostHeldWhere(
  aim: EqualSizesAim,
  asking: readonly number[],
  heldIn: (shape: Dimensions) => number,
): Map<number, number> {
  const most = new Map<number, number>();
  const constantOf = (place: number): number | undefined =>
    aim.device.decisions?.(aim.module).decisions[place]?.constant;
  for (const shape of aim.drawn)
    for (const [place, { gap }] of foreseen(aim, shape, asking))
      if (gap !== undefined) most.set(place, Math.max(most.get(place) ?? -1, gap === 0 ? heldIn(shape) : -1));
  // A remainder equals its constant in many shapes, and each by itself says little.
  return new Map([...most].filter(([place, held]) => held < 0 || constantOf(place) === undefined));
}

interface Root {
  readonly place: number;
  readonly base: Dimensions;
  /** The dimension that is changed. */
  readonly name: string;
}

/** Shapes of the base with another size of one dimension, at which the two sizes are equal. */
export function rootsBeside(
  aim: Pick<EqualSizesAim, 'device' | 'module' | 'planFor' | 'problem' | 'isCheap'>,
  { place, base, name }: Root,
): Dimensions[] {
  const { minimum = 1, maximum = 2 ** 31 - 1 } = aim.problem.dimensions[name]!;
  const withSize = (size: number): Dimensions => ({ ...base, [name]: size });
  const gapAt = (size: number): number | undefined => foreseen(aim, withSize(size), [place]).get(place)?.gap;
  let [before, size] = [base[name]!, base[name]! + SEARCH.step];
  let [gapBefore, gap] = [gapAt(before), gapAt(size)];
  for (let step = 0; step < SEARCH.steps && gapBefore !== undefined && gap !== undefined && gap !== 0; step++) {
    if (gap === gapBefore) return [];
    const next = Math.round(size - (gap * (size - before)) / (gap - gapBefore));
    if (!(next >= minimum && next <= maximum) || next === size) break;
    [before, gapBefore, size, gap] = [size, gap, next, gapAt(next)];
  }
  if (gap === undefined) return [];
  return BESIDE.map((offset) => size + offset)
    .filter((other) => other >= minimum && other <= maximum && aim.isCheap(withSize(other)) && gapAt(other) === 0)
    .map(withSize);
}
