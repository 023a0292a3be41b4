import { expect, test } from 'vitest';
import { type NoiseModel, QUIET_GPU, simulateComparison } from '../../bench/measuring/simulated-noise.ts';
import type { Verdict } from '../../src/core/vocabulary.ts';
import { longTestOf } from '../support/sampling/long-tests.ts';
import { sampled } from '../support/sampling/matrix.ts';

const COUNT = 200;

/** Share of each verdict among comparisons of known ratio, looking at 10, 15, … 30 blocks as the protocol does. */
function shares(trueRatio: number, noise: Partial<NoiseModel>): (verdict: Verdict) => number {
  const verdicts = Array.from(
    { length: COUNT },
    (_, index) => simulateComparison(trueRatio, { ...QUIET_GPU, ...noise }, index).verdict,
  );
  return (verdict) => verdicts.filter((one) => one === verdict).length / COUNT;
}

sampled('deviations of blocks', [0.003, 0.01, 0.03], { oneIn: 3 })(
  'equals are called faster or slower at most 3 times in 100, blocks differing by %d',
  (d) => {
    const share = shares(1, { ownBlockDeviation: d });
    expect(share('faster') + share('slower')).toBeLessThanOrEqual(0.03);
  },
);

test('equals are called the same on a quiet GPU', () => {
  expect(shares(1, {})('same')).toBeGreaterThanOrEqual(0.95);
});

const RATIOS = [
  [1.03, 'faster', 'slower'],
  [1 / 1.03, 'slower', 'faster'],
] as const;
sampled('ratios', RATIOS, { oneIn: 2 })(
  'a ratio of %d is called %s at least 9 times in 10, and never the reverse',
  (ratio, right, reverse) => {
    const share = shares(ratio, { ownBlockDeviation: 0.01 });
    expect(share(right)).toBeGreaterThanOrEqual(0.9);
    expect(share(reverse)).toBe(0);
  },
);

longTestOf(import.meta.filename)('3 % are never called the same', () => {
  expect(shares(1.03, { ownBlockDeviation: 0.02 })('same')).toBe(0);
});
