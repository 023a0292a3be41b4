import type { ProblemFile } from '../../../../core/problem.ts';
import type { Freedom } from '../freedom.ts';
import { bands } from './bands.ts';
import { beginnings } from './beginnings.ts';
import { copies } from './copies.ts';
import { depths } from './depths.ts';
import { groups } from './groups.ts';
import { integers } from './integers.ts';
import { lopsided } from './lopsided.ts';
import { masks } from './masks.ts';
import { moments } from './moments.ts';
import { neutral } from './neutral.ts';
import { outliers } from './outliers.ts';
import { periods } from './periods.ts';
import { samples } from './samples.ts';
import { scales } from './scales.ts';
import { sparse } from './sparse.ts';
import { specks } from './specks.ts';
import type { Treatment, VariantRequest } from './treatment.ts';
import { trends } from './trends.ts';

/**
 * Generator sets of a thorough verification that come in several variants, each of which treats the inputs in another way. They find kernels that
 * look at parameters (a fresh normalisation layer has factors of one and shifts of zero), leave out what weighs little, take tiles of whole
 * numbers for bytes, take a few samples for all values, or begin a maximum at a number that masks are below.
 */
const TREATMENTS = {
  'secret:neutral': neutral,
  'secret:trends': trends,
  'secret:integers': integers,
  'secret:masks': masks,
  'secret:outliers': outliers,
  'secret:bands': bands,
  'secret:samples': samples,
  'secret:sparse': sparse,
  'secret:groups': groups,
  'secret:depths': depths,
  'secret:copies': copies,
  'secret:lopsided': lopsided,
  'secret:beginnings': beginnings,
  'secret:specks': specks,
  'secret:scales': scales,
  'secret:periods': periods,
  'secret:moments': moments,
} as const satisfies Readonly<Record<string, Treatment>>;

export type VariantKind = keyof typeof TREATMENTS;

const KINDS = Object.keys(TREATMENTS) as VariantKind[];

export const isVariantKind = (kind: string): kind is VariantKind => Object.hasOwn(TREATMENTS, kind);

const treatmentOf = (kind: VariantKind): Treatment => TREATMENTS[kind];

/** One of the ways in which a kind treats the inputs. */
export interface Variant {
  readonly kind: VariantKind;
  readonly index: number;
  /** 0 is the strongest; each level is half as strong. */
  readonly level: number;
}

const VARIANT_NAME = new RegExp(`^(${KINDS.join('|')}) \\((\\d+)\\)(?:, milder \\((\\d)\\))?$`);

/** `secret:trends (3), milder (1)` → what it is; `undefined` of any other generator set. */
export function variantOf(generatorSet: string): Variant | undefined {
  const [, kind, index, level = '0'] = VARIANT_NAME.exec(generatorSet) ?? [];
  return kind === undefined ? undefined : { kind: kind as VariantKind, index: Number(index), level: Number(level) };
}

export const variantName = ({ kind, index }: Pick<Variant, 'kind' | 'index'>): string => `${kind} (${index})`;

/** The sets that change some input of a problem. */
export const variantsOf = (problem: ProblemFile, freedom: Freedom): string[] =>
  KINDS.flatMap((kind) =>
    Array.from({ length: treatmentOf(kind).count(problem, freedom) }, (_, index) => variantName({ kind, index })),
  );

/** Changes an input's drawn values, in place, as the variant says. */
export const applyVariant = (
  values: Float64Array,
  { kind, index, level }: Variant,
  request: VariantRequest,
): Float64Array => treatmentOf(kind).treat(values, { ...request, index, strength: 2 ** -level });

/** Of the sets of a problem, those whose mistakes show in long sums only; `always`: that every long sum gets. */
export const variantsForLongSums = (
  problem: ProblemFile,
  sets: readonly string[],
  which: 'always' | 'by lot',
): string[] =>
  sets.filter((set) => {
    const { kind, index } = variantOf(set)!;
    return treatmentOf(kind).isForLongSums?.(index, problem) === which;
  });

/** Whether mistakes show in the longest vectors only: what counts how often a value occurs ends there. */
export function isForLongestVectors(set: string): boolean {
  const { kind, index } = variantOf(set)!;
  return treatmentOf(kind).isForLongestVectors?.(index) ?? false;
}

/** Of the sets of a problem, those whose mistakes show in very long rows only. */
export const variantsForLongRows = (problem: ProblemFile, sets: readonly string[]): string[] =>
  sets.filter((set) => {
    const { kind, index } = variantOf(set)!;
    return treatmentOf(kind).isForLongRows?.(index, problem);
  });

/** Whether a set is about means and variances, whose sums stay as exact in the longest rows as those of drawn values. */
export const isOfMoments = (set: string): boolean => variantOf(set)?.kind === 'secret:moments';

/** Whether the last value of a row weighs in its sum with this set, however long the row is. */
export function showsEnds(set: string): boolean {
  const variant = variantOf(set);
  return variant !== undefined && treatmentOf(variant.kind).showsEnds === true;
}

/** In which shapes a set's structure shows: as {@link Treatment.needs} says. */
export function shapesNeeded(problem: ProblemFile, generatorSet: string): ReturnType<NonNullable<Treatment['needs']>> {
  const variant = variantOf(generatorSet);
  return variant && treatmentOf(variant.kind).needs?.(variant.index, problem);
}

/** Whether errors average out with a set's values as with drawn ones. */
export const areAsDrawn = ({ kind, index }: Pick<Variant, 'kind' | 'index'>): boolean =>
  treatmentOf(kind).isAsDrawn?.(index) ?? false;

/** Whether a set is one for problems only whose results stay as large, as those of products do. */
export const leavesSizes = (kind: string): boolean => isVariantKind(kind) && treatmentOf(kind).leavesSizes === true;
