import { isShapeOf } from '../../core/plan/dimensions.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { distinctValues } from '../../core/values.ts';
import { below, createStream, type Draw, inOrder } from '../../stats/random.ts';
import { followingSize, isTelling, LEAST_TELLING, listedNames, openNames } from '../oracle/shapes/drawing.ts';
import { relatedParts, relatedSize } from '../oracle/shapes/relations.ts';
import { logUniform } from '../oracle/shapes/sizes.ts';
import { type Aim, foreseen, placesOfConditions, wayNumbers } from './aimed-shapes.ts';
import { rootsBeside } from './equal-sizes.ts';

/** What shapes in which conditions go seldom ways are chosen from. */
export interface SeldomAim extends Pick<Aim, 'device' | 'module' | 'planFor' | 'isFit' | 'drawn' | 'most'> {
  readonly problem: ProblemFile;
  readonly seed: number;
  /** Sizes beside the code's own numbers. */
  readonly sizes: readonly number[];
  /** Whether the kernel takes a shape that costs little, as all of those drawn do. */
  readonly isCheap: (dimensions: Dimensions) => boolean;
}

/** In how many shapes that are run each way should go. */
const WANTED = 12;

/** Changes of shapes that are run, of which conditions are worked out. */
const LOOKED_AT = 6000;

/** Then the rarest ways, shapes in which each goes, and sizes that each dimension of these takes in turn: small ones, whole tiles, and one more or less. */
const RAREST = { ways: 60, ofEach: 2 } as const;
const EDGES = [2, 3, 4, 6, 8, 16, 32, 64, 96, 128, 160, 192, 256, 512, 1024].flatMap((size) =>
  size < 16 ? [size] : [size, size + 1, ...(size > 32 ? [size - 1] : [])],
);

/** Shapes from which sizes are worked out at which two are equal, for each comparison that seldom finds them so; and comparisons. */
const ROOTS = { bases: 24, comparisons: 24 } as const;

/** As {@link wayNumbers} numbers them. */
type Way = number;

interface Candidate {
  readonly shape: Dimensions;
  /** Those that have seldom been met. */
  readonly ways: readonly Way[];
  /** All ways, and {@link traitsOf} its sizes. */
  readonly beside: readonly number[];
}

/**
 * Cheap shapes in which conditions of sizes go ways that they go in few of the shapes that are run: a combination of four comparisons may be met by one in some
 * thousands. Shapes that are run are changed in a few dimensions, thousands of times, and the conditions worked out, which takes a tenth of a millisecond each; nothing is run. Then the sizes beside those in which the rarest ways go are gone through. A way is wanted several times, because what a
 * mistake needs besides may have left no condition: an even size, say.
 */
export function shapesOfSeldomWays(aim: SeldomAim): Dimensions[] {
  const places = placesOfConditions(aim);
  const { drawn: small } = aim;
  if (places.length === 0 || small.length === 0) return [];
  const met = new Map<Way, number>();
  for (const shape of small)
    if (isTelling(aim.problem, shape)) for (const way of wayNumbers(foreseen(aim, shape, places))) count(met, way);
  const wanted = places.filter((place) => [0, 1].some((way) => (met.get(2 * place + way) ?? 0) < WANTED));
  if (wanted.length === 0) return [];
  const isWanted = (way: Way): boolean => (met.get(way) ?? 0) < WANTED;
  const open = openNames(aim.problem);
  const look = (shape: Dimensions): Candidate | undefined => {
    const ways = wayNumbers(foreseen(aim, shape, wanted)).filter(isWanted);
    if (ways.length === 0) return undefined;
    return { shape, ways, beside: [...wayNumbers(foreseen(aim, shape, places)), ...traitsOf(shape, open)] };
  };
  const found: Candidate[] = equalShapes(aim, wanted, small).flatMap((shape) => look(shape) ?? []);
  const next = inOrder(createStream(aim.seed, 'shapes of seldom ways'));
  const lookAt = (shapes: readonly Dimensions[]): void => {
    const fit = shapes.filter((shape) => isShapeOf(aim.problem, shape) && aim.isCheap(shape));
    found.push(...distinctValues(fit).flatMap((shape) => look(shape) ?? []));
  };
  lookAt(Array.from({ length: LOOKED_AT }, () => change(aim, small, next)));
  lookAt(rarest(aim.problem, found).flatMap((base) => besideShape(aim.problem, base, { small, next })));
  return chosenOf(found, { ...aim, met });
}

/** The one that shows most of what has seldom been met, beside what it has not been met with, until each way has been met often enough. */
function chosenOf(
  found: readonly Candidate[],
  { problem, isFit, most, met }: SeldomAim & { readonly met: Map<Way, number> },
): Dimensions[] {
  const together = new Set<number>();
  const newsOf = ({ shape, ways, beside }: Candidate): number => {
    const news = ways.reduce((sum, way) => {
      // What nothing has met comes first.
      const lacking = Math.max(0, 1 - (met.get(way) ?? 0) / WANTED) ** 2;
      const unseen = lacking > 0 ? beside.filter((other) => !together.has(way * MOST_WAYS + other)).length : 0;
      return sum + lacking * (1 + unseen);
    }, 0);
    return news * (isTelling(problem, shape) ? 1 : LEAST_CLARITY);
  };
  const chosen: Dimensions[] = [];
  // News only become less: what was best and still is need not be compared with others anew.
  const open = found.map((candidate) => ({ candidate, news: newsOf(candidate) }));
  while (chosen.length < most) {
    const best = largestNews(open);
    if (!best || best.news === 0) break;
    const news = newsOf(best.candidate);
    if (news < best.news) {
      best.news = news;
      continue;
    }
    best.news = 0;
    const { shape, ways, beside } = best.candidate;
    if (!isFit(shape)) continue;
    chosen.push(shape);
    for (const way of ways) {
      count(met, way);
      for (const other of beside) together.add(way * MOST_WAYS + other);
    }
  }
  return chosen;
}

function largestNews<T extends { readonly news: number }>(open: readonly T[]): T | undefined {
  let best = open[0];
  for (const one of open) if (one.news > best!.news) best = one;
  return best;
}

/** More than a module has; traits are numbered from half of it on. */
const MOST_WAYS = 2 ** 20;

/** What of a size a mistake may need that leaves no condition. */
const TRAITS: readonly ((size: number) => boolean)[] = [
  (size) => size % 2 === 0,
  (size) => size % 32 === 0,
  (size) => size % 32 === 1,
  (size) => size > 32,
  (size) => size > 128,
];

const traitsOf = (shape: Dimensions, open: readonly string[]): number[] =>
  open.flatMap((name, i) =>
    TRAITS.map((trait, j) => MOST_WAYS / 2 + 2 * (TRAITS.length * i + j) + Number(trait(shape[name]!))),
  );

/** Shapes in which the rarest ways go. */
function rarest(problem: ProblemFile, found: readonly Candidate[]): Dimensions[] {
  const withWay = new Map<Way, Dimensions[]>();
  for (const { shape, ways } of found)
    if (isTelling(problem, shape))
      for (const way of ways) {
        if (!withWay.has(way)) withWay.set(way, []);
        withWay.get(way)!.push(shape);
      }
  const rare = [...withWay.values()].toSorted((a, b) => a.length - b.length).slice(0, RAREST.ways);
  return distinctValues(rare.flatMap((shapes) => shapes.slice(-RAREST.ofEach)));
}

/** The shape with each dimension at each edge in turn, with other listed values in half of them: what a combination of several still lacks is mostly one size. */
function besideShape(
  problem: ProblemFile,
  base: Dimensions,
  { small, next }: { readonly small: readonly Dimensions[]; readonly next: Draw },
): Dimensions[] {
  const listed = listedNames(problem);
  return openNames(problem).flatMap((name) =>
    EDGES.map((size) => {
      const other = next() < 1 / 2 ? small[below(next, small.length)]! : base;
      return { ...base, ...Object.fromEntries(listed.map((one) => [one, other[one]!])), [name]: size };
    }),
  );
}

/** How often a dimension that follows from others is drawn anew where one of those changed. */
const FOLLOWING_RATIO = 0.8;
const MOST_CHANGED = 3;

/** One of the small shapes, with other sizes in a few dimensions. */
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
const LEAST_CLARITY = 0.1;

const count = (counts: Map<Way, number>, way: Way): void => void counts.set(way, (counts.get(way) ?? 0) + 1);
