import { describe, expect, it } from 'vitest';
import type { Dimensions, ProblemFile } from '../../../src/core/problem.ts';
import {
  shapesAtLimits,
  shapesOfDifferences,
  shapesOfMultiples,
  shapesOfQuotients,
} from '../../../src/evaluation/verify/shapes-of-numbers.ts';

const buffer = (shape: string[]) => ({ dtype: 'f32', shape, layout: 'row-major', access: 'in' });

const PRODUCT = {
  dimensions: { M: { minimum: 1 }, K: { minimum: 1 }, causal: { values: [0, 1] } },
  inputs: { A: buffer(['M', 'K']) },
  outputs: { C: { ...buffer(['M']), access: 'out' } },
  flop: '2 * M * K',
  independentDimensions: ['M'],
} as unknown as ProblemFile;

const timed = { M: 1024, K: 512, causal: 0 };
const most = { flop: 1e8, elements: 2 ** 22 };
const aim = { problem: PRODUCT, timed, seed: 3, most, takes: () => true };

describe('shapes of multiples', () => {
  it('have each size at a number of the code, or at twice that', () => {
    const shapes = shapesOfMultiples(aim, [960]);
    for (const name of ['M', 'K']) {
      const sizes = shapes.map((shape) => shape[name]!).filter((size) => size % 960 === 0);
      expect(sizes.length).toBeGreaterThan(0);
      expect(sizes.every((size) => size <= 2 * 960)).toBe(true);
    }
  });

  it('leave out small powers of two, and begin with what may be a block', () => {
    expect(shapesOfMultiples(aim, [1, 3, 64, 4096])).toEqual([]);
    const [first] = shapesOfMultiples(aim, [961, 963, 965, 40, 967]);
    expect(Object.values(first!).some((size) => size > 0 && size % 40 === 0)).toBe(true);
  });

  it('cost no more than they may, and are taken by the kernel', () => {
    expect(shapesOfMultiples({ ...aim, most: { flop: 1e8, elements: 500 } }, [960])).toEqual([]);
    const even = shapesOfMultiples({ ...aim, takes: ({ M }: Dimensions) => M! % 2 === 0 }, [25, 40]);
    expect(even.length).toBeGreaterThan(0);
    expect(even.every(({ M }) => M! % 2 === 0)).toBe(true);
  });
});

describe('shapes of differences', () => {
  const CACHED = {
    dimensions: {
      S: { minimum: 1 },
      D: { values: [64, 32, 128] },
      causal: { values: [0, 1] },
      Skv: { minimum: 1, default: 'S' },
    },
    inputs: { Q: buffer(['S', 'D']), K: buffer(['Skv', 'D']) },
    outputs: { O: { ...buffer(['S', 'D']), access: 'out' } },
    flop: '4 * S * Skv * D',
    independentDimensions: ['S'],
  } as unknown as ProblemFile;
  const cached = { ...aim, problem: CACHED, timed: { S: 512, D: 64, causal: 0, Skv: 512 } };

  it('have a size larger by a number of the code than the one that it follows, with every flag set', () => {
    const shapes = shapesOfDifferences(cached, [4096, 96]);
    expect(shapes.map(({ S, Skv }) => Skv! - S!).sort()).toEqual([4096, 96]);
    expect(shapes.every(({ S, D, causal }) => S! >= 1 && S! <= 5 && D === 64 && causal === 1)).toBe(true);
  });

  it('are none of a problem whose sizes follow from no other, nor beyond what they may cost', () => {
    expect(shapesOfDifferences(aim, [4096])).toEqual([]);
    expect(shapesOfDifferences({ ...cached, most: { flop: 1e8, elements: 1000 } }, [4096])).toEqual([]);
  });
});

describe('shapes of quotients', () => {
  const GROUPED = {
    dimensions: { H: { minimum: 1 }, K: { minimum: 1 }, S: { minimum: 1 }, D: { values: [64, 32, 128] } },
    inputs: { Q: buffer(['H', 'S', 'D']), X: buffer(['K', 'S', 'D']) },
    outputs: { Y: { ...buffer(['H', 'S', 'D']), access: 'out' } },
    flop: 'H * S * D',
    limits: ['H % K == 0'],
    independentDimensions: ['H'],
  } as unknown as ProblemFile;
  const grouped = { ...aim, problem: GROUPED, timed: { H: 8, K: 8, S: 512, D: 64 } };

  it('number more than 16 bits’ worth of things by a quotient that is no power of two', () => {
    const shapes = shapesOfQuotients({ ...grouped, most: { flop: 1e9, elements: 2 ** 24 } });
    expect(shapes).toHaveLength(2);
    for (const { H, K, S, D } of shapes) {
      expect([K, D, Math.log2(H!) % 1 === 0]).toEqual([1, 32, false]);
      expect(H! * S!).toBeGreaterThanOrEqual(2 ** 16);
    }
  });

  it('are none where no size is a multiple of another, or where that is too dear', () => {
    expect(shapesOfQuotients(aim)).toEqual([]);
    expect(shapesOfQuotients({ ...grouped, most: { flop: 1e9, elements: 2 ** 16 } })).toEqual([]);
  });
});

describe('shapes at limits', () => {
  const within = (limit: (shape: Dimensions) => boolean) => shapesAtLimits({ ...aim, takes: limit });

  it('have the largest size that is taken', () => {
    expect(within(({ K }) => K! <= 58 * 1000)).toMatchObject([{ K: 58_000, causal: 0 }]);
    expect(within(({ M, K }) => K! <= 4096 && M! <= 2048)).toMatchObject([{ M: 2048 }, { K: 4096 }]);
  });

  it('are aligned where the kernel takes no others', () => {
    expect(within(({ K }) => K! % 8 === 0 && K! <= 1003)).toMatchObject([{ K: 1000 }]);
  });

  it('are none where nothing ends but what a shape may cost', () => {
    expect(within(() => true)).toEqual([]);
    expect(within(({ K }) => K! <= 2 ** 30)).toEqual([]);
  });
});
