/**
 * Holm's step-down adjustment of p-values: if each result is compared with α, the probability of one or more false findings
 * is at most α. Keeps the order. NaN stays NaN and counts as one of the comparisons.
 * Source: S. Holm, "A simple sequentially rejective multiple test procedure" (1979).
 */
export function holm(pValues: readonly number[]): number[] {
  const rank = (p: number): number => (Number.isNaN(p) ? Number.POSITIVE_INFINITY : p);
  const order = pValues.map((_, index) => index).sort((a, b) => rank(pValues[a]!) - rank(pValues[b]!) || a - b);
  const adjusted = new Array<number>(pValues.length);
  let largest = 0;
  order.forEach((index, position) => {
    largest = Math.max(largest, Math.min(1, (pValues.length - position) * pValues[index]!));
    adjusted[index] = largest;
  });
  return adjusted;
}
