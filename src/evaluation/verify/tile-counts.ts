import type { ParameterValues } from '../../core/kernel.ts';
import type { LaunchPlan, PlannedLaunch } from '../../core/launch-plan.ts';
import { rememberedAt } from '../../core/once-for.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { distinctValues, roundUp, valuesKey } from '../../core/values.ts';
import { byLot, createStream } from '../../stats/random.ts';
import { ALIGNMENTS, openNames } from '../oracle/shapes/drawing.ts';
import { firstFitting } from './aimed-shapes.ts';
import { firstOtherSize } from './grid-edges.ts';
import { leastShapeWith } from './least-shape.ts';
import { launchesOf } from './verify-request.ts';

/** What shapes with telling numbers of tiles are worked out from. */
export interface TileCountsAim {
  readonly problem: ProblemFile;
  readonly planFor: (dimensions: Dimensions, multiprocessors?: number) => LaunchPlan;
  readonly timed: Dimensions;
  /** Whether the kernel takes a shape, whatever it costs. */
  readonly takes: (dimensions: Dimensions) => boolean;
  readonly parameters: ParameterValues;
  /** Whole numbers of the kernel's code. */
  readonly numbers: readonly number[];
  /** Numbers of multiprocessors for which launches are planned; `undefined` is the device's own. */
  readonly multiprocessors: readonly (number | undefined)[];
  readonly seed: number;
}

/** A shape, the dimension that was chosen, and the GPU for which it is planned. */
export interface ShapeOfTiles {
  readonly dimensions: Dimensions;
  readonly name: string;
  readonly multiprocessors: number | undefined;
}

/** Sizes of all other dimensions: within a tile, and of several. Those that have a usual size keep it. */
const BESIDE = [
  { least: 9, spread: 24 },
  { least: 66, spread: 31 },
] as const;

/** A size at which grids have stopped growing that do so where a check can be run. */
const FAR = 2 ** 24;

/** Whole rounds of a grid, after which a tile is left over. On few multiprocessors many are cheap: loops over rounds are unrolled, and take buffers in turns. */
const ROUNDS = { own: [1, 2, 3], few: [1, 2, 3, 4, 5, 8, 9] } as const;

/** Numbers of the code that are tried as numbers of tiles. */
const MOST_NUMBERS = 6;

/** A tile has at most so many elements for each thread. */
const MOST_A_THREAD = 64;

const LANES = 32;

/**
 * Shapes in which the number of a kernel's tiles is one that its arithmetic may take for another: whole rounds of a grid that does not grow with the size, and one or two tiles more; and a number that stands in the code,
 * of which an order of tiles is no permutation; and, of problems of one size, two more than a large power of two, for which rounds that double their reach need one more. How large a tile is, planned launches tell: the grid has one CTA more from one tile to the next. Where it never has, tiles are guessed from the CTA's threads, the kernel's parameters and numbers
 * of its code. The most telling shapes of each launch come first.
 */
export function shapesOfTileCounts(aim: TileCountsAim): ShapeOfTiles[] {
  const found: ShapeOfTiles[][] = [];
  const seen = new Set<string>();
  for (const multiprocessors of aim.multiprocessors)
    for (const name of openNames(aim.problem)) {
      const bases = basesOf(aim, name);
      for (const base of bases) {
        const of = (size: number): Dimensions | undefined =>
          leastShapeWith(aim.problem, { ...base, [name]: size }, aim.timed);
        const isLeast = base === bases[0];
        for (const sizes of sizesOfLaunches(aim, { name, of, multiprocessors, isLeast })) {
          const shapes = sizes.map(of).filter((shape) => shape !== undefined);
          const fresh = shapes.filter((shape) => {
            const key = `${valuesKey(shape)} ${multiprocessors}`;
            return !seen.has(key) && seen.add(key);
          });
          found.push(fresh.map((dimensions) => ({ dimensions, name, multiprocessors })));
        }
      }
    }
  const longest = Math.max(0, ...found.map((shapes) => shapes.length));
  return Array.from({ length: longest }, (_, i) => found.flatMap((shapes) => shapes.slice(i, i + 1))).flat();
}

/**
 * Sizes of all dimensions but this one that do not follow from others: whole vectors, or the timed ones, where the kernel takes no ragged ones.
 */
function basesOf({ problem, timed, takes, seed }: TileCountsAim, name: string): Record<string, number>[] {
  const lot = createStream(seed, `sizes beside numbers of tiles of ${name}`);
  const others = openNames(problem).filter((other) => {
    const follows = typeof problem.dimensions[other]!.default === 'string';
    return other !== name && !follows && !problem.independentDimensions?.includes(other);
  });
  const isTaken = (base: Record<string, number>): boolean => {
    const shape = leastShapeWith(problem, { ...base, [name]: timed[name]! }, timed);
    return shape !== undefined && takes(shape);
  };
  const bases = BESIDE.flatMap(({ least, spread }, i) => {
    const sizesOf = (alignment: number): Record<string, number> =>
      Object.fromEntries(
        others.map((other, k) => {
          const { default: usual, minimum = 1, maximum = FAR } = problem.dimensions[other]!;
          const drawn = roundUp(least + (lot.bits(others.length * i + k) % spread), alignment);
          return [other, typeof usual === 'number' ? usual : Math.min(maximum, Math.max(minimum, drawn))];
        }),
      );
    const asTimed = Object.fromEntries(others.map((other) => [other, timed[other]!]));
    return firstFitting([...ALIGNMENTS.map(sizesOf), asTimed], isTaken, 1);
  });
  return distinctValues(bases);
}

/** Launches of one dimension's sizes. */
interface Along {
  readonly name: string;
  /** `undefined` if that is no shape. */
  readonly of: (size: number) => Dimensions | undefined;
  readonly multiprocessors: number | undefined;
  /** Whether all other sizes are within a tile, as far as anybody knows: only there may tiles be guessed. */
  readonly isLeast: boolean;
}

/** Sizes with telling numbers of tiles, the most telling ones first, a list for each axis of a launch that has some. */
function sizesOfLaunches(aim: TileCountsAim, along: Along): number[][] {
  const { minimum = 1, maximum = FAR } = aim.problem.dimensions[along.name]!;
  const start = Math.max(1, minimum);
  const planned = new Map<number, PlannedLaunch[]>();
  const launchesAt = (size: number): PlannedLaunch[] =>
    rememberedAt(planned, size, () => {
      const shape = along.of(size);
      return shape ? launchesOf(() => aim.planFor(shape, along.multiprocessors)) : [];
    });
  const far = Math.min(FAR, maximum);
  const sizes = launchesAt(start).flatMap((launch, step) => {
    const ofAxes = launch.grid.flatMap((_, axis) => {
      const tiles = tilesAlong(start, far, (size) => launchesAt(size)[step]?.grid[axis]);
      return tiles ? [sizesWith(aim, tiles, along.multiprocessors !== undefined)] : [];
    });
    const [x, y, z] = launch.grid;
    const isConstant =
      along.isLeast && ofAxes.length === 0 && x * y * z > 1 && !growsAnywhere(aim, along, { start, step });
    return isConstant ? [guessedSizes(aim, launch, x * y * z)] : ofAxes;
  });
  return [...new Map(sizes.map((one) => [one.join(' '), one])).values()].map((one) =>
    one.filter((size) => size >= start && size <= far),
  );
}

/** How the tiles of a launch follow from a size. */
interface Tiles {
  /** The largest size with as many tiles as the least one has. */
  readonly first: number;
  readonly tile: number;
  /** Tiles of the least size, and by how many there are more with each further tile along the dimension. */
  readonly least: number;
  readonly rise: number;
  /** CTAs at which the grid stops growing. */
  readonly most: number | undefined;
}

/** None where the grid does not grow. */
function tilesAlong(start: number, far: number, countOf: (size: number) => number | undefined): Tiles | undefined {
  const edgeAfter = (size: number): number | undefined =>
    countOf(size + 1) === countOf(size) ? firstOtherSize(size, countOf) : size + 1;
  const edge = edgeAfter(start);
  if (edge === undefined || edge > far) return undefined;
  const [least, next] = [countOf(start)!, countOf(edge)!];
  const end = countOf(far);
  const isEnded = end !== undefined && end === countOf(Math.floor(far / 2)) && end >= next;
  // A grid of two CTAs has no second edge.
  const second = next === end ? undefined : edgeAfter(edge);
  const tile = second === undefined ? edge - start : second - edge;
  return next > least
    ? { first: edge - 1, tile, least, rise: next - least, most: isEnded ? end : undefined }
    : undefined;
}

/** Sizes with whole tiles: rounds of a grid that has stopped growing with what is left over, and numbers of the code. */
function sizesWith(aim: TileCountsAim, { first, tile, least, rise, most }: Tiles, onFew: boolean): number[] {
  const sizeOf = (tiles: number): number => first + tile * Math.ceil((tiles - least) / rise);
  const numbers = onFew ? [] : numbersToTry(aim);
  const wanted = numbers.flatMap((number) => [number, 2 * number]);
  const [counted, ...further] = wanted.filter((number) => number > least).map(sizeOf);
  const rounds = most === undefined ? [] : ROUNDS[onFew ? 'few' : 'own'].map((count) => count * most);
  const whole = rounds.map((tiles) => first + tile * Math.floor((tiles - least) / rise));
  const isOfOneSize = openNames(aim.problem).length === 1;
  const doubled = most === undefined && !onFew && isOfOneSize ? beyondPower(least, sizeOf) : [];
  const [one = [], two = [], ...more] = whole.map((size) => [size + tile, size + 1, size + 2 * tile, size]);
  return distinct([
    ...one.slice(0, 1),
    ...doubled,
    ...(counted === undefined ? [] : [counted]),
    ...two.slice(0, 1),
    ...further,
    ...one,
    ...more.flatMap((sizes) => sizes.slice(0, 1)),
    ...partsOf(tile, aim.parameters).flatMap((part) => wanted.map((number) => part * number)),
    ...two,
    ...more.flat(),
  ]);
}

/** Numbers of tiles just beyond smaller powers of two are met by shapes of every kernel; beyond larger ones each verification would take seconds more. */
const POWERS = { least: 2 ** 9, most: 2 ** 12 } as const;

/** The size with two tiles more than a power of two, if there is one: the logarithm of a large number is a harder one to round up. What one tile lacks of those before it is added to the next. */
function beyondPower(least: number, sizeOf: (tiles: number) => number): number[] {
  for (let power: number = POWERS.most; power >= Math.max(least, POWERS.least); power /= 2)
    if (sizeOf(power + 2) <= FAR) return [sizeOf(power + 2)];
  return [];
}

/** What a CTA may take for a tile where the grid has fewer CTAs: a row, or a share of its own tile. */
const partsOf = (tile: number, parameters: ParameterValues): number[] =>
  distinct([1, ...Object.values(parameters).map((value) => tile / value)]).filter(
    (part) => Number.isInteger(part) && part < tile,
  );

/** The same for a grid that no size changes, whose tiles nobody knows: each parameter may be one's extent, and so may a warp or a thread for each row or element. */
function guessedSizes(aim: TileCountsAim, { block: [x, y, z] }: PlannedLaunch, ctas: number): number[] {
  const threads = x * y * z;
  const parameters = Object.values(aim.parameters).filter((value) => value > 1);
  const ofCode = aim.numbers.filter((number) => number % threads === 0 && number <= MOST_A_THREAD * threads);
  const ofThreads = [threads, Math.ceil(threads / LANES), ...parameters.map((value) => threads * value)];
  const tiles = distinct([...parameters, ...ofThreads, ...ofCode, 1]);
  const counts = [ctas + 1, 2 * ctas + 1, ...numbersToTry(aim), ctas];
  return distinct([
    ...counts.flatMap((count) => tiles.map((tile) => tile * count)),
    ...tiles.map((tile) => tile * ctas + 1),
  ]);
}

/** Whether some dimension changes a launch's grid. */
function growsAnywhere(
  { problem, planFor }: TileCountsAim,
  { of, multiprocessors }: Along,
  { start, step }: { readonly start: number; readonly step: number },
): boolean {
  const gridAt = (shape: Dimensions): string =>
    String(launchesOf(() => planFor(shape, multiprocessors))[step]?.grid ?? '');
  const base = of(start)!;
  return openNames(problem).some((name) => gridAt({ ...base, [name]: LARGER * base[name]! }) !== gridAt(base));
}

/** A grid that follows a size does so where that is so many times as large. */
const LARGER = 4096;

/** Odd ones first: what scatters tiles is coprime with powers of two, and what the code multiplies besides are mostly bytes and strides. */
const numbersToTry = ({ numbers, seed }: TileCountsAim): number[] =>
  byLot(
    numbers.filter((number) => Math.log2(number) % 1 !== 0),
    seed,
    'numbers of tiles',
  )
    .sort((a, b) => (a & -a) - (b & -b))
    .slice(0, MOST_NUMBERS);

const distinct = (numbers: readonly number[]): number[] => [...new Set(numbers)];
