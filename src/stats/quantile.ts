/**
 * Quantile of ascending values by linear interpolation between order statistics: position (n − 1) · p counted from 0.
 * Definition 7 of R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages" (1996); the default of
 * R and NumPy. NaN if there are no values.
 */
export function quantileOfSorted(sorted: ArrayLike<number>, p: number): number {
  if (sorted.length === 0 || !(p >= 0 && p <= 1)) return Number.NaN;
  const position = (sorted.length - 1) * p;
  const index = Math.floor(position);
  const low = sorted[index]!;
  const fraction = position - index;
  return fraction === 0 ? low : low + fraction * (sorted[index + 1]! - low);
}

/** The values in ascending order. NaN goes last. */
export const ascending = (values: readonly number[]): Float64Array => Float64Array.from(values).sort();

/** Middle value, or the mean of the two middle ones. NaN where there are no values or one is NaN. */
export function median(values: readonly number[]): number {
  const sorted = ascending(values);
  return Number.isNaN(sorted.at(-1)) ? Number.NaN : quantileOfSorted(sorted, 0.5);
}

/**
 * The n-th smallest of the values, from 0 on, without sorting all of them (Hoare's selection). Changes their order; none may be NaN. `undefined` if there are not so
 * many.
 */
export function nthSmallest(values: Float64Array, n: number): number | undefined {
  let [low, high] = [0, values.length - 1];
  while (low < high) {
    const pivot = values[(low + high) >>> 1]!;
    let [left, right] = [low, high];
    while (left <= right) {
      while (values[left]! < pivot) left++;
      while (values[right]! > pivot) right--;
      if (left > right) break;
      const value = values[left]!;
      values[left++] = values[right]!;
      values[right--] = value;
    }
    if (n <= right) high = right;
    else if (n >= left) low = left;
    else break;
  }
  return values[n];
}
