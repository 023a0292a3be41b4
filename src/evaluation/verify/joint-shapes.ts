import { defaultOf, isShapeOf } from '../../core/plan/dimensions.ts';
import type { DimensionDeclaration, Dimensions, ProblemFile } from '../../core/problem.ts';
import { distinctValues, roundUp, valuesKey } from '../../core/values.ts';
import { createStream, inOrder } from '../../stats/random.ts';
import { volumeOf } from '../oracle/shapes/cost.ts';
import { ALIGNMENTS, followingSize, isTelling, openNames } from '../oracle/shapes/drawing.ts';
import { type Aim, firstFitting, foreseen, functionsIn, placesOfConditions, wayNumbers } from './aimed-shapes.ts';

/** What shapes in which rare ways come together are chosen from. */
export interface JointAim extends Pick<Aim, 'device' | 'module' | 'planFor' | 'isFit' | 'drawn' | 'most'> {
  readonly problem: ProblemFile;
  readonly timed: Dimensions;
  readonly seed: number;
  /** Sizes beside the code's own numbers. */
  readonly sizes: readonly number[];
  /** Whether the kernel takes a shape that costs little. */
  readonly isCheap: (dimensions: Dimensions) => boolean;
}

/** Sizes that are tried of each dimension: the least, neighbouring ones, and of one that might make a condition true that was never true. */
const RUN = { least: 8, usual: 64, ofUnmet: 1536, from: 33, spread: 32 } as const;

/** Sizes kept of each dimension, and shapes made of them. */
const KEPT_SIZES = 6;
const COMBINED = 150;

/** Sizes beside the one in question, the largest that is cheap; and independent ones, of which a few show as much as many. */
const BESIDE = [70, 40, 24, 12, 6, 3, 1] as const;
const MOST_INDEPENDENT = 3;

/** A way is rare if it goes in less than this share of the shapes tried; two come together rarely below that share. */
const RARE = { one: 0.25, two: 0.06 } as const;

/** Ways that a launch's conditions go, as far as they follow from the launch: twice the place of a condition, and 1 more for `true`. */
type WayNumbers = readonly number[];

interface Tried {
  readonly shape: Dimensions;
  readonly ways: WayNumbers;
}

/** One of a dimension's sizes. */
interface Sized extends Tried {
  readonly size: number;
}

/** A way goes at `first`, and at every size a multiple of the period beyond it. */
interface Rhythm {
  readonly period: number;
  readonly first: number;
}

/**
 * Cheap shapes in which rare ways of conditions come together: `M % 16 == 9` beside `N % 32 == 1` beside `K % 8 == 5`, a mask beside a
 * remainder. Each may have been met alone, and a mistake needs them all. Conditions are worked out for neighbouring sizes of each dimension;
 * those sizes are combined in which most rare ways go, with listed values by lot.
 */
export function jointShapes(aim: JointAim): Dimensions[] {
  const search = new JointSearch(aim);
  return search.choose();
}

class JointSearch {
  readonly #aim: JointAim;
  readonly #places: readonly number[];
  /** Those that no size makes go the other way. */
  readonly #oneWay: ReadonlySet<number>;
  readonly #next: () => number;
  /** In how many of the shapes tried each way goes. */
  readonly #counts = new Map<number, number>();
  /** In how many of them each condition is reached, by its place. */
  readonly #reached = new Map<number, number>();
  /** Of each dimension: the rare ways that come round with its size. */
  readonly #rhythmsOf = new Map<string, readonly Rhythm[]>();
  #tried = 0;

  constructor(aim: JointAim) {
    this.#aim = aim;
    const observed = aim.device.decisions?.(aim.module).decisions ?? [];
    this.#places = placesOfConditions(aim);
    this.#oneWay = new Set(
      // `N > 0` has one way only.
      this.#places.filter(
        (place) => Math.abs(observed[place]!.constant ?? 2) <= 1 && !EQUALITY.test(observed[place]!.comparison),
      ),
    );
    this.#next = inOrder(createStream(aim.seed, 'shapes in which rare ways come together'));
  }

  choose(): Dimensions[] {
    if (this.#places.length === 0) return [];
    const { problem, drawn } = this.#aim;
    const base = this.#base();
    if (!base) return [];
    const met = drawn.filter((shape) => isTelling(this.#aim.problem, shape)).map((shape) => this.#try(shape));
    const variants = this.#variants(base);
    const sizes = new Map(openNames(problem).map((name) => [name, this.#tellingSizes(name, base, variants)]));
    const combined = Array.from({ length: COMBINED }, () => this.#combine(base, sizes)).filter(
      (shape) => shape !== undefined,
    );
    const unlike = distinctValues(combined).sort(
      // Of shapes that are as telling, the largest.
      (a, b) => volumeOf(b) - volumeOf(a),
    );
    const chosen = this.#covering(
      unlike.map((shape) => this.#try(shape)),
      met,
    );
    const small = [...chosen, ...met.map(({ shape }) => shape)];
    return [...chosen, ...this.#inSeveralTiles(small), ...this.#climb({ base, variants, sizes }, small)];
  }

  /**
   * Shapes in which as many rare ways as possible go at once: `D == 96 && H / Hkv >= 4 && Hkv >= 2 && Skv > 2048`. From sizes by lot on, for each function that is launched, one dimension after the other takes the size with which
   * the ways are rarest together. Only those with more at once than any shape had.
   */
  #climb({ base, variants, sizes }: Climb, known: readonly Dimensions[]): Dimensions[] {
    const rareIn = (shape: Dimensions): number[] => this.#rareWays(this.#waysIn(shape, this.#places));
    const rarityOf = (rare: readonly number[]): number =>
      rare.reduce((sum, way) => sum - Math.log2(this.#shareOf(way) || 1 / this.#tried), 0);
    const had = known.map((shape) => new Set(rareIn(shape)));
    const tops: { readonly shape: Dimensions; readonly rare: readonly number[] }[] = [];
    const starts = Array.from({ length: Math.max(CLIMB.starts, variants.length) }, (_, i) => ({
      ...(this.#combine(base, sizes) ?? base),
      ...variants[i % variants.length],
    }));
    for (const start of starts) {
      let top: Dimensions =
        isShapeOf(this.#aim.problem, start) && this.#aim.isCheap(start)
          ? start
          : { ...base, ...listedOf(this.#aim.problem, start) };
      let most = rarityOf(rareIn(top));
      for (let round = 0; round < CLIMB.rounds; round++)
        for (const name of Object.keys(top))
          for (const size of [...this.#choicesOf(name, base, sizes), ...this.#factorsOf(name)]) {
            const shape = { ...top, [name]: size };
            if (size === top[name] || !isShapeOf(this.#aim.problem, shape) || !this.#aim.isCheap(shape)) continue;
            const rarity = rarityOf(rareIn(shape));
            if (rarity > most) [top, most] = [shape, rarity];
          }
      tops.push({ shape: top, rare: rareIn(top) });
    }
    const news = tops.filter(
      ({ rare }) => rare.length >= CLIMB.leastRare && !had.some((all) => rare.every((way) => all.has(way))),
    );
    const inTurn = distinctValues(
      news.toSorted((a, b) => rarityOf(b.rare) - rarityOf(a.rare)).map(({ shape }) => shape),
    );
    return firstFitting(inTurn, this.#aim.isFit, CLIMB.most);
  }

  /** Small sizes of a dimension that another one follows, or that follows one: heads, and groups of them. Along with one another they show nothing. */
  #factorsOf(name: string): readonly number[] {
    const { dimensions } = this.#aim.problem;
    const follows = typeof dimensions[name]!.default === 'string';
    return follows || Object.values(dimensions).some((other) => other.default === name) ? SMALL_FACTORS : [];
  }

  /** Listed values that the kernel takes, or the telling sizes. */
  #choicesOf(name: string, base: Dimensions, sizes: ReadonlyMap<string, readonly number[]>): readonly number[] {
    const { problem, timed, drawn } = this.#aim;
    // Values that the kernel takes: others have no place in any shape.
    if (problem.dimensions[name]!.values) return [...new Set([timed, ...drawn].map((shape) => shape[name]!))];
    return sizes.get(name) ?? [base[name]!];
  }

  /**
   * Shapes like these with one dimension of several tiles, where the same rare ways go: `N % 1000 == 0` at 1,000 is less than a tile, and a mistake may lie in the tiles beyond the first.
   */
  #inSeveralTiles(small: readonly Dimensions[]): Dimensions[] {
    const found = new Map<string, { readonly shape: Dimensions; readonly rarity: number }>();
    for (const shape of small) {
      const rare = this.#rareWays(this.#waysIn(shape, this.#places));
      for (const [name, rhythms] of this.#rhythmsOf)
        for (const { period, first } of rhythms) {
          const size = shape[name]!;
          if (size >= SEVERAL_TILES || size % period !== first) continue;
          const larger = this.#with(shape, name, size + Math.ceil((SEVERAL_TILES - size) / period) * period);
          const ways = larger && this.#waysIn(larger, this.#places);
          if (rare.length === 0 || !ways || !rare.every((way) => ways.includes(way))) continue;
          const rarity = rare.reduce((sum, way) => sum - Math.log2(this.#shareOf(way)), 0);
          found.set(valuesKey(larger), { shape: larger, rarity });
        }
    }
    const inTurn = [...found.values()].toSorted((a, b) => b.rarity - a.rarity).map(({ shape }) => shape);
    return firstFitting(inTurn, this.#aim.isFit, MOST_IN_SEVERAL_TILES);
  }

  #rareWays(ways: WayNumbers): number[] {
    return ways.filter((way) => this.#shareOf(way) < RARE.one);
  }

  #waysIn(shape: Dimensions, places: readonly number[]): number[] {
    return wayNumbers(foreseen(this.#aim, shape, places));
  }

  #try(shape: Dimensions): Tried {
    const ways = this.#waysIn(shape, this.#places);
    this.#tried += 1;
    for (const way of ways) this.#counts.set(way, (this.#counts.get(way) ?? 0) + 1);
    for (const place of new Set(ways.map((way) => way >> 1)))
      this.#reached.set(place, (this.#reached.get(place) ?? 0) + 1);
    return { shape, ways };
  }

  /** Of the shapes in which its condition is reached: an instance of a template is launched for some shapes only. */
  #shareOf(way: number): number {
    return (this.#counts.get(way) ?? 0) / (this.#reached.get(way >> 1) ?? this.#tried);
  }

  /** Every size about as large as is cheap. */
  #base(): Dimensions | undefined {
    for (const about of BESIDE) {
      for (const alignment of ALIGNMENTS) {
        const shape = this.#shape(
          (_, declared) => aligned(about + Math.floor(this.#next() * (about / 3)), declared, alignment),
          about,
        );
        if (this.#aim.isCheap(shape)) return shape;
      }
    }
    return undefined;
  }

  /** What follows from other dimensions as it follows, and listed values as in the timed shape. */
  #shape(sizeOf: (name: string, declared: DimensionDeclaration) => number, about: number): Dimensions {
    const { problem, timed } = this.#aim;
    const independent = new Set(problem.independentDimensions ?? []);
    const shape: Record<string, number> = {};
    for (const [name, declared] of Object.entries(problem.dimensions)) {
      const following = followingSize(name, declared, shape);
      const few = independent.has(name)
        ? aligned(1 + Math.floor(this.#next() * Math.min(about, MOST_INDEPENDENT)), declared, 1)
        : undefined;
      shape[name] = following ?? (declared.values ? timed[name]! : (few ?? sizeOf(name, declared)));
    }
    return shape;
  }

  /** With one dimension of another size; the others become as small as they must to be cheap. */
  #with(base: Dimensions, name: string, size: number): Dimensions | undefined {
    const { problem, isCheap } = this.#aim;
    const follow = (shape: Dimensions): Dimensions =>
      Object.fromEntries(
        Object.entries(shape).map(([other, value]) => {
          const declared = problem.dimensions[other]!;
          const follows = other !== name && declared.default === name;
          return [other, follows ? size : value];
        }),
      );
    const wide = follow({ ...base, [name]: size });
    if (isCheap(wide)) return wide;
    const listed = listedOf(problem, base);
    const narrow = follow({ ...this.#shape((_, declared) => aligned(2, declared, 1), 1), ...listed, [name]: size });
    return isCheap(narrow) ? narrow : undefined;
  }

  /** Listed values with which other functions are launched: an instance of a template has conditions of its own. */
  #variants(base: Dimensions): Dimensions[] {
    const { drawn, problem, planFor, isCheap } = this.#aim;
    const byFunctions = new Map<string, Dimensions>();
    for (const shape of [base, ...drawn]) {
      const listed = listedOf(problem, shape);
      if (!isCheap({ ...base, ...listed })) continue;
      const functions = functionsIn(() => planFor({ ...base, ...listed })).join();
      if (!byFunctions.has(functions)) byFunctions.set(functions, listed);
    }
    return [...byFunctions.values()].slice(0, MOST_VARIANTS);
  }

  /** Sizes of a dimension in which rare ways go, the most telling ones first. */
  #tellingSizes(name: string, base: Dimensions, variants: readonly Dimensions[]): number[] {
    const { problem, sizes } = this.#aim;
    const { minimum = 1, maximum = Number.MAX_SAFE_INTEGER } = problem.dimensions[name]!;
    const stride = ALIGNMENTS.find((alignment) =>
      this.#with(base, name, aligned(base[name]! + 1, { minimum, maximum }, alignment)),
    );
    if (stride === undefined) return [base[name]!];
    const isIndependent = problem.independentDimensions?.includes(name) ?? false;
    const first = isIndependent ? 1 : RUN.from + Math.floor(this.#next() * RUN.spread);
    const start = Math.max(minimum, roundUp(first, stride));
    const tried: Sized[] = [];
    const look = (size: number, unmet?: ReadonlySet<number>): void => {
      for (const listed of size >= minimum && size <= maximum ? variants : []) {
        const shape = this.#with({ ...base, ...listed }, name, size);
        if (shape && (!unmet || this.#waysIn(shape, placesOf(unmet)).some((way) => unmet.has(way))))
          tried.push({ ...this.#try(shape), size });
      }
    };
    for (let i = 1; i <= RUN.least; i++) look(i * stride);
    for (let i = 0; i < RUN.usual; i++) look(start + i * stride);
    for (const size of sizes) look(size);
    const unmet = new Set(this.#scarcelyMet(tried));
    const most = unmet.size > 0 ? RUN.ofUnmet / (variants.length * openNames(problem).length) : 0;
    for (let i = RUN.usual; i < most; i++) look(start + i * stride, unmet);
    const rhythms = this.#rhythms(tried);
    this.#rhythmsOf.set(name, rhythms);
    for (const size of coincidences(rhythms)) look(size);
    const covered = new Set<number>();
    const kept: number[] = [];
    const newsOf = ({ ways }: Tried): number =>
      ways.reduce(
        (sum, way) => sum + (covered.has(way) ? 0 : Math.max(0, -Math.log2(this.#shareOf(way) / RARE.one))),
        0,
      );
    while (kept.length < KEPT_SIZES) {
      const best = largest(tried, newsOf);
      if (!best || newsOf(best) === 0) break;
      kept.push(best.size);
      for (const way of best.ways) covered.add(way);
    }
    return [...new Set([...kept, base[name]!])];
  }

  /** Ways of conditions that follow from the launch and that none of the sizes tried shows, or one: how often it comes round can't be told of one. */
  #scarcelyMet(tried: readonly Sized[]): number[] {
    const sizes = sizesByWay(tried);
    return this.#places
      .filter((place) => !this.#oneWay.has(place))
      .flatMap((place) => [2 * place, 2 * place + 1])
      .filter((way) => (sizes.get(way)?.length ?? 0) <= 1 && sizes.has(way ^ 1));
  }

  /**
   * Of rare ways that come round with the size, as remainders do: how often, and from which size on. What one size alone shows may come round with its multiples.
   */
  #rhythms(tried: readonly Sized[]): Rhythm[] {
    return [...sizesByWay(tried)].flatMap(([way, [first, ...others]]) => {
      const period = others.reduce((divisor, size) => greatestDivisor(divisor, size - first!), 0) || first!;
      return period > 1 && this.#shareOf(way) < RARE.one ? { period, first: first! % period } : [];
    });
  }

  /** Sizes and listed values by lot; `undefined` if that is no cheap shape that the kernel takes. */
  #combine(base: Dimensions, sizes: ReadonlyMap<string, readonly number[]>): Dimensions | undefined {
    const { problem, isCheap } = this.#aim;
    const shape: Record<string, number> = {};
    const alike = this.#next() < ALIKE_RATIO ? [...sizes.values()].flat() : undefined;
    const size = alike?.[Math.floor(this.#next() * alike.length)];
    for (const [name, declared] of Object.entries(problem.dimensions)) {
      const choices = size !== undefined && !declared.values ? [size] : this.#choicesOf(name, base, sizes);
      const follows = typeof declared.default === 'string' && this.#next() < FOLLOWING_RATIO;
      const following = follows ? defaultOf(name, declared, shape) : undefined;
      shape[name] = following ?? choices[Math.floor(this.#next() * choices.length)]!;
    }
    return isShapeOf(problem, shape) && isCheap(shape) ? shape : undefined;
  }

  /** Shapes that bring together what rarely comes together: each two ways, and then more than two at once. */
  #covering(tried: readonly Tried[], met: readonly Tried[]): Dimensions[] {
    const { most, isFit } = this.#aim;
    const seen = new Set<number | string>();
    const see = (one: Tried): void => {
      for (const { key } of this.#rareJoints(one)) seen.add(key);
    };
    for (const one of met) see(one);
    const open = tried.map((one) => ({
      ...one,
      joints: this.#rareJoints(one),
      clarity: isTelling(this.#aim.problem, one.shape) ? 1 : LEAST_CLARITY,
    }));
    const newsOf = ({ joints, clarity }: (typeof open)[number]): number =>
      clarity * joints.reduce((sum, { key, weight }) => sum + (seen.has(key) ? 0 : weight), 0);
    const chosen: Dimensions[] = [];
    while (chosen.length < most && open.length > 0) {
      const best = largest(open, newsOf)!;
      open.splice(open.indexOf(best), 1);
      if (newsOf(best) === 0) break;
      if (!isFit(best.shape)) continue;
      chosen.push(best.shape);
      see(best);
    }
    return chosen;
  }

  /** Each two ways that come together rarely, and all that go in a shape in which several rare ones do. */
  #rareJoints({ ways }: Tried): { key: number | string; weight: number }[] {
    const unusual = ways.filter((way) => this.#shareOf(way) < UNUSUAL);
    const isSeveral = unusual.filter((way) => this.#shareOf(way) < RARE.one).length > 1;
    return [...this.#rarePairs(ways), ...(isSeveral ? [{ key: unusual.join(), weight: 1 }] : [])];
  }

  /** Each two ways of a shape that come together rarely, one of which is rare by itself; a way beside itself is that way. */
  #rarePairs(ways: WayNumbers): { key: number; weight: number }[] {
    return this.#rareWays(ways).flatMap((a) =>
      ways.flatMap((b) => {
        const share = this.#shareOf(a) * (a === b ? 1 : this.#shareOf(b));
        return share < RARE.two
          ? [{ key: Math.min(a, b) * MOST_WAYS + Math.max(a, b), weight: -Math.log2(share) }]
          : [];
      }),
    );
  }
}

/** What shapes are climbed from. */
interface Climb {
  readonly base: Dimensions;
  /** Listed values with which other functions are launched. */
  readonly variants: readonly Dimensions[];
  /** Telling ones, by dimension. */
  readonly sizes: ReadonlyMap<string, readonly number[]>;
}

/** The values of dimensions that list theirs. */
const listedOf = ({ dimensions }: ProblemFile, shape: Dimensions): Dimensions =>
  Object.fromEntries(Object.entries(shape).filter(([name]) => dimensions[name]!.values));

/** The sizes at which each way goes, ascending. */
function sizesByWay(tried: readonly Sized[]): Map<number, number[]> {
  const sizes = new Map<number, Set<number>>();
  for (const { size, ways } of tried) for (const way of ways) sizes.set(way, (sizes.get(way) ?? new Set()).add(size));
  return new Map([...sizes].map(([way, all]) => [way, [...all].sort((a, b) => a - b)]));
}

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b));

/** The least size at which one of these ways goes, or two go together; the rarest first. */
function coincidences(rhythms: readonly Rhythm[]): number[] {
  const unlike = [...new Map(rhythms.map((rhythm) => [`${rhythm.period} ${rhythm.first}`, rhythm])).values()];
  const pairs = unlike.flatMap((one, i) => unlike.slice(i + 1).flatMap((other) => coincidence(one, other) ?? []));
  return [...unlike, ...pairs]
    .toSorted((a, b) => b.period - a.period)
    .slice(0, MOST_COINCIDENCES)
    .map(({ period, first }) => first || period);
}

/** How many shapes are climbed from, how often each dimension has its turn, how many rare ways have to come together, and shapes kept. */
const CLIMB = { starts: 6, rounds: 2, leastRare: 3, most: 3 } as const;

const SMALL_FACTORS = [1, 2, 4, 8] as const;

const MOST_COINCIDENCES = 12;
const MOST_IN_SEVERAL_TILES = 4;
const SEVERAL_TILES = 4096;

/** `undefined` if the two never go together. */
function coincidence(one: Rhythm, other: Rhythm): Rhythm | undefined {
  const divisor = greatestDivisor(one.period, other.period);
  for (let round = 0; round < other.period / divisor; round++) {
    const first = one.first + round * one.period;
    if (first % other.period === other.first) return { first, period: (one.period / divisor) * other.period };
  }
  return undefined;
}

const EQUALITY = /^(?:eq|ne)$/;

/** What a shape in which mistakes may not show counts beside another. */
const LEAST_CLARITY = 0.5;

/** Ways that go in most shapes tell nothing of one. */
const UNUSUAL = 0.75;

const placesOf = (ways: ReadonlySet<number>): number[] => [...new Set([...ways].map((way) => way >> 1))];

const MOST_WAYS = 2 ** 20;
const MOST_VARIANTS = 6;

/** How often a dimension is what follows from those before it. */
const FOLLOWING_RATIO = 0.75;

/** How often all sizes are alike. */
const ALIKE_RATIO = 0.125;

function largest<T>(all: readonly T[], scoreOf: (one: T) => number): T | undefined {
  let [best, most]: [T | undefined, number] = [undefined, Number.NEGATIVE_INFINITY];
  for (const one of all) {
    const score = scoreOf(one);
    if (score > most) [best, most] = [one, score];
  }
  return best;
}

const aligned = (
  size: number,
  { minimum = 1, maximum = Number.MAX_SAFE_INTEGER }: Pick<DimensionDeclaration, 'minimum' | 'maximum'>,
  alignment: number,
): number => Math.min(maximum, roundUp(Math.max(minimum, size), alignment));
