import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { distinctValues, valuesKey } from '../../core/values.ts';
import { type Check, DECLARED, onceAt } from '../oracle/check.ts';
import { volumeOf } from '../oracle/shapes/cost.ts';
import { openNames } from '../oracle/shapes/drawing.ts';
import { type Aim, foreseen, placesOfConditions, wayNumbers } from './aimed-shapes.ts';
import { divisibleShapes, type Way, type WaysIn } from './divisible-sizes.ts';

/** What is known when checks for scarce ways are chosen. */
export interface ScarceAim extends Pick<Aim, 'device' | 'module' | 'planFor' | 'isFit'> {
  readonly problem: ProblemFile;
  /** Ways that expressions of kernel.json come out. */
  readonly choicesIn: (dimensions: Dimensions) => Iterable<string>;
  /** Checks that ran. */
  readonly ran: readonly Check[];
  /** Generator sets with which every way should be met. */
  readonly sets: readonly string[];
  /** Whether the kernel takes a shape, and one that costs little. */
  readonly takes: (dimensions: Dimensions) => boolean;
  readonly isCheap: (dimensions: Dimensions) => boolean;
  /** Of shapes. */
  readonly most: number;
}

/** Sizes to which a dimension is reduced, the first with which the way still goes. Of independent parts two show as much as many; few terms of a sum hide mistakes. Some ways want whole tiles. */
const REDUCED = { independent: [2], other: [24, 130, 32, 64, 128, 256, 512] } as const;

/**
 * Checks with which conditions of sizes go each way with every generator set. `N % 1280 == 0` holds at one shape of a hundred, which runs with its
 * declared inputs; what it guards may be wrong for others only, as an epsilon is that small variances show. Each way is met in a small copy of a
 * shape in which it goes, or in one that is found by its divisors. Rare ways also come together with sizes beside whole tiles.
 */
export function scarceWayChecks(aim: ScarceAim): Check[] {
  const waysIn = waysOf(aim);
  const shapes = Map.groupBy(aim.ran, ({ dimensions }) => valuesKey(dimensions));
  const known = [...shapes.values()]
    .map((checks) => ({ checks, shape: checks[0]!.dimensions, ways: waysIn(checks[0]!.dimensions) }))
    .toSorted((a, b) => volumeOf(a.shape) - volumeOf(b.shape));
  if (known.length === 0) return [];
  const atEdges = shapesAtEdges(aim, waysIn, known);
  const met = new Set(known.flatMap(({ ways }) => [...ways]));
  const bases = [known[0]!.shape];
  for (const shape of divisibleShapes({ ...aim, waysIn, bases, met }))
    known.push({ checks: [], shape, ways: waysIn(shape) });
  const missing = new Map<Way, Set<string>>();
  for (const { checks, ways } of known)
    for (const way of ways) {
      if (!missing.has(way)) missing.set(way, new Set(aim.sets));
      for (const { generatorSet } of checks) missing.get(way)!.delete(generatorSet);
    }
  const chosen: Check[] = [];
  for (let left = aim.most; left > 0 && missing.size > 0; ) {
    const [way, sets] = [...missing].reduce((a, b) => (b[1].size > a[1].size ? b : a));
    missing.delete(way);
    const shape = sets.size === 0 ? undefined : smallShapeOf(way, { aim, waysIn, shapes: known });
    if (!shape) continue;
    left -= 1;
    chosen.push(...[...sets].map((set) => onceAt(shape, set)));
    for (const other of waysIn(shape)) for (const set of sets) missing.get(other)?.delete(set);
  }
  return [...chosen, ...atEdges.map((shape) => onceAt(shape, DECLARED))];
}

/** A way is rare that goes in no more than this share of the shapes that ran. */
const RARE_SHARE = 1 / 50;
/** Sizes beside whole tiles, and how many ways and shapes are looked at. */
const EDGES = { sizes: [65, 63, 64, 33], ways: 12, shapes: 96 } as const;

/**
 * Shapes in which a rare way goes and another size is a whole tile, or one more or less: `slack` may be taken from K where M and N are odd in a certain way, and shows only where a tile of K
 * holds one element. Which sizes belong together, the code does not say: every other one is tried.
 */
function shapesAtEdges(
  { problem, takes, isCheap, isFit }: ScarceAim,
  waysIn: WaysIn,
  known: readonly { readonly shape: Dimensions; readonly ways: ReadonlySet<Way> }[],
): Dimensions[] {
  const met = new Map<Way, { count: number; readonly shape: Dimensions }>();
  for (const { shape, ways } of known)
    for (const way of ways) {
      const before = met.get(way);
      if (before) before.count += 1;
      else met.set(way, { count: 1, shape });
    }
  const rare = [...met]
    .filter(([, { count }]) => count <= RARE_SHARE * known.length)
    .toSorted(([, a], [, b]) => a.count - b.count)
    .slice(0, EDGES.ways);
  const found = rare.flatMap(([way, { shape }]) =>
    openNames(problem)
      .flatMap((name) => EDGES.sizes.map((size) => ({ ...shape, [name]: size })))
      .filter((edge) => takes(edge) && isCheap(edge) && isFit(edge) && waysIn(edge).has(way)),
  );
  return distinctValues(found).slice(0, EDGES.shapes);
}

/** Of the code's: twice the place of a condition, and 1 more for `true`. */
function waysOf(aim: ScarceAim): WaysIn {
  const places = placesOfConditions(aim);
  return (shape) => new Set<Way>([...aim.choicesIn(shape), ...wayNumbers(foreseen(aim, shape, places))]);
}

/** `undefined` if the way goes in no shape that costs little. */
function smallShapeOf(
  way: Way,
  from: { aim: ScarceAim; waysIn: WaysIn; shapes: readonly { shape: Dimensions; ways: ReadonlySet<Way> }[] },
): Dimensions | undefined {
  const { aim, waysIn, shapes } = from;
  for (const { shape, ways } of shapes) {
    if (!ways.has(way)) continue;
    const isSuch = (other: Dimensions): boolean => waysIn(other).has(way);
    const copy = smallCopy(aim.problem, shape, isSuch);
    if (!aim.isCheap(copy) || !aim.isFit(copy)) continue;
    return ragged(aim.problem, copy, (one) => isSuch(one) && aim.takes(one) && aim.isCheap(one) && aim.isFit(one));
  }
  return undefined;
}

/** What a size that is a whole tile is enlarged by: the first with which the way still goes. */
const BESIDE_TILES = { tile: 32, steps: [1, 2, 4, 8, 16] } as const;

/** The shape with no size a whole tile where that may be: what such a way leaves undone at a tile's end does not show in whole ones. */
function ragged({ dimensions }: ProblemFile, shape: Dimensions, goes: (shape: Dimensions) => boolean): Dimensions {
  let found = shape;
  for (const [name, { values }] of Object.entries(dimensions)) {
    const size = found[name]!;
    if (values || size % BESIDE_TILES.tile !== 0) continue;
    const larger = BESIDE_TILES.steps.map((step) => ({ ...found, [name]: size + step }));
    found = larger.find(goes) ?? found;
  }
  return found;
}

/** The shape with sizes that are reduced as long as `goes`. */
function smallCopy(
  { dimensions, independentDimensions = [] }: ProblemFile,
  shape: Dimensions,
  goes: (shape: Dimensions) => boolean,
): Dimensions {
  let copy = shape;
  for (const [name, { values, minimum = 1 }] of Object.entries(dimensions)) {
    if (values) continue;
    const smaller = REDUCED[independentDimensions.includes(name) ? 'independent' : 'other']
      .filter((size) => size >= minimum && size < copy[name]!)
      .map((size) => ({ ...copy, [name]: size }));
    copy = smaller.find(goes) ?? copy;
  }
  return copy;
}
