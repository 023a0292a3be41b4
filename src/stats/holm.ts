/**
 * Holm's step-down adjustment: p-values that, each compared with α, make at least one false finding among them all
 * happen with a chance of at most α. In the order given; NaN stays NaN and counts as one of the comparisons.
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
