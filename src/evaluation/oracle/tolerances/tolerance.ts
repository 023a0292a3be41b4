import type { DType } from '../../../core/dtype.ts';
import type { Dimensions, Tolerance } from '../../../core/problem.ts';

/** What a comparison may look at to set an output's tolerances. All tensors are row-major. */
export interface OutputFacts {
  readonly output: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly dimensions: Dimensions;
  /** Reference in float64, unrounded. */
  readonly oracle: Float64Array;
  /** The oracle rounded to the output's dtype. */
  readonly rounded: Float64Array;
  /** Reference with the results that problem.json names, and the outputs, rounded; only if the comparison asked for it. */
  readonly naive?: Float64Array;
  /**
   * Reference on inputs changed by so much relative to themselves; only if the comparison asked for it. Tolerances never
   * shrink for it: what passes without passes with it.
   */
  readonly perturbed?: readonly { readonly relative: number; readonly values: Float64Array }[];
}

/** How near an output must come. */
export interface Expectation {
  readonly want: Float64Array;
  /** Largest |got − want| allowed, one per group of `groupSize` consecutive elements. */
  readonly tolerances: Float64Array;
  readonly groupSize: number;
  /** Largest root of the mean squared error over the whole output. */
  readonly rmsLimit?: number;
}

/** Runs of the reference beside the oracle. */
export interface RunsNeeded {
  readonly naive: boolean;
  readonly perturbed: boolean;
}

/** One way to compare: which extra reference runs it needs, and the tolerances it sets. */
export interface ToleranceRule<K extends Tolerance['kind']> {
  readonly needs: (comparison: Extract<Tolerance, { kind: K }>) => RunsNeeded;
  readonly expect: (comparison: Extract<Tolerance, { kind: K }>, facts: OutputFacts) => Expectation;
}
