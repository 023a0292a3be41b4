import type { Interval } from './bootstrap.ts';

/** A ratio of times on one workload, with its 95 % interval where it was measured. */
export interface WeightedRatio {
  readonly ratio: number;
  readonly intervalRatio?: readonly [low: number, high: number];
  /** Positive; weights need not sum to 1. */
  readonly weight: number;
}

/**
 * The weighted geometric mean of ratios, and its interval when every ratio has one. Workloads are measured one after
 * another, so their errors are independent: distances from ratio to bound, in logarithms, add up as squares.
 *
 * @throws Error when there is nothing to combine or a weight is not positive.
 */
export function combineRatios(ratios: readonly WeightedRatio[]): { ratio: number; intervalRatio?: Interval } {
  const total = ratios.reduce((sum, { weight }) => sum + weight, 0);
  if (!(total > 0) || ratios.some(({ weight }) => !(weight > 0))) throw new Error('weights must be positive');
  const [only, ...others] = ratios;
  if (others.length === 0) return { ratio: only!.ratio, ...intervalOf(only!) };
  const mean = ratios.reduce((sum, { ratio, weight }) => sum + (weight / total) * Math.log(ratio), 0);
  const distance = (side: 0 | 1): number =>
    Math.hypot(
      ...ratios.map(({ ratio, intervalRatio, weight }) => (weight / total) * Math.log(intervalRatio![side] / ratio)),
    );
  if (ratios.some(({ intervalRatio }) => intervalRatio === undefined)) return { ratio: Math.exp(mean) };
  return { ratio: Math.exp(mean), intervalRatio: [Math.exp(mean - distance(0)), Math.exp(mean + distance(1))] };
}

const intervalOf = ({ intervalRatio }: WeightedRatio): { intervalRatio?: Interval } =>
  intervalRatio ? { intervalRatio: [intervalRatio[0], intervalRatio[1]] } : {};
