import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { roundUp } from '../../core/values.ts';
import { elementsOf } from '../oracle/shapes/cost.ts';
import { ALIGNMENTS, LEAST_TELLING, openDimensions } from '../oracle/shapes/drawing.ts';
import { type Growth, matches } from './growth-of-magnitudes.ts';
import { leastShapeWith } from './least-shape.ts';

export interface Reaching {
  readonly problem: ProblemFile;
  /** Whether the kernel takes a shape. */
  readonly takes: (dimensions: Dimensions) => boolean;
  /** What sizes are multiples of. */
  readonly alignment: number;
  /** Combinations of listed values that the kernel takes, those in turn that are to be tried. */
  readonly listed: readonly Dimensions[];
}

/** What other dimensions are: so large that mistakes show first, then as small as they may be. */
export const BESIDE = [LEAST_TELLING, 3, 1] as const;

/** Steps between sizes of which the last factor follows, by the number of factors from here on. */
const STEPS = [2, 3, 8] as const;

/** A little below what 32 bits hold: counting up to more of one size is nobody's wish. */
const MOST_SIZE = 0.9 * 2 ** 31;

/** Of combinations of other listed values, this many are tried. */
const MOST_LISTED = 2;

/**
 * Shapes in which a magnitude that grows like this reaches a value, the cheapest first.
 *
 * @param beside - what dimensions are on which it does not depend, where they may be.
 */
export function shapesReaching(reaching: Reaching, growth: Growth, value: number, beside: number): Dimensions[] {
  const { problem } = reaching;
  const needed = value / growth.ratio;
  const [free, fixed] = [true, false].map((isFree) =>
    Object.keys(growth.product).filter((name) => !problem.dimensions[name]!.values === isFree),
  ) as [string[], string[]];
  if (free.length === 0) return [];
  const alike = Map.groupBy(
    reaching.listed.filter((one) => matches(one, growth.flags)),
    (one) => fixed.map((name) => one[name]).join(),
  );
  const found = [...alike.values()].flatMap((some) => {
    const left = fixed.reduce((rest, name) => rest / some[0]![name]! ** growth.product[name]!, needed);
    return sizesReaching(problem, free, growth.product, left, beside).flatMap((sizes) =>
      some
        .slice(0, MOST_LISTED)
        .map((listed) => shapeWithSizes(reaching, { sizes, listed, beside }))
        .filter((shape) => shape !== undefined),
    );
  });
  return byCost(problem, found);
}

function byCost(problem: ProblemFile, shapes: readonly Dimensions[]): Dimensions[] {
  const costs = new Map(shapes.map((shape) => [shape, costOf(problem, shape)]));
  return shapes.toSorted((a, b) => costs.get(a)! - costs.get(b)!);
}

/** So many operations take as long as an element. */
const FLOP_OF_ELEMENT = 50;

const costOf = (problem: ProblemFile, shape: Dimensions): number =>
  elementsOf(problem, shape) + evaluateExpression(problem.flop, shape) / FLOP_OF_ELEMENT;

/** Sizes of these dimensions whose product is as large as needed. */
function sizesReaching(
  problem: ProblemFile,
  names: readonly string[],
  powers: Growth['product'],
  needed: number,
  beside: number,
): Record<string, number>[] {
  const [name, ...others] = names as [string, ...string[]];
  const { minimum = 1, maximum = MOST_SIZE } = problem.dimensions[name]!;
  const power = powers[name]!;
  const least = Math.max(minimum, Math.min(maximum, beside));
  if (others.length === 0) {
    const size = Math.max(least, Math.ceil(needed ** (1 / power)));
    return size > maximum ? [] : [{ [name]: size }];
  }
  const found: Record<string, number>[] = [];
  for (
    let size = least;
    size <= maximum && size ** power <= 2 * needed;
    size = Math.ceil(size * STEPS[names.length - 1]!)
  )
    for (const sizes of sizesReaching(problem, others, powers, needed / size ** power, beside))
      found.push({ [name]: size, ...sizes });
  return found;
}

interface Wanted {
  readonly sizes: Record<string, number>;
  readonly listed: Dimensions;
  /** What other dimensions are, and those that do not depend on one another, where they may be. */
  readonly beside: number;
  readonly apart?: number;
}

/** The least shape with these sizes that the kernel takes. */
export function shapeWithSizes(
  { problem, takes, alignment }: Reaching,
  { sizes, listed, beside, apart = 1 }: Wanted,
): Dimensions | undefined {
  const independent = problem.independentDimensions ?? [];
  const aligned = (name: string, size: number): number => {
    const { minimum = 1, maximum = MOST_SIZE } = problem.dimensions[name]!;
    return Math.max(minimum, Math.min(maximum, roundUp(size, alignment)));
  };
  const given = Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, aligned(name, size)]));
  const others = openDimensions(problem).filter(([name]) => given[name] === undefined);
  const small = others.map(([name]) => [name, aligned(name, independent.includes(name) ? apart : beside)] as const);
  const leading = small.filter(([name]) => typeof problem.dimensions[name]!.default !== 'string');
  // What others follow from may have to be as large: there are no fewer query heads than heads of keys.
  const led = leading.map(([name, size]) => {
    const followers = Object.keys(given).filter((other) => problem.dimensions[other]!.default === name);
    return [name, Math.max(size, ...followers.map((other) => given[other]!))] as const;
  });
  for (const rest of [small, leading, led]) {
    const shape = leastShapeWith(problem, { ...Object.fromEntries(rest), ...given }, listed);
    if (shape && takes(shape)) return shape;
  }
  return undefined;
}

/** The least multiple, as of usual tiles, that the kernel takes for sizes of this order; as ragged as it takes them. */
export const alignmentOf = (takes: (alignment: number) => boolean): number => ALIGNMENTS.find(takes) ?? 1;
