import type { DType } from '../../../core/dtype.ts';
import type { Dimensions, Tolerance } from '../../../core/problem.ts';

/** The data from which a comparison sets an output's tolerances. All tensors are row-major. */
export interface OutputFacts {
  readonly output: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly dimensions: Dimensions;
  /** Reference in float64, unrounded. */
  readonly oracle: Float64Array;
  /** The oracle rounded to the output's dtype. */
  readonly rounded: Float64Array;
  /** The reference with the named results and the outputs rounded; only if the comparison asks for it. */
  readonly naive?: Float64Array;
  /**
   * The reference on perturbed inputs; only if the comparison asks for it. It can only raise tolerances: what passes
   * without it passes with it.
   */
  readonly perturbed?: readonly PerturbedValues[];
  /** The same with weighted inputs alone perturbed, which tells how large the terms of their sums are; only before a result is called wrong. */
  readonly weighted?: readonly PerturbedValues[];
  /**
   * Whether values of the inputs repeat or differ in size. Then neighbouring terms round alike, so that n errors add up to n of
   * one, and what a running sum keeps of a large value shows in small results beside it.
   */
  readonly placed?: boolean;
  /** Whether an input holds one value nearly everywhere, so that a sum adds one and the same term again and again. */
  readonly repeats?: boolean;
  /** Whether the tolerance must bear what honest arithmetic errs on these inputs. */
  readonly tried?: boolean;
}

/** A result on inputs changed by so much, relative to themselves. */
interface PerturbedValues {
  readonly relative: number;
  readonly values: Float64Array;
}

/** How near an output must come. */
export interface Expectation {
  readonly want: Float64Array;
  /** Largest |got − want| allowed, one per group of `groupSize` consecutive elements. */
  readonly tolerances: Float64Array;
  readonly groupSize: number;
  /** Largest root of the mean squared error over the whole output. */
  readonly rmsLimit?: number;
  /** One byte an element, 1 where its value does not matter; absent where all matter. */
  readonly insignificant?: Uint8Array;
}

/** Runs of the reference beside the oracle. */
export interface RunsNeeded {
  readonly naive: boolean;
  readonly perturbed: boolean;
}

/** One kind of comparison: the extra reference runs that it needs, and the tolerances that it sets. */
export interface ToleranceRule<K extends Tolerance['kind']> {
  readonly needs: (comparison: Extract<Tolerance, { kind: K }>) => RunsNeeded;
  readonly expect: (comparison: Extract<Tolerance, { kind: K }>, facts: OutputFacts) => Expectation;
}

/** The oracle; infinite or NaN where the rounded result is. Nobody writes into it: where that is nowhere, it is the oracle itself. */
export function wantOf({ oracle, rounded }: OutputFacts): Float64Array {
  let want = oracle;
  for (let i = 0; i < rounded.length; i++) {
    if (Number.isFinite(rounded[i])) continue;
    if (want === oracle) want = oracle.slice();
    want[i] = rounded[i]!;
  }
  return want;
}
