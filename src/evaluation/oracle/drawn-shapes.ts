import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import { completeDimensions, defaultOf } from '../../core/plan/dimensions.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import type { DimensionDeclaration, Dimensions, ProblemFile } from '../../core/problem.ts';
import { createStream, shuffle } from '../../stats/random.ts';
import { elementCountOf } from '../launches/layout.ts';
import { summedOver } from './judgeable-sums.ts';

/** What shapes are drawn from, and how many. */
export interface ShapeDraw {
  readonly problem: ProblemFile;
  /** Whether these dimensions are a shape of the problem that the kernel takes. */
  readonly takes: (dimensions: Dimensions) => boolean;
  /** The main workload's. */
  readonly timed: Dimensions;
  /** Other shapes that are verified anyway. */
  readonly known: readonly Dimensions[];
  readonly count: number;
  /** Threads of a shape's launches, where a CPU runs them. */
  readonly emulatedThreads?: (dimensions: Dimensions) => number;
  /** Shapes beyond all others in size; none if absent. */
  readonly extremes?: ExtremeDraw;
  readonly seed: number;
}

/** How many shapes beyond all others, and what each may cost. */
export interface ExtremeDraw {
  /** In how many dimensions, at most. */
  readonly count: number;
  readonly most: Cost;
  /** Whether a shape is cheap to run and its sums can be judged. */
  readonly isFit: (dimensions: Dimensions) => boolean;
}

/** Floating-point operations, and elements of all buffers. */
export interface Cost {
  readonly flop: number;
  readonly elements: number;
}

export interface DrawnShapes {
  readonly shapes: Dimensions[];
  /**
   * Each with one dimension much larger than in all others, where that is cheap; then one with two large dimensions; and the
   * one with every dimension as small as the kernel takes it. Nothing about the last is drawn.
   */
  readonly extremes: Dimensions[];
  /** Dimensions for which all known and drawn shapes have the timed value. */
  readonly fixed: string[];
}

/** Number of shapes that must differ from the timed one in a dimension before it counts as verified there. */
const LEAST_DIFFERING = 3;

/** Most floating-point operations, and most elements of all buffers, for a shape that takes a host milliseconds. */
const SMALL_COST: Cost = { flop: 2e7, elements: 3e5 };

/**
 * The same where a CPU runs the kernel, too, four times and more. Several tiles of each dimension still fit. A CTA that does
 * next to nothing costs such a CPU as much as a small one with work, so that threads count, too.
 */
export const SMALL_EMULATED_COST = { flop: 1e7, elements: 1e5, threads: 2 ** 14 };

/** Factors by which shapes may cost more if the kernel takes no cheaper ones, up to the cost of the timed shape. */
const COST_STEP = 16;

/** Usual tiles and vector widths. Shapes are aligned to them only if the kernel's limits require it. */
export const ALIGNMENTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const TRIES = 25;

/**
 * Sizes for the dimension that a shape tests: several tiles, sometimes very many. Other dimensions are small half of the
 * time.
 */
const ABOUT = { least: 17, most: 300, longest: 40_000, longRatio: 0.2 } as const;
const SMALL = { ratio: 0.5, count: 4 } as const;

/**
 * Usual tiles, and how often a size is a multiple of one, or one beside it: there tails, vector remainders and paths for
 * whole tiles go wrong, which a uniform draw meets once in as many shapes as a tile has elements.
 */
const EDGE = { ratio: 0.75, tiles: [16, 32, 64, 128, 256, 512, 1024] } as const;

/** How often a size that must be a multiple is an odd one, and no power of two. */
const ODD_MULTIPLE_RATIO = 0.5;

/**
 * A large size is one above 65,536 and all others, above those of all workloads where that is cheap, sometimes above 2²⁰: just above in a quarter of the draws, of any
 * order of magnitude up to the cost in the rest. If that is too dear: above a smaller power of two, but more than
 * `leastFactor` times all others.
 */
const LARGE = {
  ...{ above: 2 ** 16, farAbove: 2 ** 20, farRatio: 0.3 },
  ...{ nearRatio: 0.25, nearSpread: 1 / 64, leastFactor: 2, tries: 5 },
} as const;

/** Two large dimensions: from this size down in steps of this factor, each by up to so much larger or smaller. */
const BULKY = { from: 4096, least: 64, step: 2 ** -0.25, spread: 2, tries: 2 } as const;

/** Chance that a dimension keeps the timed value if the kernel refused ragged shapes. */
const PINNED_RATIO = 0.4;

/** Chance that a dimension is what follows from those before it, as most kernels take it. */
const FOLLOWING_RATIO = 0.6;

/**
 * Shapes that nobody can know beforehand. They are drawn from the problem's dimensions within the kernel's limits, are
 * cheap, and are ragged unless the limits require multiples. In every dimension that the kernel leaves free, at least three
 * of the known and drawn shapes differ from the timed one.
 */
export function drawShapes(draw: ShapeDraw): DrawnShapes {
  const { problem, timed, known, count, seed } = draw;
  const open = Object.entries(problem.dimensions)
    .filter(([name, declared]) => hasChoice(declared, timed[name]!))
    .map(([name]) => name);
  const sampler = new ShapeSampler(draw);
  const shapes: Dimensions[] = [];
  const drawInto = (about: string | undefined, varying?: string): boolean => {
    const shape = sampler.draw(shapes, about, varying);
    if (shape) shapes.push(shape);
    return shape !== undefined;
  };
  const sizes = open.filter((name) => !problem.dimensions[name]!.values);
  const turn = createStream(seed, 'drawn shapes', 'turn').bits(0);
  for (let i = 0; i < count; i++) if (!drawInto(sizes[(turn + i) % sizes.length])) break;
  const differing = (name: string): number =>
    [...known, ...shapes].filter((shape) => shape[name] !== timed[name]).length;
  for (const name of open) while (differing(name) < LEAST_DIFFERING && drawInto(name, name));
  const extremes = drawExtremes(draw, sampler, sizes, [...known, ...shapes]);
  return { shapes, extremes, fixed: open.filter((name) => differing(name) === 0) };
}

/**
 * Shapes beyond all others. There counters and indices of 8 or 16 bits overflow, grids end, and fast paths for large sizes
 * begin. The dimensions come in a secret order.
 */
function drawExtremes(
  draw: ShapeDraw,
  sampler: ShapeSampler,
  sizes: readonly string[],
  others: readonly Dimensions[],
): Dimensions[] {
  const { extremes, timed, seed } = draw;
  if (!extremes) return [];
  const stream = createStream(seed, 'dimensions drawn large');
  const inTurn = sizes
    .map((name, i) => ({ name, place: stream.bits(i) }))
    .sort((a, b) => a.place - b.place)
    .map(({ name }) => name);
  const found: Dimensions[] = [];
  const add = (shape: Dimensions | undefined): void => {
    if (shape && ![timed, ...others, ...found].some((other) => sameShape(other, shape))) found.push(shape);
  };
  const addBoth = (shape: Dimensions | undefined): void => {
    add(shape);
    add(shape && busiest(draw.problem, shape, (other) => draw.takes(other) && extremes.isFit(other), extremes.most));
  };
  const known = (name: string): number => Math.max(...[...others, ...found, timed].map((shape) => shape[name]!));
  for (const [i, name] of inTurn.entries()) {
    if (i === extremes.count) break;
    const isFar = inTurn.length > 1 && stream.uniform(inTurn.length + i) < LARGE.farRatio;
    const shape = sampler.drawLarge(name, { known: known(name), isFar }, extremes);
    addBoth(shape);
    if (shape && summedOver(draw.problem).includes(name)) addBoth(sampler.alone(name, shape, extremes));
    if (inTurn.length === 1 && known(name) <= LARGE.farAbove)
      add(sampler.drawLarge(name, { known: known(name), isFar: true }, extremes));
  }
  const [first, second] = inTurn;
  if (first !== undefined && second !== undefined) addBoth(sampler.drawBulky([first, second], extremes));
  add(sampler.smallest());
  return found;
}

/** A shape that flags leave so much less to compute than others is drawn again with those. */
const IDLE = 4;

/**
 * The shape with the flags, dimensions of two listed values, with which most is computed: a causal mask leaves one of very many keys to a lone
 * query. `undefined` if the shape's own leave much of it.
 */
function busiest(
  problem: ProblemFile,
  shape: Dimensions,
  takes: (shape: Dimensions) => boolean,
  most: Cost,
): Dimensions | undefined {
  const flags = Object.entries(problem.dimensions).filter(([, { values }]) => values?.length === 2);
  const flopOf = (one: Dimensions): number => evaluateExpression(problem.flop, one);
  return flags
    .reduce<Dimensions[]>(
      (all, [name, { values }]) => all.flatMap((one) => values!.map((value) => ({ ...one, [name]: value }))),
      [shape],
    )
    .filter((one) => flopOf(one) > IDLE * flopOf(shape))
    .toSorted((a, b) => flopOf(b) - flopOf(a))
    .find((one) => isWithin(most, problem, one, 1) && takes(one));
}

/**
 * For each dimension the largest size, in powers of two above 65,536, that the kernel takes beside the smallest others and that costs no more.
 * Drawn shapes reach up to there.
 */
export function largestShapes(draw: Pick<ShapeDraw, 'problem' | 'takes' | 'timed'>, most: Cost): Dimensions[] {
  const { problem, takes } = draw;
  const smallest = new ShapeSampler({ ...draw, known: [], count: 0, seed: 0 }).smallest();
  if (!smallest) return [];
  return Object.entries(problem.dimensions).flatMap(([name, { values, maximum = most.elements }]) => {
    if (values) return [];
    for (let size = 2 ** Math.floor(Math.log2(Math.min(maximum, most.elements))); size > LARGE.above; size /= 2) {
      const shape = { ...smallest, [name]: size };
      if (isWithin(most, problem, shape, 1) && takes(shape)) return [shape];
    }
    return [];
  });
}

/** The largest size of a dimension in the problem's workloads. */
const largestWorkload = (problem: ProblemFile, name: string): number =>
  Math.max(...problem.workloads.map(({ dimensions }) => completeDimensions(problem.dimensions, dimensions)[name]!));

const sameShape = (a: Dimensions, b: Dimensions): boolean => Object.keys(a).every((name) => a[name] === b[name]);

const hasChoice = ({ values, minimum = 1, maximum }: DimensionDeclaration, timed: number): boolean =>
  values ? values.some((value) => value !== timed) : maximum === undefined || maximum > minimum;

/** What shapes beside given sizes are drawn from. */
export interface ShapesAround extends Pick<ShapeDraw, 'problem' | 'takes' | 'timed' | 'seed'> {
  readonly most: Cost;
}

/**
 * Cheap shapes in which a dimension has one of these sizes, or one of a secret run of neighbouring sizes, so that every remainder by
 * a small number is among them. In a secret order.
 */
export function shapesAround(
  draw: ShapesAround,
  sizes: readonly number[],
  runLength: number = AROUND.run,
): Dimensions[] {
  const { problem, most, seed } = draw;
  const sampler = new ShapeSampler({ ...draw, known: [], count: 0 }, 'shapes around sizes');
  const stream = createStream(seed, 'sizes around');
  let index = 0;
  const open = Object.entries(problem.dimensions).filter(([, { values }]) => !values);
  const found = open.flatMap(([name, { minimum = 1, maximum = Number.MAX_SAFE_INTEGER }]) => {
    const start = Math.max(minimum, Math.round(AROUND.from * (AROUND.to / AROUND.from) ** stream.uniform(index++)));
    const run = Array.from({ length: runLength }, (_, i) => start + i);
    const wanted = [...new Set([...sizes, ...run])].filter((size) => size >= minimum && size <= maximum);
    return wanted.flatMap((size) => sampler.around(name, size, most));
  });
  const all = [
    ...found,
    ...sampler.equal(
      open.map(([name]) => name),
      sizes,
      most,
    ),
  ];
  const order = createStream(seed, 'order of shapes around sizes');
  let place = 0;
  return shuffle(all, (bound) => order.bits(place++) % bound);
}

/**
 * Small shapes in which each size is a power of two, and one more or less: rows of shared memory, bins and lookup tables have such sizes.
 * By lot, so many at most.
 */
export function shapesAtPowers(draw: Omit<ShapesAround, 'most'>, most: number): Dimensions[] {
  const { problem, seed } = draw;
  const sampler = new ShapeSampler({ ...draw, known: [], count: 0 }, 'shapes at powers of two');
  const stream = createStream(seed, 'powers of two');
  const found = Object.entries(problem.dimensions).flatMap(
    ([name, { values, minimum = 1, maximum = Number.MAX_SAFE_INTEGER }], dimension) => {
      const powers = values ? [] : Array.from({ length: POWERS.most }, (_, i) => 2 ** (i + 1));
      return powers
        .flatMap((power, i) => [power, power + (stream.bits(POWERS.most * dimension + i) % 2 === 0 ? 1 : -1)])
        .filter((size) => size >= minimum && size <= maximum)
        .flatMap((size) => sampler.around(name, size, SMALL_EMULATED_COST).slice(-1));
    },
  );
  const order = createStream(seed, 'order of powers of two');
  let place = 0;
  return shuffle(found, (bound) => order.bits(place++) % bound).slice(0, most);
}

/** Up to 2¹⁴, where others are small. */
const POWERS = { most: 14 } as const;

/** Sizes between those of drawn shapes and the largest: from here on, of every order of magnitude alike. */
const MIDDLE = 1024;
const LEAST_MIDDLE = 256;

/** What shapes with one dimension of a drawn size are drawn from. */
interface SizesAround extends ShapesAround {
  readonly isFit: (shape: Dimensions) => boolean;
}

/** Draws shapes around sizes of their own, `label` and `sizes` being the names of the streams. */
function drawAround(draw: SizesAround, label: string, sizes: string) {
  const sampler = new ShapeSampler({ ...draw, known: [], count: 0 }, label);
  const stream = createStream(draw.seed, sizes);
  let index = 0;
  return {
    open: Object.entries(draw.problem.dimensions).filter(([, { values }]) => !values),
    around: (name: string, size: number): Dimensions[] => sampler.around(name, size, draw.most),
    /** Every order of magnitude alike. */
    sizeBetween: (from: number, to: number): number => Math.round(from * (to / from) ** stream.uniform(index++)),
  };
}

/**
 * Shapes with one dimension between the usual sizes and the largest that is cheap, beside small others: steps that are for middle sizes only,
 * shares and trees that come out even at some of them. `each` for every dimension; four times as many where there is only one.
 */
export function middleShapes(draw: SizesAround, each: number): Dimensions[] {
  const { most, isFit } = draw;
  const { open, around, sizeBetween } = drawAround(draw, 'shapes of middle sizes', 'middle sizes');
  return open.flatMap(([name, { minimum = 1, maximum = most.elements }]) => {
    const end = largestPower(Math.min(maximum, most.elements), (size) => around(name, size).some(isFit));
    if (end === undefined || end < minimum) return [];
    // Where two dimensions are one, as queries and keys, middle sizes are dear, and the largest that fit are the middle ones.
    const from = Math.min(MIDDLE, end / 2);
    return Array.from({ length: open.length === 1 ? 4 * each : each }, () =>
      around(name, Math.max(minimum, sizeBetween(from, end))).find(isFit),
    ).filter((shape) => shape !== undefined);
  });
}

/** The largest power of two up to this that fits, none below some tiles. */
function largestPower(most: number, fits: (size: number) => boolean): number | undefined {
  for (let size = 2 ** Math.floor(Math.log2(most)); size >= LEAST_MIDDLE; size /= 2) if (fits(size)) return size;
  return undefined;
}

/** Sizes of one dimension where the others have several tiles, too. */
const WIDE = { least: 600, most: 2500, tries: 8 } as const;

/**
 * Shapes with one dimension of dozens of tiles beside several of every other: tiles taken in groups, of which the last is incomplete, and queues of
 * tiles. `each` for every dimension; none where there is only one.
 */
export function wideShapes(draw: SizesAround, each: number): Dimensions[] {
  const { problem, isFit } = draw;
  const { open, around, sizeBetween } = drawAround(draw, 'wide shapes', 'sizes of wide shapes');
  const drawOne = (name: string, most: number): Dimensions | undefined => {
    for (let attempt = 0; attempt < WIDE.tries; attempt++) {
      const shape = around(name, sizeBetween(WIDE.least, most)).at(-1);
      if (shape && hasSeveralTiles(problem, shape) && isFit(shape)) return shape;
    }
    return undefined;
  };
  return (open.length < 2 ? [] : open).flatMap(([name, { maximum = WIDE.most }]) =>
    maximum < WIDE.least
      ? []
      : Array.from({ length: each }, () => drawOne(name, Math.min(maximum, WIDE.most))).filter(
          (shape) => shape !== undefined,
        ),
  );
}

/**
 * Sizes of the dimensions beside a long one: above one and two, which the shapes beyond all others have; elements of a whole shape; and the number of
 * dimensions above which each one is long in one shape only.
 */
const THIN = { least: 3, most: 33, elements: 2 ** 20, dimensions: 3 } as const;

/**
 * Shapes in which one dimension is so long that there are about a million elements, and every other one is short: for kernels that treat narrow matrices
 * in another way, or divide by a reciprocal to find a row. `each` for every dimension; none where there is only one.
 */
export function thinShapes(draw: SizesAround, each: number): Dimensions[] {
  const sampler = new ShapeSampler({ ...draw, known: [], count: 0 }, 'thin shapes');
  const open = Object.entries(draw.problem.dimensions).filter(([, { values }]) => !values);
  return (open.length < 2 ? [] : open).flatMap(([name]) =>
    Array.from({ length: open.length > THIN.dimensions ? 1 : each }, () => sampler.thin(name, draw.most)).filter(
      (shape) => shape !== undefined && draw.isFit(shape),
    ),
  ) as Dimensions[];
}

/** Dimensions from this size on have more than one tile of many kernels. */
const SEVERAL_TILES = 33;

/** Whether every dimension that has a choice of sizes has several tiles, or follows from those that have. */
export const hasSeveralTiles = ({ dimensions }: ProblemFile, shape: Dimensions): boolean =>
  Object.entries(dimensions).every(
    ([name, { values, default: otherwise }]) =>
      values || typeof otherwise === 'string' || shape[name]! >= SEVERAL_TILES,
  );

/** A run of so many neighbouring sizes, which begins somewhere in between. */
const AROUND = { from: 300, to: 3000, run: 128 } as const;

/** Shapes with all dimensions alike, besides those of given sizes. */
const EQUAL_SIZES = 24;

/** Sizes of the dimensions beside one that was chosen. */
const LEAST_BESIDE = { least: 1, most: 2 } as const;
const SMALL_BESIDE = { least: 2, most: 4 } as const;
const LARGER_BESIDE = { least: SEVERAL_TILES, most: 200 } as const;

class ShapeSampler {
  readonly #draw: ShapeDraw;
  readonly #next: () => number;

  constructor(draw: ShapeDraw, what = 'drawn shapes') {
    this.#draw = draw;
    const stream = createStream(draw.seed, what);
    let index = 0;
    this.#next = () => stream.uniform(index++);
  }

  /** A new shape, as cheap as possible; `undefined` if none was found. */
  draw(drawn: readonly Dimensions[], about: string | undefined, varying?: string): Dimensions | undefined {
    const { problem, timed, known, takes } = this.#draw;
    const names = Object.keys(problem.dimensions);
    const keyOf = (shape: Dimensions): string => names.map((name) => shape[name]).join();
    const taken = new Set([timed, ...known, ...drawn].map(keyOf));
    for (let factor = 1; ; factor *= COST_STEP) {
      for (const alignment of ALIGNMENTS) {
        for (let attempt = 0; attempt < TRIES; attempt++) {
          const shape = this.#sample(alignment, about, varying);
          if (varying !== undefined && shape[varying] === timed[varying]) continue;
          if (taken.has(keyOf(shape)) || !this.#isSmall(shape, factor) || !takes(shape)) continue;
          if (this.#hasFewThreads(shape, factor)) return shape;
        }
      }
      if (this.#isSmall(timed, factor) && this.#hasFewThreads(timed, factor)) return undefined;
    }
  }

  #isSmall(shape: Dimensions, factor: number): boolean {
    const { problem, emulatedThreads } = this.#draw;
    return isWithin(emulatedThreads ? SMALL_EMULATED_COST : SMALL_COST, problem, shape, factor);
  }

  /** Needs the launches' plan, and so is asked last. */
  #hasFewThreads(shape: Dimensions, factor: number): boolean {
    const { emulatedThreads = () => 0 } = this.#draw;
    return emulatedThreads(shape) <= SMALL_EMULATED_COST.threads * factor;
  }

  /** A shape with this dimension above all that are `known`, as large as is cheap; `undefined` if there is none. */
  drawLarge(
    name: string,
    { known, isFar }: { known: number; isFar: boolean },
    { most, isFit }: ExtremeDraw,
  ): Dimensions | undefined {
    const { problem, takes } = this.#draw;
    const { maximum = Number.MAX_SAFE_INTEGER } = problem.dimensions[name]!;
    const wanted = largestWorkload(problem, name);
    const levels = [
      ...(wanted > Math.max(LARGE.above, known) ? [wanted] : []),
      ...(isFar ? [Math.max(LARGE.farAbove, known)] : []),
      Math.max(LARGE.above, known),
    ];
    for (let level = LARGE.above / 2; level > LARGE.leastFactor * known; level /= 2) levels.push(level);
    if (LARGE.leastFactor * known < LARGE.above) levels.push(LARGE.leastFactor * known);
    for (const level of levels) {
      let largest = Math.min(maximum, most.elements);
      for (const alignment of ALIGNMENTS) {
        for (let attempt = 0; attempt < LARGE.tries && largest > level; attempt++) {
          const size = Math.ceil(this.#sizeAbove(level, largest) / alignment) * alignment;
          if (size > maximum) continue;
          const shape = this.#sampleAround({ [name]: size }, alignment);
          if (!isWithin(most, problem, shape, 1)) largest = size - 1;
          else if (takes(shape) && isFit(shape)) return shape;
        }
      }
    }
    return undefined;
  }

  /**
   * Shapes with this size: with other dimensions as small as can be, a little larger, and with several tiles of them; listed values as in the
   * timed shape, and what follows from other dimensions as it follows. None of a kind that does not fit.
   */
  around(name: string, size: number, most: Cost): Dimensions[] {
    const { problem, takes } = this.#draw;
    return [LEAST_BESIDE, SMALL_BESIDE, LARGER_BESIDE].flatMap((beside) => {
      for (const alignment of ALIGNMENTS) {
        const shape = this.#beside(name, size, { ...beside, alignment });
        // Multiples only cost more.
        if (!isWithin(most, problem, shape, 1)) return [];
        if (takes(shape)) return [shape];
      }
      return [];
    });
  }

  /** With this dimension as long as is cheap, and few of each other one; `undefined` if the kernel does not take it. */
  thin(name: string, most: Cost): Dimensions | undefined {
    const { problem, takes } = this.#draw;
    const beside = { least: THIN.least, most: Math.round(THIN.least * (THIN.most / THIN.least) ** this.#next()) + 1 };
    const shape = this.#beside(name, 1, { ...beside, alignment: 1 });
    const { maximum = Number.MAX_SAFE_INTEGER } = problem.dimensions[name]!;
    const longest = Math.min(maximum, Math.floor(THIN.elements * (1 - this.#next() / 4)));
    for (let size = longest; size > ABOUT.most; size = Math.floor(size / 2)) {
      const long = { ...shape, [name]: size };
      if (isWithin({ ...most, elements: 2 * THIN.elements }, problem, long, 1)) return takes(long) ? long : undefined;
    }
    return undefined;
  }

  /** Shapes with all of these dimensions alike: squares and cubes, of the given sizes and of some ragged ones. */
  equal(names: readonly string[], sizes: readonly number[], most: Cost): Dimensions[] {
    const { problem, timed, takes } = this.#draw;
    if (names.length < 2) return [];
    const ragged = Array.from({ length: EQUAL_SIZES }, () => this.#size(SEVERAL_TILES));
    return [...sizes, ...ragged]
      .map((size): Dimensions => ({ ...timed, ...Object.fromEntries(names.map((name) => [name, size])) }))
      .filter((shape) => isWithin(most, problem, shape, 1) && takes(shape));
  }

  #beside(
    name: string,
    size: number,
    { least, most, alignment }: { least: number; most: number; alignment: number },
  ): Dimensions {
    const { problem, timed } = this.#draw;
    const shape: Record<string, number> = {};
    for (const [other, declared] of Object.entries(problem.dimensions)) {
      const { values, minimum = 1, maximum = Number.MAX_SAFE_INTEGER } = declared;
      const drawn = Math.max(minimum, least + Math.floor(this.#next() * (most - least)));
      const aligned = Math.min(maximum, Math.ceil(drawn / alignment) * alignment);
      const following = typeof declared.default === 'string' ? defaultOf(other, declared, shape) : undefined;
      shape[other] = other === name ? size : (following ?? (values ? timed[other]! : aligned));
    }
    return shape;
  }

  #sizeAbove(level: number, largest: number): number {
    if (this.#next() < LARGE.nearRatio) return Math.ceil(level * (1 + LARGE.nearSpread * this.#next())) + 1;
    return this.#logUniform(level + 1, largest);
  }

  /** A shape with both of these dimensions large, as far as is cheap; `undefined` if there is none. */
  drawBulky(names: readonly string[], { most, isFit }: ExtremeDraw): Dimensions | undefined {
    const { problem, takes } = this.#draw;
    for (let about: number = BULKY.from; about > BULKY.least; about *= BULKY.step) {
      for (const alignment of ALIGNMENTS) {
        for (let attempt = 0; attempt < BULKY.tries; attempt++) {
          const sizes = names.map((name) => {
            const { maximum = Number.MAX_SAFE_INTEGER } = problem.dimensions[name]!;
            const size = about * BULKY.spread ** (2 * this.#next() - 1);
            return [name, Math.min(maximum, Math.ceil(size / alignment) * alignment)] as const;
          });
          const shape = this.#sampleAround(Object.fromEntries(sizes), alignment);
          if (isWithin(most, problem, shape, 1) && takes(shape) && isFit(shape)) return shape;
        }
      }
    }
    return undefined;
  }

  /** Like a shape with one large dimension, but all others at their minimum: one query of very many keys. `undefined` if the kernel does not take it. */
  alone(name: string, like: Dimensions, { most, isFit }: ExtremeDraw): Dimensions | undefined {
    const { problem, takes } = this.#draw;
    const shape = { ...like };
    for (const [other, { values, minimum = 1, default: otherwise }] of Object.entries(problem.dimensions))
      if (other !== name && !values)
        shape[other] =
          typeof otherwise === 'string' ? (defaultOf(other, problem.dimensions[other]!, shape) ?? minimum) : minimum;
    return isWithin(most, problem, shape, 1) && takes(shape) && isFit(shape) ? shape : undefined;
  }

  /** Each size at its minimum or the least multiple of a usual tile; what the problem lists as in the timed shape. */
  smallest(): Dimensions | undefined {
    const { problem, timed, takes } = this.#draw;
    const sizes = Object.entries(problem.dimensions).filter(([, { values }]) => !values);
    const least = ({ minimum = 1 }: DimensionDeclaration, alignment: number): number =>
      Math.ceil(Math.max(1, minimum) / alignment) * alignment;
    const at = (alignment: number): Dimensions => ({
      ...timed,
      ...Object.fromEntries(sizes.map(([name, declared]) => [name, least(declared, alignment)])),
    });
    const isTaken = (shape: Dimensions): boolean => costsLittle(problem, shape) && takes(shape);
    let smallest = ALIGNMENTS.map(at).find(isTaken);
    if (!smallest) return undefined;
    for (const [name, declared] of sizes) {
      for (const alignment of ALIGNMENTS) {
        const smaller: Dimensions = { ...smallest, [name]: least(declared, alignment) };
        if (smaller[name]! >= smallest[name]!) break;
        if (isTaken(smaller)) smallest = smaller;
      }
    }
    return smallest;
  }

  /** The other dimensions small, or what follows from those before. */
  #sampleAround(sizes: Dimensions, alignment: number): Dimensions {
    const { problem, timed } = this.#draw;
    const shape: Record<string, number> = {};
    for (const [other, declared] of Object.entries(problem.dimensions)) {
      const follows = typeof declared.default === 'string' && this.#next() < FOLLOWING_RATIO;
      const isPinned = alignment > 1 && this.#next() < PINNED_RATIO;
      const value = isPinned ? timed[other]! : this.#smallest(declared, alignment);
      shape[other] = sizes[other] ?? ((follows && defaultOf(other, declared, shape)) || value);
    }
    return shape;
  }

  #smallest(
    { values, minimum = 1, maximum = Number.MAX_SAFE_INTEGER }: DimensionDeclaration,
    alignment: number,
  ): number {
    if (values) return values[Math.floor(this.#next() * Math.min(2, values.length))]!;
    const size = minimum + Math.floor(this.#next() * 2);
    return Math.min(maximum, Math.ceil(size / alignment) * alignment);
  }

  #sample(alignment: number, about: string | undefined, varying: string | undefined): Dimensions {
    const { problem, timed } = this.#draw;
    const shape: Record<string, number> = {};
    for (const [name, declared] of Object.entries(problem.dimensions)) {
      const isPinned = name !== varying && alignment > 1 && this.#next() < PINNED_RATIO;
      const value = isPinned ? timed[name]! : this.#value(declared, name === about, alignment);
      const follows = typeof declared.default === 'string' && name !== varying && this.#next() < FOLLOWING_RATIO;
      shape[name] = (follows ? defaultOf(name, declared, shape) : undefined) ?? value;
    }
    return shape;
  }

  #value(declared: DimensionDeclaration, isAbout: boolean, alignment: number): number {
    const { values, minimum = 1, maximum = Number.MAX_SAFE_INTEGER } = declared;
    if (values) return values[Math.floor(this.#next() * values.length)]!;
    const size = isAbout ? this.#size(Math.max(minimum, ABOUT.least)) : this.#smallOrAny(minimum);
    const chosen = this.#next() < 0.5 ? this.#besideATile(size) : this.#multiple(size, alignment);
    return Math.max(minimum, Math.min(maximum, chosen));
  }

  /** Often a multiple of a usual tile, or one more or one less; small sizes stay. */
  #besideATile(size: number): number {
    const tiles = EDGE.tiles.filter((tile) => 2 * tile <= size); // no shape gets much larger
    if (tiles.length === 0 || this.#next() >= EDGE.ratio) return size;
    const tile = tiles[Math.floor(this.#next() * tiles.length)]!;
    const offset = Math.floor(this.#next() * 3) - 1;
    return offset === 0 ? oddMultiple(size, tile) : Math.round(size / tile) * tile + offset;
  }

  #multiple(size: number, alignment: number): number {
    if (alignment === 1) return this.#besideATile(size);
    if (this.#next() < ODD_MULTIPLE_RATIO) return oddMultiple(size, alignment);
    return Math.ceil(size / alignment) * alignment;
  }

  #size(least: number): number {
    if (this.#next() < ABOUT.longRatio) return this.#logUniform(least, Math.max(2 * least, ABOUT.longest));
    return least + Math.floor(this.#next() * Math.max(least, ABOUT.most));
  }

  #smallOrAny(minimum: number): number {
    if (this.#next() < SMALL.ratio) return minimum + Math.floor(this.#next() * SMALL.count);
    return this.#logUniform(minimum, Math.max(minimum + SMALL.count, ABOUT.most));
  }

  /** Integers of every order of magnitude alike. */
  #logUniform(low: number, high: number): number {
    return Math.floor(Math.exp(Math.log(low + 1) + this.#next() * Math.log((high + 1) / (low + 1)))) - 1 || low;
  }
}

/** About as large, at least three times the unit, and no multiple of twice the unit. */
const oddMultiple = (size: number, unit: number): number => unit * Math.max(3, Math.ceil(size / unit) | 1);

/** Whether a host takes milliseconds for a shape. */
export const costsLittle = (problem: ProblemFile, dimensions: Dimensions): boolean =>
  isWithin(SMALL_COST, problem, dimensions, 1);

/** Elements of all buffers. */
export const elementsOf = (problem: ProblemFile, dimensions: Dimensions): number =>
  expandBuffers(problem, dimensions).reduce((sum, buffer) => sum + elementCountOf(buffer), 0);

/** Whether a shape costs at most `factor` times as much as `most`. */
export function isWithin(most: Cost, problem: ProblemFile, dimensions: Dimensions, factor: number): boolean {
  try {
    // The cheaper question first: it is asked about thousands of shapes.
    if (evaluateExpression(problem.flop, dimensions) > most.flop * factor) return false;
    return elementsOf(problem, dimensions) <= most.elements * factor;
  } catch {
    // Not a shape of this problem: some extent is not a positive integer.
    return false;
  }
}
