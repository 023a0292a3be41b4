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
