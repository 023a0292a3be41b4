import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import { defaultOf, isShapeOf } from '../../../core/plan/dimensions.ts';
import type { DimensionDeclaration, Dimensions, ProblemFile } from '../../../core/problem.ts';
import { roundUp } from '../../../core/values.ts';
import { createStream, inOrder } from '../../../stats/random.ts';
import { elementsOf, isWithin, SMALL_EMULATED_COST } from './cost.ts';
import { ALIGNMENTS, followingSize } from './drawing.ts';
import { relatedSize } from './relations.ts';

/** What small shapes are drawn from that bring options together. */
export interface OptionDraw {
  readonly problem: ProblemFile;
  /** Whether these dimensions are a shape of the problem that the kernel takes. */
  readonly takes: (dimensions: Dimensions) => boolean;
  /** Threads of a shape's launches, where a CPU runs them. */
  readonly emulatedThreads?: ((dimensions: Dimensions) => number) | undefined;
  /** Shapes that are verified anyway. */
  readonly known: readonly Dimensions[];
  /** How many options are to come together: each two, or each three. */
  readonly together: 2 | 3;
  readonly most: number;
  readonly seed: number;
}

/** Draws before each shape: the one that brings most together is taken. */
const DRAWS = 100;

/** Sizes: one dimension of some tens, so that mistakes show; few of the others. What others follow from has divisors. */
const SIZES = { about: { least: 10, most: 40 }, followed: [4, 6, 8, 12], beside: [1, 2, 3] } as const;

/**
 * Small shapes in which each two, or three, options of a problem come together. Options are listed values (a head dimension, a flag, a
 * layout), and how a dimension relates to what it follows from: as many keys as queries, fewer, more. A kernel may resolve one combination in a
 * path of its own, or forget one, which drawn shapes rarely meet.
 */
export function drawOptions(draw: OptionDraw): Dimensions[] {
  const { problem, takes, known, together, most, emulatedThreads = () => 0 } = draw;
  const names = Object.keys(problem.dimensions).filter((name) => isOption(problem.dimensions[name]!));
  if (names.length < 2) return [];
  const combinationsOf = (shape: Dimensions): string[] => tuplesOf(optionsOf(problem, names, shape), together);
  const seen = new Set(known.flatMap(combinationsOf));
  const sample = samplerOf(draw);
  const weightOf = weigher(problem, names, together);
  const fresh = (shape: Dimensions): number =>
    combinationsOf(shape).reduce((sum, one, i) => sum + (seen.has(one) ? 0 : weightOf(i)), 0);
  const isTaken = (shape: Dimensions): boolean => takes(shape) && emulatedThreads(shape) <= SMALL_EMULATED_COST.threads;
  const best = (alignment: number): Dimensions | undefined =>
    Array.from({ length: DRAWS }, () => sample(alignment))
      .filter((shape) => isShapeOf(problem, shape) && isWithin(SMALL_EMULATED_COST, problem, shape))
      .map((shape) => ({ shape, count: fresh(shape) }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => b.count - a.count || densityOf(problem, b.shape) - densityOf(problem, a.shape))
      .find(({ shape }) => isTaken(shape))?.shape;
  const found: Dimensions[] = [];
  let [at, alignments] = [0, ALIGNMENTS as readonly number[]];
  while (found.length < most && at < alignments.length) {
    const shape = best(alignments[at]!);
    if (!shape) {
      at += 1;
      continue;
    }
    // Multiples are only for kernels that take nothing else.
    if (found.length === 0) [at, alignments] = [0, [alignments[at]!]];
    found.push(shape);
    for (const one of combinationsOf(shape)) seen.add(one);
  }
  return found;
}

/** Whether a dimension has listed values, or follows from others. */
const isOption = ({ values, default: otherwise }: DimensionDeclaration): boolean =>
  values !== undefined || typeof otherwise === 'string';

/** `bshd=1`, `Hkv: fewer`. */
function optionsOf({ dimensions }: ProblemFile, names: readonly string[], shape: Dimensions): string[] {
  return names.map((name) => {
    const declared = dimensions[name]!;
    const value = shape[name]!;
    if (declared.values) return `${name}=${value}`;
    const whole = defaultOf(name, declared, shape) ?? value;
    if (value === whole) return `${name}: the same`;
    return `${name}: ${value > whole ? 'more' : value === 1 ? 'one' : 'fewer'}`;
  });
}

/** Each two, or three, of them, in one order. */
export const tuplesOf = <T>(options: readonly T[], together: 2 | 3): string[] =>
  combinations(options, together).map(String);

const combinations = <T>(all: readonly T[], count: number): T[][] =>
  count === 0
    ? [[]]
    : all.flatMap((one, i) => combinations(all.slice(i + 1), count - 1).map((others) => [one, ...others]));

/** Ways in which a dimension can relate to what it follows from. */
const RELATED_WAYS = 4;

/**
 * What it counts that a combination, by its place among a shape's, is met: the fewer values its options have, the more of the shapes that users
 * have are like it.
 */
function weigher({ dimensions }: ProblemFile, names: readonly string[], together: 2 | 3): (place: number) => number {
  const ways = names.map((name) => dimensions[name]!.values?.length ?? RELATED_WAYS);
  const weights = combinations(ways, together).map((all) => all.reduce((weight, count) => weight / count, 1));
  return (place) => weights[place]!;
}

/** Operations per element: where little is computed, mistakes don't show. */
const densityOf = (problem: ProblemFile, shape: Dimensions): number =>
  evaluateExpression(problem.flop, shape) / elementsOf(problem, shape);

function samplerOf({ problem, known, seed }: OptionDraw): (alignment: number) => Dimensions {
  const next = inOrder(createStream(seed, 'options'));
  const oneOf = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!;
  // Values that the kernel takes: others have no place in any shape.
  const taken = new Map(
    Object.keys(problem.dimensions).map((name) => [name, [...new Set(known.map((shape) => shape[name]!))]]),
  );
  const sizes = Object.keys(problem.dimensions).filter((name) => !isOption(problem.dimensions[name]!));
  const isFollowed = (name: string): boolean =>
    Object.values(problem.dimensions).some(({ default: otherwise }) => otherwise === name);
  const related = (whole: number): number => relatedSize(whole, [next(), next()], SIZES.about.least);
  return (alignment) => {
    const aligned = (size: number): number => roundUp(size, alignment);
    const { least, most } = SIZES.about;
    const about = sizes.length > 0 ? oneOf(sizes) : undefined;
    const shape: Record<string, number> = {};
    for (const [name, declared] of Object.entries(problem.dimensions)) {
      const whole = followingSize(name, declared, shape);
      if (declared.values) shape[name] = oneOf(taken.get(name)!);
      else if (whole !== undefined) shape[name] = aligned(related(whole));
      else
        shape[name] = aligned(
          name === about
            ? Math.floor(least + next() * (most - least))
            : oneOf(isFollowed(name) ? SIZES.followed : SIZES.beside),
        );
    }
    return shape;
  };
}
