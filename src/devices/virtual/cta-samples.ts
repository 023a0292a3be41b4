import { GOLDEN_FRACTION } from '../../stats/random.ts';

/**
 * One of each of `wanted` stretches, at ever other places in them: where every 64th CTA has the least to do, as under a causal mask,
 * a sample with one step would take the same ones again and again.
 */
export function evenlySpread(count: number, wanted: number): Int32Array {
  const startOf = (stretch: number): number => Math.floor((stretch * count) / wanted);
  return Int32Array.from({ length: wanted }, (_, i) => {
    const [start, end] = [startOf(i), startOf(i + 1)];
    return start + Math.floor((((i + 0.5) * GOLDEN_FRACTION) % 1) * (end - start));
  });
}

/** About so many of a grid's CTAs, in its order: evenly spread, and always the last one, where the largest offsets are. */
export const spreadToTheLast = (count: number, wanted: number): Int32Array =>
  wanted >= count
    ? Int32Array.from({ length: count }, (_, cta) => cta)
    : evenlySpread(count, wanted).fill(count - 1, -1);
