/** Tolerance for rounding errors of the products below; a probability of one half is often met exactly. */
const ROUNDING = 1e-9;

/** Results of random search without repetition, computed exactly instead of by runs. */
export interface RandomSearch {
  /** Evaluations until the first of the `good` configurations, on average. */
  readonly meanEvaluations: number;
  /** Fewest evaluations that find one of them with at least this probability. */
  evaluationsFor(probability: number): number;
}

/**
 * Draws without replacement until one of `good` among `size` configurations comes up: the first draw that does has a
 * negative hypergeometric distribution.
 */
export const randomSearch = (size: number, good: number): RandomSearch => ({
  meanEvaluations: (size + 1) / (good + 1),
  evaluationsFor(probability) {
    let missed = 1;
    let evaluations = 0;
    while (evaluations < size && !(1 - missed >= probability - ROUNDING)) {
      missed *= Math.max(0, size - good - evaluations) / (size - evaluations);
      evaluations += 1;
    }
    return evaluations;
  },
});

/**
 * Rank of the best of `count` draws without replacement among `size` configurations, 0 the best: the lowest that is
 * reached or surpassed with at least this probability.
 */
export function bestRankFor(size: number, count: number, probability: number): number {
  let missed = 1;
  for (let rank = 0; rank < size; rank += 1) {
    // Probability that no draw hits rank 0 … `rank`: none hits this one, given that none hits a better one.
    missed *= Math.max(0, size - count - rank) / (size - rank);
    if (1 - missed >= probability - ROUNDING) return rank;
  }
  return size - 1;
}
