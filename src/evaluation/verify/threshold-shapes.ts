import { parseExpression } from '../../core/expressions/parser.ts';
import { childrenOf, type ExpressionNode } from '../../core/expressions/syntax-tree.ts';
import type { KernelFile, LaunchStepDeclaration } from '../../core/kernel.ts';
import { expressionsOfLaunch, launchesOf, placedSteps } from '../../core/plan/declared-steps.ts';
import type { Dimensions } from '../../core/problem.ts';
import { distinctValues } from '../../core/values.ts';
import { createStream } from '../../stats/random.ts';
import { type Aim, foreseen } from './aimed-shapes.ts';

/** What shapes at thresholds are chosen from. */
export interface ThresholdAim extends Pick<Aim, 'device' | 'module' | 'planFor' | 'isFit' | 'drawn' | 'most'> {
  readonly kernel: KernelFile;
  readonly timed: Dimensions;
  readonly seed: number;
  /** Pools of shapes with a dimension of one of these sizes, of each the most telling ones first. */
  readonly poolsAround: (sizes: readonly number[]) => readonly (readonly Dimensions[])[];
}

export interface ShapeAtThreshold {
  readonly dimensions: Dimensions;
  /** It goes another way than the timed shape, which is verified with all generator sets. */
  readonly isUntimed: boolean;
}

/** A number with which a kernel compares a size: in its code, by the decision's place, or in kernel.json. */
interface Threshold {
  readonly constant: number;
  readonly at: { readonly place: number } | { readonly dimension: string };
}

/** Smaller numbers are everywhere, in unrolled loops most of all; larger ones can't be verified. */
const CONSTANTS = { least: 4, most: 2 ** 23 } as const;
const MOST_THRESHOLDS = 8;

/**
 * The last sizes of one way and the first of the other, up to two of each, so that one is odd; and two sizes far beyond, where much
 * of the work lies beyond the number, and more than a few elements of it in a last tile: of a long sum, one element less is no matter.
 */
const NEAR = { distance: 2, ofEachWay: 2, offsets: [-2, -1, 0, 1, 2, 3] } as const;
const FAR = { share: 0.5, factors: [0.25, 0.5, 2, 3], ragged: 1 / 8, most: 2 } as const;

const MOST_FORESEEN = 300;

/**
 * Shapes beside the numbers with which the kernel compares sizes: `BINS < 32`, `M <= 8`, `K >= 2048`. A path for such sizes is most
 * often wrong at its first and last ones, and for inputs that only the other path meets; drawn shapes rarely meet either.
 */
export function shapesAtThresholds(aim: ThresholdAim): ShapeAtThreshold[] {
  const thresholds = thresholdsOf(aim);
  if (thresholds.length === 0) return [];
  const sidesOf = sidesIn(aim, thresholds);
  const timed = sidesOf(aim.timed);
  const counts = new Map<string, number>();
  const keysOf = (sides: readonly (Side | undefined)[]): { key: string; most: number }[] =>
    sides.flatMap((side, i) => {
      if (!side) return [];
      const { way, distance } = side;
      if (distance <= NEAR.distance) return [{ key: `${i} ${way}`, most: NEAR.ofEachWay }];
      const isFar = distance >= FAR.share * thresholds[i]!.constant && way !== timed[i]?.way;
      return isFar ? [{ key: `${i} far`, most: FAR.most }] : [];
    });
  const count = (key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const shape of aim.drawn) for (const { key } of keysOf(sidesOf(shape))) if (!key.endsWith('far')) count(key);
  const chosen: ShapeAtThreshold[] = [];
  const pools = aim.poolsAround(sizesAround(thresholds, aim.seed)).map((pool) => pool.slice(0, MOST_FORESEEN));
  for (const dimensions of distinctValues(pools.flat())) {
    if (chosen.length === aim.most) break;
    const sides = sidesOf(dimensions);
    const keys = keysOf(sides);
    if (!keys.some(({ key, most }) => (counts.get(key) ?? 0) < most) || !aim.isFit(dimensions)) continue;
    for (const { key } of keys) count(key);
    chosen.push({ dimensions, isUntimed: sides.some((side, i) => side && timed[i] && side.way !== timed[i].way) });
  }
  return chosen;
}

function sizesAround(thresholds: readonly Threshold[], seed: number): number[] {
  const lot = createStream(seed, 'sizes far beyond thresholds');
  const far = (constant: number, factor: number, i: number): number =>
    Math.floor(constant * (factor + FAR.ragged * lot.uniform(i))) | 1;
  const sizes = thresholds.flatMap(({ constant }, i) => [
    ...NEAR.offsets.map((offset) => constant + offset),
    ...FAR.factors.map((factor, k) => far(constant, factor, FAR.factors.length * i + k)),
  ]);
  return [...new Set(sizes)];
}

/** Which way a comparison goes, and how far from the number. */
interface Side {
  readonly way: boolean;
  readonly distance: number;
}

function sidesIn(
  aim: Pick<ThresholdAim, 'device' | 'module' | 'planFor'>,
  thresholds: readonly Threshold[],
): (shape: Dimensions) => (Side | undefined)[] {
  const places = thresholds.flatMap(({ at }) => ('place' in at ? [at.place] : []));
  return (shape) => {
    const foreseenWays = foreseen(aim, shape, places);
    return thresholds.map(({ constant, at }): Side | undefined => {
      if ('dimension' in at) {
        const excess = shape[at.dimension]! - constant;
        return { way: excess > 0, distance: Math.abs(excess) };
      }
      const { wasTrue, distance } = foreseenWays.get(at.place) ?? {};
      return wasTrue === undefined || distance === undefined ? undefined : { way: wasTrue, distance };
    });
  };
}

/** Larger ones first: they bear on more of a kernel's path than the remainders of unrolled loops. */
function thresholdsOf({ device, module, kernel }: ThresholdAim): Threshold[] {
  const observed = device.decisions?.(module).decisions ?? [];
  const ofCode = observed.flatMap(({ isSettled, isFloat, constant, kind }, place): Threshold[] =>
    isSettled || isFloat || constant === undefined || kind === 'combination' ? [] : [{ constant, at: { place } }],
  );
  const all = [...ofCode, ...launchesOf(kernel.steps).flatMap(comparisonsIn)];
  return all
    .filter(({ constant }) => constant >= CONSTANTS.least && constant <= CONSTANTS.most)
    .sort((a, b) => b.constant - a.constant)
    .slice(0, MOST_THRESHOLDS);
}

/** Numbers that the conditions of steps name: `N % 640 == 0`. */
export const numbersOfSteps = ({ steps }: Pick<KernelFile, 'steps'>): number[] =>
  numbersNamedBy(placedSteps(steps).flatMap(({ step }) => (typeof step.when === 'string' ? [step.when] : [])));

/** Numbers that the launches name, arguments among them. */
export const numbersOfLaunches = ({ steps }: Pick<KernelFile, 'steps'>): number[] =>
  numbersNamedBy(launchesOf(steps).flatMap(expressionsOfLaunch).map(String)).filter(Number.isInteger);

const numbersNamedBy = (expressions: readonly string[]): number[] => [
  ...new Set(
    expressions
      .flatMap((one) => numbersIn(parseExpression(one)))
      .filter((number) => number >= CONSTANTS.least && number <= CONSTANTS.most),
  ),
];

export const numbersIn = (node: ExpressionNode): number[] =>
  node.kind === 'number' ? [node.value] : childrenOf(node).flatMap(numbersIn);

/** Comparisons of a dimension with a number in the expressions of a launch: `K >= 1024`. */
const comparisonsIn = (step: LaunchStepDeclaration): Threshold[] =>
  [step.when, ...expressionsOfLaunch(step)]
    .flatMap((one) => (typeof one === 'string' ? [parseExpression(one)] : []))
    .flatMap(comparisonsOf);

const ORDERINGS: ReadonlySet<string> = new Set(['<', '<=', '>', '>=']);

function comparisonsOf(node: ExpressionNode): Threshold[] {
  const within = childrenOf(node).flatMap(comparisonsOf);
  if (node.kind !== 'binary' || !ORDERINGS.has(node.operator)) return within;
  const { left, right } = node;
  if (left.kind === 'name' && right.kind === 'number')
    within.push({ constant: right.value, at: { dimension: left.name } });
  if (left.kind === 'number' && right.kind === 'name')
    within.push({ constant: left.value, at: { dimension: right.name } });
  return within;
}
