import type { Correlation, Places } from './correlation.ts';
import { type PriorWeight, weighPrior } from './prior-weight.ts';

/** A Gaussian process over a fixed pool of configurations, to which evaluated ones are added one by one. */
export interface GaussianProcess {
  /** Evaluated configurations so far. */
  readonly count: number;
  add(places: Places): void;
  /**
   * Predicts the pool from the values of the added configurations, in the order they were added; they should have mean 0
   * and variance 1.
   *
   * @param awaited configurations whose values are on their way. They are believed to be as predicted: means stay, and
   * deviations near them shrink.
   */
  predict(values: readonly number[], awaited?: readonly Places[]): PoolPrediction;
  /** Likewise, around a prior's mean as far as the values bear it out. */
  predictAround(
    values: readonly number[],
    prior: PriorMeans,
    awaited?: readonly Places[],
  ): PoolPrediction & { readonly weight: PriorWeight };
}

/** What a prior expects. */
interface PriorMeans {
  /** Of the added configurations, in their order. */
  readonly added: readonly number[];
  /** By place in the pool. */
  readonly pool: Readonly<ArrayLike<number>>;
}

/** Means and standard deviations by place in the pool; shared storage. */
interface PoolPrediction {
  readonly means: Float64Array;
  readonly deviations: Float64Array;
}

/**
 * Stores, for every member of the pool, its whitened correlations with the added configurations. So adding one costs a
 * single pass, and predicting needs no matrix.
 */
export function gaussianProcess(pool: readonly Places[], correlation: Correlation, noise: number): GaussianProcess {
  const added: Places[] = [];
  /** Rows of the Cholesky factor of the added configurations' correlations. */
  const factor: Float64Array[] = [];
  const whitened: Float32Array[] = [];
  /** Of each member, in units of the process's variance, before any value is known. */
  const remaining = new Float64Array(pool.length).fill(1);
  const means = new Float64Array(pool.length);
  const deviations = new Float64Array(pool.length);
  const extend = (places: Places): Float32Array => {
    const row = factorRow(places, added, factor, correlation, noise);
    factor.push(row);
    added.push(places);
    const next = whiten(pool, places, row, whitened, correlation);
    whitened.push(next);
    return next;
  };
  /** What remains when these are known, too; without a trace of them afterwards. */
  const remainingWith = (awaited: readonly Places[]): Float64Array => {
    if (awaited.length === 0) return remaining;
    const left = remaining.slice();
    for (const places of awaited) reduce(left, extend(places));
    for (const rows of [factor, added, whitened]) rows.length -= awaited.length;
    return left;
  };
  return {
    get count() {
      return added.length;
    },
    add(places) {
      reduce(remaining, extend(places));
    },
    predict(values, awaited = []) {
      const solution = whitenValues(values, factor);
      // The variance's posterior mode under a prior of one observation of the standardised values.
      const squares = solution.reduce((sum, value) => sum + value * value, 0);
      const variance = (squares + 1) / (solution.length + 1);
      means.fill(0);
      accumulate(means, solution, whitened);
      const left = remainingWith(awaited);
      for (let member = 0; member < pool.length; member += 1) {
        deviations[member] = Math.sqrt(variance * Math.max(left[member]!, SMALLEST_REMAINDER));
      }
      return { means, deviations };
    },
    predictAround(values, prior, awaited = []) {
      const solution = whitenValues(values, factor);
      const expected = whitenValues(prior.added, factor);
      const ones = whitenValues(
        values.map(() => 1),
        factor,
      );
      const weight = weighPrior(solution, expected, ones);
      // What differs from similar configurations is new information: the prior's mean, and the constant where none is near.
      const differing = difference(prior.pool, expected, whitened);
      const apart = difference(new Float64Array(pool.length).fill(1), ones, whitened);
      const precision = ones.reduce((sum, value) => sum + value ** 2, 0);
      const unexplained = solution.map((value, index) => value - weight.factor * expected[index]!);
      const constant = unexplained.reduce((sum, value, index) => sum + value * ones[index]!, 0) / precision;
      means.fill(0);
      accumulate(means, solution, whitened);
      const left = remainingWith(awaited);
      for (let member = 0; member < pool.length; member += 1) {
        const process = Math.max(left[member]!, SMALLEST_REMAINDER) + apart[member]! ** 2 / precision;
        means[member]! += weight.factor * differing[member]! + constant * apart[member]!;
        deviations[member] = Math.sqrt(weight.unexplained * process + weight.factorVariance * differing[member]! ** 2);
      }
      return { means, deviations, weight };
    },
  };
}

/** How far values of the pool lie from what the added configurations' values make likely. */
function difference(
  pool: Readonly<ArrayLike<number>>,
  added: Float64Array,
  whitened: readonly Float32Array[],
): Float64Array {
  const differing = Float64Array.from(pool);
  accumulate(
    differing,
    added.map((value) => -value),
    whitened,
  );
  return differing;
}

/** Adds to each member of the pool the whitened correlations, each with its value. */
function accumulate(sums: Float64Array, values: Float64Array, whitened: readonly Float32Array[]): void {
  for (const [index, value] of values.entries()) {
    const weights = whitened[index]!;
    for (let member = 0; member < sums.length; member += 1) sums[member]! += value * weights[member]!;
  }
}

function reduce(remaining: Float64Array, whitened: Float32Array): void {
  for (let member = 0; member < remaining.length; member += 1) remaining[member]! -= whitened[member]! ** 2;
}

/** Lower limit of a variance, so that rounding can't make it negative. */
const SMALLEST_REMAINDER = 1e-9;

function factorRow(
  places: Places,
  added: readonly Places[],
  factor: readonly Float64Array[],
  correlation: Correlation,
  noise: number,
): Float64Array {
  const row = new Float64Array(added.length + 1);
  let diagonal = 1 + noise;
  for (let column = 0; column < added.length; column += 1) {
    const earlier = factor[column]!;
    let sum = correlation(places, added[column]!);
    for (let k = 0; k < column; k += 1) sum -= row[k]! * earlier[k]!;
    row[column] = sum / earlier[column]!;
    diagonal -= row[column]! ** 2;
  }
  row[added.length] = Math.sqrt(Math.max(diagonal, SMALLEST_REMAINDER));
  return row;
}

function whiten(
  pool: readonly Places[],
  places: Places,
  row: Float64Array,
  whitened: readonly Float32Array[],
  correlation: Correlation,
): Float32Array {
  const next = new Float32Array(pool.length);
  for (let member = 0; member < pool.length; member += 1) next[member] = correlation(places, pool[member]!);
  for (const [index, earlier] of whitened.entries()) {
    const weight = row[index]!;
    for (let member = 0; member < pool.length; member += 1) next[member]! -= weight * earlier[member]!;
  }
  const diagonal = row[whitened.length]!;
  for (let member = 0; member < pool.length; member += 1) next[member]! /= diagonal;
  return next;
}

function whitenValues(values: readonly number[], factor: readonly Float64Array[]): Float64Array {
  const solution = new Float64Array(factor.length);
  for (const [index, row] of factor.entries()) {
    let sum = values[index]!;
    for (let k = 0; k < index; k += 1) sum -= row[k]! * solution[k]!;
    solution[index] = sum / row[index]!;
  }
  return solution;
}
