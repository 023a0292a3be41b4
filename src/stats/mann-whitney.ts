import { normalUpperTail } from './normal.ts';

export interface RankComparison {
  /** Pairs in which the first's value is the larger, ties counting half. */
  u: number;
  /** Two-sided, by the normal approximation with corrections for ties and continuity. */
  pValue: number;
  /** P(first smaller) − P(first larger) over all pairs: positive when the first is the faster. */
  cliffsDelta: number;
}

const UNKNOWN: RankComparison = { u: Number.NaN, pValue: Number.NaN, cliffsDelta: Number.NaN };

/** Sum of the first's ranks in both together, equal values sharing their mean rank; and the sum of t³ − t over ties. */
function rankSum(first: readonly number[], second: readonly number[]): { ranks: number; ties: number } {
  const all = [...first.map((value) => ({ value, own: 1 })), ...second.map((value) => ({ value, own: 0 }))];
  all.sort((a, b) => a.value - b.value);
  let ranks = 0;
  let ties = 0;
  for (let start = 0, end = 0; start < all.length; start = end) {
    let own = 0;
    while (end < all.length && all[end]!.value === all[start]!.value) own += all[end++]!.own;
    const length = end - start;
    ranks += own * (start + (length + 1) / 2);
    ties += length ** 3 - length;
  }
  return { ranks, ties };
}

/**
 * Mann–Whitney U test and Cliff's δ of two sets of times. Source: H. B. Mann and D. R. Whitney (1947); tie correction
 * as in E. L. Lehmann, Nonparametrics (1975); N. Cliff, "Dominance statistics" (1993). Only finite times compare.
 */
export function mannWhitney(first: readonly number[], second: readonly number[]): RankComparison {
  const [m, n] = [first.length, second.length];
  if (m === 0 || n === 0 || ![...first, ...second].every(Number.isFinite)) return UNKNOWN;
  const { ranks, ties } = rankSum(first, second);
  const u = ranks - (m * (m + 1)) / 2;
  const total = m + n;
  const variance = ((m * n) / 12) * (total + 1 - ties / (total * (total - 1)));
  const distance = Math.max(0, Math.abs(u - (m * n) / 2) - 0.5);
  const pValue = variance > 0 ? Math.min(1, 2 * normalUpperTail(distance / Math.sqrt(variance))) : 1;
  return { u, pValue, cliffsDelta: 1 - (2 * u) / (m * n) };
}
