import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import { expandBuffers } from '../../../core/plan/expand-buffers.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import { type Check, extremeCheck } from '../check.ts';
import { followsLongSums, summedOver } from '../judgeable-sums.ts';
import { variantsForLongRows } from '../secret/variants/index.ts';
import { elementsIn, volumeOf } from '../shapes/cost.ts';
import type { ChosenSets } from './sets.ts';
import type { ChosenShapes } from './shapes.ts';

/**
 * Rows of the greatest length show what only long rows do: a chunk that is left out because its values are small. So the shape with
 * the longest rows gets arranged ones in place of the declared inputs; where tolerances do not bear that, a copy of it with shorter rows gets them, beside its
 * declared inputs. A thorough verification has both in every shape whose rows tolerances bear, and further sets in the longest rows.
 */
export function extremeChecks(
  problem: ProblemFile,
  { extremes, middle }: Pick<ChosenShapes, 'extremes' | 'middle'>,
  {
    placements,
    special,
    variants,
    thorough,
    takes,
  }: ChosenSets & { readonly thorough: boolean; readonly takes: (shape: Dimensions) => boolean },
): Check[] {
  const ofLongRows = variantsForLongRows(problem, variants);
  const arranged = placements.filter((kind) => kind === 'secret:rows');
  const shapes = [...middle, ...extremes];
  const large = shapes.filter((shape) => elementsIn(problem, shape) >= LEAST_ARRANGED);
  const longest = longestOf(problem, large);
  const varied = longest && mostVariedOf(problem, large, longest);
  const shorter = longest && shorterToArrange(problem, longest);
  const arrangeable = large.filter((shape) => shorterToArrange(problem, shape) === shape);
  const ofShorter = shorter && shorter !== longest && takes(shorter) ? arranged : [];
  const longestArranged = ofShorter.length > 0 ? undefined : longestOf(problem, arrangeable);
  const ofShapes = shapes.flatMap((shape) => {
    const check = extremeCheck(shape);
    const filled = (sets: readonly string[]): Check[] => sets.map((generatorSet) => ({ ...check, generatorSet }));
    const isArranged = shape === longestArranged && arranged.length > 0;
    if (!thorough) return isArranged ? filled(arranged) : [check];
    const isLarge = isArranged || (arrangeable.includes(shape) && extremes.includes(shape));
    return [
      check,
      ...filled([
        ...(isLarge ? arranged : []),
        ...(shape === longest ? special : []),
        ...(shape === longest || shape === varied ? ofLongRows : []),
      ]),
    ];
  });
  return [...ofShapes, ...ofShorter.map((generatorSet) => ({ ...extremeCheck(shorter!), generatorSet }))];
}

/** The shape with the longest rows; of shapes as long, the one with most to compute: a causal mask leaves a lone query one key. */
const longestOf = (problem: ProblemFile, shapes: readonly Dimensions[]): Dimensions | undefined =>
  shapes.toSorted(
    (a, b) =>
      longestRow(problem, b) - longestRow(problem, a) ||
      evaluateExpression(problem.flop, b) - evaluateExpression(problem.flop, a),
  )[0];

/** Of shapes whose rows are nearly as long, the one with most of everything else: with a single bin, all values are the same. */
const mostVariedOf = (
  problem: ProblemFile,
  shapes: readonly Dimensions[],
  longest: Dimensions,
): Dimensions | undefined =>
  shapes
    .filter((shape) => longestRow(problem, shape) >= longestRow(problem, longest) / NEARLY_AS_LONG)
    .toSorted((a, b) => volumeOf(b) - volumeOf(a))[0];

const NEARLY_AS_LONG = 8;

/** The shape, or the same with a reduced axis halved until rows are no longer than tolerances bear arranged values. */
function shorterToArrange(problem: ProblemFile, shape: Dimensions): Dimensions {
  if (followsLongSums(problem) || longestRow(problem, shape) <= LONGEST_ARRANGED) return shape;
  const halved = Object.fromEntries(summedOver(problem).map((name) => [name, Math.ceil(shape[name]! / 2)]));
  return Object.keys(halved).length === 0 ? shape : shorterToArrange(problem, { ...shape, ...halved });
}

/** Of a shape whose values are arranged, fewest elements: others are arranged in drawn shapes. */
const LEAST_ARRANGED = 10_000;

/** Longest rows that are arranged where tolerances do not follow long sums: of 14 sorted rows of a million values, serial sums of two were beyond it. */
const LONGEST_ARRANGED = 2 ** 17;

/** How long the axis is that is summed over, as far as the problem says; otherwise the longest row of an input. */
function longestRow(problem: ProblemFile, dimensions: Dimensions): number {
  const summed = summedOver(problem).map((name) => dimensions[name]!);
  const rows = expandBuffers(problem, dimensions)
    .filter(({ role }) => role !== 'out')
    .map(({ shape }) => shape.at(-1) ?? 1);
  return Math.max(...(summed.length > 0 ? summed : rows));
}
