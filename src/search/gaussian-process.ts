import type { Correlation } from './correlation.ts';

type Places = Readonly<ArrayLike<number>>;

/** A Gaussian process over a fixed pool of configurations, to which evaluated ones are added one by one. */
export interface GaussianProcess {
  /** Evaluated configurations so far. */
  readonly count: number;
  add(places: Places): void;
  /**
   * Predicts the pool from the values of the added configurations, in the order they were added; they should have mean 0
   * and variance 1. Means and standard deviations by place in the pool; shared storage.
   *
   * @param awaited configurations whose values are on their way. They are believed to be as predicted: means stay, and
   * deviations near them shrink.
   */
  predict(
    values: readonly number[],
    awaited?: readonly Places[],
  ): { readonly means: Float64Array; readonly deviations: Float64Array };
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
      for (const [index, value] of solution.entries()) {
        const weights = whitened[index]!;
        for (let member = 0; member < pool.length; member += 1) means[member]! += value * weights[member]!;
      }
      const left = remainingWith(awaited);
      for (let member = 0; member < pool.length; member += 1) {
        deviations[member] = Math.sqrt(variance * Math.max(left[member]!, SMALLEST_REMAINDER));
      }
      return { means, deviations };
    },
  };
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
