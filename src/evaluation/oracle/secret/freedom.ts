import { isFloating } from '../../../core/dtype.ts';
import type { ProblemFile } from '../../../core/problem.ts';
import { NORMAL } from '../generators/generator.ts';
import { unitRoundoff } from '../ulp.ts';
import type { Arrangement } from './kinds/row-patterns.ts';
import {
  comparisonKinds,
  comparisonsOf,
  isArrangeable,
  isExact,
  largestInteger,
  scalingOf,
  UNBOUNDED,
} from './scaling.ts';

/** What is asked of an input. */
type Asked = (input: string) => boolean;

/** What the values of inputs may be. */
export interface Freedom {
  /** They do not depend on one another, and are not the caller's own. */
  readonly isFree: Asked;
  /** Longest row in which values may be the same; 0: none. */
  readonly longestRepeated: (input: string) => number;
  /** Rows of very different sizes. */
  readonly contrasts: Asked;
  /** Values far larger than all others, beside which these still count. */
  readonly outliers: Asked;
  /** Values as large as the dtype holds, where the tolerance follows the values and problem.json names no scaling. */
  readonly unscaled: Asked;
  /** Rows may be sorted. */
  readonly sorts: Asked;
  /** By how much values may grow. */
  readonly most: (input: string) => number;
  /** Nothing is computed with values: results are some of them. */
  readonly isExact: boolean;
  /** What the values of an input of whole numbers stay below; `undefined` if the dimensions decide. */
  readonly largestInteger: (input: string) => number | undefined;
}

/** What sets that come in variants may make of the inputs. */
export function freedomOf(problem: ProblemFile): Freedom {
  const contrasts = (name: string): Contrasts => contrastsOf(problem, name, [...comparisonKinds(problem)]);
  return {
    isFree: (name) => isArrangeable(problem.inputs[name] ?? {}) && problem.inputs[name]?.scaling !== false,
    longestRepeated: (name) => contrasts(name).longestRepeated,
    contrasts: (name) => contrasts(name).rowContrast > 1,
    // Their tolerance grows with the largest term.
    outliers: () => [...comparisonKinds(problem)].every((kind) => kind === 'conditioned'),
    unscaled: (name) => {
      const { dtype, scaling, generator = NORMAL } = problem.inputs[name]!;
      const follows = [...comparisonKinds(problem)].every((kind) => kind === 'conditioned' || kind === 'calibrated');
      return follows && isFloating(dtype) && scaling === undefined && UNBOUNDED.has(generator.kind);
    },
    sorts: (name) => contrasts(name).sorts,
    most: (name) => scalingOf(problem, name)?.most ?? 1,
    isExact: isExact(problem),
    largestInteger: (name) => largestInteger(problem, name),
  };
}

/**
 * Inputs that are summed with weights which others make, as values are with a softmax of scores: problem.json says that theirs are of one size, and that those of several
 * others need not be.
 */
export function weightedInputs(problem: ProblemFile): string[] {
  const { contrasts } = freedomOf(problem);
  const floating = Object.keys(problem.inputs).filter((name) => isFloating(problem.inputs[name]!.dtype));
  return floating.filter(contrasts).length > 1 ? floating.filter((name) => !contrasts(name)) : [];
}

/** Parameters have fewer axes than other inputs. They are not what sums go over, so that equal ones do not add up roundings. */
export function hasFewerAxes({ inputs }: ProblemFile, input: string): boolean {
  const most = Math.max(...Object.values(inputs).map(({ shape }) => shape.length));
  return inputs[input]!.shape.length < most;
}

/** How an input may be arranged. */
export interface Contrasts extends Pick<Arrangement, 'rowContrast' | 'contrast' | 'sorts' | 'longestRepeated'> {
  /** Whether a result may come of a few values alone, all others being zeros. */
  readonly allowsFewTerms: boolean;
}

/**
 * How unlike one another the values of an input may be. Tolerances expect a row's sums to wander as those of values in random
 * order do: sorted rows, or one value much larger than the others, make honest running sums err by more. A tolerance for
 * storage in half precision expects weights and values of one size, and errors of many terms that average out. And where a
 * tolerance follows from a naive run, rows of one value make a whole row of results err by one rounding, of which the naive run
 * has another. So what exceeds that comes only if problem.json declares it, or if nothing may err.
 */
export function contrastsOf(problem: ProblemFile, input: string, kinds: readonly string[]): Contrasts {
  const declared = problem.inputs[input]?.scaling;
  const most = scalingOf(problem, input)?.most ?? 1;
  const allowsFewTerms = !kinds.includes('calibrated');
  const longestRepeated = longestRepeatedOf(problem, input);
  if (declared) {
    const contrast = declared.contrast ?? most;
    const allows = contrast > 1 || allowsFewTerms;
    return {
      ...{ rowContrast: contrast, contrast, allowsFewTerms: allows },
      // Neighbours in a sorted row round in the same direction, more than a tolerance for terms in random order allows.
      sorts: !kinds.includes('conditioned'),
      longestRepeated: allows ? longestRepeated : 0,
    };
  }
  if (kinds.every((rule) => rule === 'exact'))
    return { rowContrast: most, contrast: most, sorts: true, longestRepeated, allowsFewTerms };
  const followsRows = kinds.every((rule) => rule === 'exact' || rule === 'conditioned');
  return {
    rowContrast: followsRows ? most : 1,
    contrast: followsRows ? Math.min(most, MODERATE_CONTRAST) : 1,
    sorts: false,
    longestRepeated: allowsFewTerms ? longestRepeated : 0,
    allowsFewTerms,
  };
}

/**
 * Values that are the same round in the same direction, so that n additions of them err by n roundings. Tolerances in units of the
 * last place, absolute and relative ones allow a number of roundings. Others grow with the sum, for which a limit that keeps them
 * below the signal is enough.
 */
function longestRepeatedOf(problem: ProblemFile, input: string): number {
  if (!isFloating({ ...problem.outputs, ...problem.inputs }[input]!.dtype)) return Number.POSITIVE_INFINITY;
  const limits = comparisonsOf(problem).map((comparison) => {
    if (comparison.kind === 'ulp') return comparison.maximumUlps;
    return comparison.kind === 'allclose' ? comparison.rtol / unitRoundoff('f32') : LONGEST_REPEATED;
  });
  return Math.min(...limits);
}

const LONGEST_REPEATED = 2 ** 18;

/** What a running sum has left of a value this much larger than the next ones lies within their tolerance. */
const MODERATE_CONTRAST = 16;

/**
 * In rows of up to so many values, tolerances that grow with the root of their number bear any contrast. In longer ones tens of thousands of like terms, each
 * of a few units in the last place of the sum, all round in one direction (a serial sum of squares was 0.5 % off at 130,000), and a sum loses tens of thousands of terms far smaller than
 * it (one of exponentials of values four times as large was 1,500 units off at 65,600).
 */
const LONGEST_CONTRASTED = 2 ** 15;

export function inRowsOf(rowLength: number, kinds: readonly string[], contrasts: Contrasts): Contrasts {
  if (rowLength <= LONGEST_CONTRASTED) return contrasts;
  if (kinds.includes('calibrated')) return { ...contrasts, contrast: Math.min(contrasts.contrast, MODERATE_CONTRAST) };
  return kinds.includes('ulp') ? { ...contrasts, rowContrast: 1 } : contrasts;
}

/** Ranges of whole numbers from here on are wide. */
const WIDE_RANGE = 2 ** 24;

export function wideRangeOf(name: string, { largestInteger }: Freedom): number | undefined {
  const most = largestInteger(name) ?? 0;
  return most >= WIDE_RANGE ? most : undefined;
}
