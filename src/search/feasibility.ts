import type { Correlation } from './correlation.ts';

type Places = Readonly<ArrayLike<number>>;

/** Evaluations that the overall share of failures counts for. */
const PRIOR_COUNT = 2;

/**
 * Estimated probability, 0…1, that a configuration gets a time: the share among the evaluated ones like it. Limits such
 * as shared memory cut sharply, so that only close likeness counts: the correlation to the third power.
 */
export function feasibility(
  timed: readonly Places[],
  failed: readonly Places[],
  correlation: Correlation,
): (places: Places) => number {
  if (failed.length === 0) return () => 1;
  const overall = (timed.length + 1) / (timed.length + failed.length + 2);
  const likeness = (places: Places, others: readonly Places[]): number =>
    others.reduce((sum, other) => sum + correlation(places, other) ** 3, 0);
  return (places) => {
    const alike = likeness(places, timed);
    return (alike + PRIOR_COUNT * overall) / (alike + likeness(places, failed) + PRIOR_COUNT);
  };
}
