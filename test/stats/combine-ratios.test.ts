import { describe, expect, it } from 'vitest';
import { combineRatios } from '../../src/stats/combine-ratios.ts';
import { randomSource } from '../../src/stats/random.ts';

describe('ratios of several workloads', () => {
  it('combine to their geometric mean', () => {
    const { ratio } = combineRatios([
      { ratio: 2, weight: 1 },
      { ratio: 8, weight: 1 },
    ]);
    expect(ratio).toBeCloseTo(4, 12);
  });

  it('weighted; weights need not sum to 1', () => {
    // 2^(3/4) × 32^(1/4) = 2^2.
    const { ratio } = combineRatios([
      { ratio: 2, weight: 6 },
      { ratio: 32, weight: 2 },
    ]);
    expect(ratio).toBeCloseTo(4, 12);
  });

  it('give the same whichever way they are read: start ÷ best or best ÷ start', () => {
    const ratios = [
      { ratio: 1.7, intervalRatio: [1.5, 1.8], weight: 2 },
      { ratio: 0.9, intervalRatio: [0.8, 1.1], weight: 1 },
    ] as const;
    const there = combineRatios(ratios);
    const back = combineRatios(
      ratios.map(({ ratio, intervalRatio: [low, high], weight }) => ({
        ratio: 1 / ratio,
        intervalRatio: [1 / high, 1 / low] as const,
        weight,
      })),
    );
    expect(there.ratio * back.ratio).toBeCloseTo(1, 12);
    expect(there.intervalRatio![0] * back.intervalRatio![1]).toBeCloseTo(1, 12);
    expect(there.intervalRatio![1] * back.intervalRatio![0]).toBeCloseTo(1, 12);
  });

  it('of one workload stay what they are, to the last digit', () => {
    expect(combineRatios([{ ratio: 1.1, intervalRatio: [0.7, 1.3], weight: 0.3 }])).toEqual({
      ratio: 1.1,
      intervalRatio: [0.7, 1.3],
    });
    expect(combineRatios([{ ratio: 1.1, weight: 0.3 }])).toEqual({ ratio: 1.1 });
  });

  it('have an interval that narrows as √n where n equal ones combine, each side by itself', () => {
    const one = { ratio: 2, intervalRatio: [2 / 1.04, 2 * 1.09] as const, weight: 1 };
    const { intervalRatio } = combineRatios(Array(4).fill(one));
    expect(intervalRatio![0]).toBeCloseTo(2 / Math.sqrt(1.04), 12);
    expect(intervalRatio![1]).toBeCloseTo(2 * Math.sqrt(1.09), 12);
  });

  it('have an interval that covers the truth about as often as theirs do', () => {
    const random = randomSource(5);
    const uniform = () => (random.next() + 0.5) / 2 ** 32;
    const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
    const deviations = [0.01, 0.03, 0.02];
    const weights = [1, 2, 5];
    const runs = 4000;
    let covered = 0;
    for (let i = 0; i < runs; i += 1) {
      const { intervalRatio } = combineRatios(
        deviations.map((deviation, k) => {
          const ratio = Math.exp(deviation * normal());
          const width = Math.exp(1.96 * deviation);
          return { ratio, intervalRatio: [ratio / width, ratio * width] as const, weight: weights[k]! };
        }),
      );
      if (intervalRatio![0] <= 1 && 1 <= intervalRatio![1]) covered += 1;
    }
    expect(covered / runs).toBeGreaterThan(0.935);
    expect(covered / runs).toBeLessThan(0.965);
  });

  it('have none where one of them has none', () => {
    const combined = combineRatios([
      { ratio: 2, intervalRatio: [1.9, 2.1], weight: 1 },
      { ratio: 8, weight: 1 },
    ]);
    expect(combined).toEqual({ ratio: expect.closeTo(4, 12) });
    expect(Object.hasOwn(combined, 'intervalRatio')).toBe(false);
  });

  it.each([[[]], [[0]], [[1, -1]], [[2, 0]], [[Number.NaN]], [[1, Number.NaN]]])('refuse weights %j', (weights) => {
    expect(() => combineRatios(weights.map((weight) => ({ ratio: 1, weight })))).toThrow('weights must be positive');
  });
});
