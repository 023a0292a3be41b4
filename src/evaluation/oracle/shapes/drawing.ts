import { defaultOf } from '../../../core/plan/dimensions.ts';
import type { DimensionDeclaration, Dimensions, ProblemFile } from '../../../core/problem.ts';
import { createStream, type Draw, inOrder } from '../../../stats/random.ts';
import type { Cost } from './cost.ts';

/** What shapes of every kind are drawn from. */
export interface ShapeSource {
  readonly problem: ProblemFile;
  /** Whether these dimensions are a shape of the problem that the kernel takes. */
  readonly takes: (dimensions: Dimensions) => boolean;
  /** The main workload's. */
  readonly timed: Dimensions;
}

/** A source, and the numbers that shapes of one kind are drawn with. */
export interface Drawing extends ShapeSource {
  readonly next: Draw;
}

/** What shapes with one dimension of a chosen size are drawn from. */
export interface ShapesAround extends ShapeSource {
  readonly most: Cost;
  readonly seed: number;
}

export interface FittingAround extends ShapesAround {
  readonly isFit: (shape: Dimensions) => boolean;
}

/** @param label of the numbers: each kind of shape has its own. */
export const drawingOf = ({ problem, takes, timed, seed }: Omit<ShapesAround, 'most'>, label: string): Drawing => ({
  ...{ problem, takes, timed },
  next: inOrder(createStream(seed, label)),
});

/** Usual tiles and vector widths. Shapes are aligned to them only if the kernel's limits require it. */
export const ALIGNMENTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** Chance that a dimension keeps the timed value if the kernel refused ragged shapes. */
export const PINNED_RATIO = 0.4;

/** Chance that a dimension is what follows from those before it, as most kernels take it. */
export const FOLLOWING_RATIO = 0.6;

/** The dimensions that may have any size within their bounds. */
export const openDimensions = ({ dimensions }: ProblemFile): [name: string, declared: DimensionDeclaration][] =>
  Object.entries(dimensions).filter(([, { values }]) => !values);

/** The dimensions that have listed values. */
export const listedNames = ({ dimensions }: ProblemFile): string[] =>
  Object.keys(dimensions).filter((name) => dimensions[name]!.values);

/** The shape, or a part of one, with every combination of the listed values of these dimensions. */
export const withListed = (
  { dimensions }: ProblemFile,
  names: readonly string[],
  shape: Dimensions = {},
): Dimensions[] =>
  names.reduce(
    (all, name) => all.flatMap((one) => dimensions[name]!.values!.map((value) => ({ ...one, [name]: value }))),
    [shape],
  );

/** Dimensions with two listed values. */
export const flagsOf = ({ dimensions }: ProblemFile): string[] =>
  Object.keys(dimensions).filter((name) => dimensions[name]!.values?.length === 2);

export const openNames = (problem: ProblemFile): string[] => openDimensions(problem).map(([name]) => name);

/** What a dimension is that follows from those before it unless something else is asked for, as keys follow from queries. */
export const followingSize = (name: string, declared: DimensionDeclaration, before: Dimensions): number | undefined =>
  typeof declared.default === 'string' ? defaultOf(name, declared, before) : undefined;

/** Dimensions from this size on have more than one tile of many kernels. */
export const SEVERAL_TILES = 33;

/** Whether every dimension that has a choice of sizes has several tiles, or follows from those that have. */
export const hasSeveralTiles = ({ dimensions }: ProblemFile, shape: Dimensions): boolean =>
  Object.entries(dimensions).every(
    ([name, { values, default: otherwise }]) =>
      values || typeof otherwise === 'string' || shape[name]! >= SEVERAL_TILES,
  );

/** Sizes that show mistakes. */
export const LEAST_TELLING = 8;

/** Whether a mistake shows: of one key, one column or one term it often does not. */
export const isTelling = ({ dimensions, independentDimensions = [] }: ProblemFile, shape: Dimensions): boolean =>
  Object.entries(dimensions).every(
    ([name, { values, maximum = LEAST_TELLING }]) =>
      values || independentDimensions.includes(name) || shape[name]! >= Math.min(maximum, LEAST_TELLING),
  );
