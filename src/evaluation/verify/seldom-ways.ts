import type { ForeseenWays } from '../../core/decisions.ts';
import { isShapeOf } from '../../core/plan/dimensions.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { distinctValues } from '../../core/values.ts';
import { below, createStream, type Draw, inOrder } from '../../stats/random.ts';
import { followingSize, isTelling, LEAST_TELLING, openNames } from '../oracle/shapes/drawing.ts';
import { relatedParts, relatedSize } from '../oracle/shapes/relations.ts';
import { logUniform } from '../oracle/shapes/sizes.ts';
import { type Aim, foreseen } from './aimed-shapes.ts';
import { rootsBeside } from './equal-sizes.ts';

/** What shapes in which conditions go seldom ways are chosen from. */
export interface SeldomAim extends Pick<Aim, 'device' | 'module' | 'planFor' | 'isFit' | 'drawn' | 'most'> {
  readonly problem: ProblemFile;
  readonly seed: number;
  /** Sizes beside the code's own numbers. */
  readonly sizes: readonly number[];
  /** Whether the kernel takes a shape that costs little. */
  readonly isCheap: (dimensions: Dimensions) => boolean;
}

/** In how many shapes that are run each way should go, and how many shapes conditions are worked out for. */
const WANTED = 8;
const LOOKED_AT = 8000;

/** Shapes from which sizes are worked out at which two are equal, for each comparison that seldom finds them so; and comparisons. */
const ROOTS = { bases: 24, comparisons: 24 } as const;

/** Ways that a launch's conditions go: twice the place of a condition, and 1 more for `true`. */
type Way = number;

interface Candidate {
  readonly shape: Dimensions;
  readonly ways: readonly Way[];
}

/**
 * Cheap shapes in which conditions of sizes go ways that they go in few of the shapes that are run: a combination of four comparisons may be met by one in some
 * thousands. Shapes that are run are changed in a few dimensions, thousands of times, and the conditions worked out, which takes a tenth of a millisecond each; nothing is run. A way is wanted several times, because what a
 * mistake needs besides may have left no condition: an even size, say.
 */
export function shapesOfSeldomWays(aim: SeldomAim): Dimensions[] {
  const observed = aim.device.decisions?.(aim.module).decisions ?? [];
  const places = observed.flatMap(({ isSettled, kind }, place) => (isSettled || kind === 'bound' ? [] : [place]));
  if (places.length === 0 || aim.drawn.length === 0) return [];
  const met = new Map<Way, number>();
  for (const shape of aim.drawn)
    if (isTelling(aim.problem, shape)) for (const way of waysIn(foreseen(aim, shape, places))) count(met, way);
  const wanted = places.filter((place) => [0, 1].some((way) => (met.get(2 * place + way) ?? 0) < WANTED));
  if (wanted.length === 0) return [];
  const isWanted = (way: Way): boolean => (met.get(way) ?? 0) < WANTED;
  const look = (shape: Dimensions): Candidate | undefined => {
    const ways = waysIn(foreseen(aim, shape, wanted)).filter(isWanted);
    return ways.length > 0 ? { shape, ways } : undefined;
  };
  const changed = changedShapes(aim);
  const found = [...changed, ...equalShapes(aim, wanted, changed)].flatMap((shape) => look(shape) ?? []);
  return chosenOf(found, { ...aim, met });
}

/** The one that shows most of what has seldom been met, until each way has been met often enough. */
function chosenOf(
  found: readonly Candidate[],
  { problem, isFit, most, met }: SeldomAim & { readonly met: Map<Way, number> },
): Dimensions[] {
  const open = [...found];
  const chosen: Dimensions[] = [];
  const newsOf = ({ ways }: Candidate): number =>
    ways.reduce((sum, way) => sum + Math.max(0, 1 - (met.get(way) ?? 0) / WANTED), 0);
  while (chosen.length < most && open.length > 0) {
    let [best, news] = [0, 0];
    for (let i = 0; i < open.length; i++) {
      const other = newsOf(open[i]!) * (isTelling(problem, open[i]!.shape) ? 1 : LEAST_CLARITY);
      if (other > news) [best, news] = [i, other];
    }
    if (news === 0) break;
    const [{ shape, ways }] = open.splice(best, 1) as [Candidate];
    if (!isFit(shape)) continue;
    chosen.push(shape);
    for (const way of ways) count(met, way);
  }
  return chosen;
}

/** Shapes that are run, with other sizes in a few dimensions. */
function changedShapes(aim: SeldomAim): Dimensions[] {
  const { seed, drawn, isCheap, problem } = aim;
  const next = inOrder(createStream(seed, 'shapes of seldom ways'));
  const small = drawn.filter(isCheap);
  const changed = Array.from({ length: small.length === 0 ? 0 : LOOKED_AT }, () => change(aim, small, next));
  return distinctValues(changed.filter((shape) => isShapeOf(problem, shape) && isCheap(shape)));
}

/** How often a dimension that follows from others is drawn anew where one of those changed. */
const FOLLOWING_RATIO = 0.8;
const MOST_CHANGED = 3;

function change({ problem, sizes }: SeldomAim, small: readonly Dimensions[], next: Draw): Dimensions {
  const anyOf = <T>(all: readonly T[]): T => all[below(next, all.length)]!;
  const base = anyOf(small);
  const names = Object.keys(problem.dimensions);
  const chosen = new Set(Array.from({ length: 1 + below(next, MOST_CHANGED) }, () => anyOf(names)));
  const { independentDimensions = [] } = problem;
  const shape: Record<string, number> = {};
  for (const [name, declared] of Object.entries(problem.dimensions)) {
    const { values, minimum = 1, maximum = Number.MAX_SAFE_INTEGER } = declared;
    const whole = followingSize(name, declared, shape);
    const follows = whole !== undefined && shape[String(declared.default)] !== base[String(declared.default)];
    if (!chosen.has(name) && !(follows && next() < FOLLOWING_RATIO)) shape[name] = base[name]!;
    else if (values) shape[name] = anyOf(small)[name]!;
    else {
      const isOfParts = independentDimensions.includes(String(declared.default));
      const related = isOfParts ? relatedParts : relatedSize;
      const size =
        whole === undefined || next() < FREE_RATIO
          ? anyOf(SIZES)({ other: anyOf(small)[name]!, base, sizes, next })
          : related(whole, [next(), next()], LEAST_TELLING);
      shape[name] = Math.min(Math.max(minimum, size), maximum);
    }
  }
  return shape;
}

/** How often what follows from others is as free as if it did not. */
const FREE_RATIO = 0.3;

const SMALL = 400;
const LARGE = 5000;
const TILES = [8, 16, 32, 64, 128] as const;
const MOST_TILES = 5;
const MOST_FACTOR = 6;

/** What a size is changed from. */
interface Change extends Pick<SeldomAim, 'sizes'> {
  /** That of another shape. */
  readonly other: number;
  readonly base: Dimensions;
  readonly next: Draw;
}

const SIZES: readonly ((change: Change) => number)[] = [
  ({ other }) => other,
  ({ next }) => logUniform(1, SMALL, next),
  ({ next }) => logUniform(SMALL, LARGE, next),
  // Whole tiles, and one more or less.
  ({ next }) => TILES[below(next, TILES.length)]! * (1 + below(next, MOST_TILES)) + below(next, 3) - 1,
  ({ other, sizes, next }) => sizes[below(next, sizes.length)] ?? other,
  // A multiple or a part of another size.
  ({ base, next }) => {
    const all = Object.values(base);
    const size = all[below(next, all.length)]!;
    const factor = 1 + below(next, MOST_FACTOR);
    return next() < 1 / 2 ? size * factor : Math.max(1, Math.floor(size / factor));
  },
];

/** Shapes in which two sizes are equal that seldom are. */
function equalShapes(aim: SeldomAim, wanted: readonly number[], pool: readonly Dimensions[]): Dimensions[] {
  const first = pool[0];
  if (!first) return [];
  const open = openNames(aim.problem);
  const comparisons = wanted.filter((place) => foreseen(aim, first, [place]).get(place)?.gap !== undefined);
  return distinctValues(
    comparisons
      .slice(0, ROOTS.comparisons)
      .flatMap((place) =>
        pool.slice(0, ROOTS.bases).flatMap((base) => open.flatMap((name) => rootsBeside(aim, { place, base, name }))),
      ),
  );
}

/** What a shape in which mistakes may not show counts beside another. */
const LEAST_CLARITY = 0.5;

const waysIn = (all: ReadonlyMap<number, ForeseenWays>): Way[] =>
  [...all].flatMap(([place, { wasTrue, wasFalse }]) => [
    ...(wasFalse ? [2 * place] : []),
    ...(wasTrue ? [2 * place + 1] : []),
  ]);

const count = (counts: Map<Way, number>, way: Way): void => void counts.set(way, (counts.get(way) ?? 0) + 1);
