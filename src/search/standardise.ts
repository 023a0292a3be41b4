/** Parts into which the logarithm cuts the way from the best to the median time. */
const RESOLUTION = 3;
const SMALLEST_SPREAD = 1e-6;

/**
 * Times as a surrogate learns them, with mean 0 and variance 1: the log of how far the log of each time lies above the
 * best, in units of the median's. Differences near the best count in full, those among slow ones little.
 */
export function standardise(times: readonly number[]): number[] {
  const logs = times.map(Math.log);
  const sorted = logs.toSorted((a, b) => a - b);
  const best = sorted[0]!;
  const spread = Math.max(sorted[Math.floor(sorted.length / 2)]! - best, SMALLEST_SPREAD);
  const bent = logs.map((log) => Math.log1p((RESOLUTION * (log - best)) / spread));
  const mean = bent.reduce((sum, value) => sum + value, 0) / bent.length;
  const variance = bent.reduce((sum, value) => sum + (value - mean) ** 2, 0) / bent.length;
  return bent.map((value) => (value - mean) / (Math.sqrt(variance) || 1));
}
