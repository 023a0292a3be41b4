import type { ReferenceFunction } from 'warpsmith';

const RADIUS = 16;

/** y[i] = Σ x[i − 16 … i + 16] ÷ 33, in float64; elements beyond the ends count as zero. */
export const reference: ReferenceFunction = (inputs, { n }, round) => {
  const x = inputs.x!;
  const y = new Float64Array(n!);
  for (let i = 0; i < n!; i++) {
    let sum = 0;
    const last = Math.min(n! - 1, i + RADIUS);
    for (let j = Math.max(0, i - RADIUS); j <= last; j++) sum = round(sum + x[j]!);
    y[i] = round(sum / (2 * RADIUS + 1));
  }
  return { y };
};
