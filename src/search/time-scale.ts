/** Parts into which the logarithm cuts the way from the best to the median time. */
const RESOLUTION = 3;
const SMALLEST_SPREAD = 1e-6;

/** Where times begin and how far they spread, as logs. */
export interface Scale {
  readonly best: number;
  /** Log of the median ÷ the best time. */
  readonly spread: number;
}

/** The scale of times in any unit, at least one. */
export function scaleOf(times: readonly number[]): Scale {
  const sorted = times.map(Math.log).sort((a, b) => a - b);
  const best = sorted[0]!;
  return { best, spread: Math.max(sorted[Math.floor(sorted.length / 2)]! - best, SMALLEST_SPREAD) };
}

/**
 * A time as a surrogate learns it: the log of how far its log lies above the best, in units of the median's. Differences
 * near the best count in full, those among slow ones little, the more so the higher the resolution.
 */
export const bend = (time: number, { best, spread }: Scale, resolution: number = RESOLUTION): number =>
  Math.log1p((resolution * (Math.log(time) - best)) / spread);

export function meanAndDeviation(values: readonly number[]): { mean: number; deviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return { mean, deviation: Math.sqrt(variance) };
}

/** Times with mean 0 and variance 1, {@link bend bent}. */
export function standardise(times: readonly number[]): number[] {
  const scale = scaleOf(times);
  const bent = times.map((time) => bend(time, scale));
  const { mean, deviation } = meanAndDeviation(bent);
  return bent.map((value) => (value - mean) / (deviation || 1));
}
