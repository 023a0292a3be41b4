import type { DType } from '../../core/dtype.ts';
import type { Comparison, Dimensions } from '../../core/problem.ts';

/** What a comparison may look at to set an output's tolerances. All tensors are row-major. */
export interface OutputFacts {
  readonly output: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly dimensions: Dimensions;
  /** Reference in float64, unrounded. */
  readonly oracle: Float64Array;
  /** Oracle rounded to the output's dtype. */
  readonly rounded: Float64Array;
  /** Reference with every operation's result rounded to the I/O dtype; only if the comparison asked for it. */
  readonly naive?: Float64Array;
  /** Reference applied to the absolute values of the floating inputs, Σ|x|; only if the comparison asked for it. */
  readonly magnitude?: Float64Array;
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

/** One way to compare: which extra reference runs it needs, and the tolerances it sets. */
export interface ComparisonRule<K extends Comparison['kind']> {
  readonly needs: { readonly naive: boolean; readonly magnitude: boolean };
  readonly expect: (comparison: Extract<Comparison, { kind: K }>, facts: OutputFacts) => Expectation;
}
