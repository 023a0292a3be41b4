import { describe, expect, it } from 'vitest';
import type { Dimensions, ProblemFile } from '../../../src/core/problem.ts';
import { growthsOf, type Magnitude } from '../../../src/evaluation/verify/growth-of-magnitudes.ts';
import { shapesReaching } from '../../../src/evaluation/verify/shapes-reaching.ts';
import { mulberry32 } from '../../../src/stats/random.ts';

const buffer = (shape: string[]) => ({ dtype: 'f32', shape, layout: 'row-major', access: 'in' });

/** Rows of heads, of which the layout and the head dimension are listed. */
const PROBLEM = {
  dimensions: {
    H: { minimum: 1 },
    S: { minimum: 1, maximum: 2 ** 24 },
    D: { values: [32, 64, 256] },
    bshd: { values: [0, 1] },
    K: { minimum: 1, default: 'H' },
  },
  limits: ['H % K == 0'],
  inputs: { X: buffer(['K', 'S', 'D']) },
  outputs: { Y: { ...buffer(['H', 'S', 'D']), access: 'out' } },
  flop: 'H * S * D',
  independentDimensions: ['H'],
} as unknown as ProblemFile;

/** What a number gets to in shapes of all sizes. */
function magnitudesOf(magnitude: (shape: Dimensions) => number): Magnitude[] {
  const next = mulberry32(7);
  const size = (): number => Math.ceil(3000 ** next());
  return Array.from({ length: 36 }, (_, i) => {
    const K = size();
    const dimensions = { H: K * (1 + (i % 3)), S: size(), D: [32, 64, 256][i % 3]!, bshd: Math.round(next()), K };
    return { dimensions, magnitude: magnitude(dimensions) };
  });
}

const firstOf = (magnitude: (shape: Dimensions) => number) => growthsOf(PROBLEM, magnitudesOf(magnitude))[0];

describe('a magnitude follows', () => {
  it('a product of sizes and a number', () => {
    const growth = firstOf(({ S, D }) => 4 * (S! * D! - 1));
    expect(growth).toMatchObject({ product: { S: 1, D: 1 }, flags: {} });
    expect(growth!.ratio).toBeCloseTo(4, 1);
  });

  it('a square', () => {
    expect(firstOf(({ S }) => Math.floor((7 * S! * S!) / 64))).toMatchObject({ product: { S: 2 } });
  });

  it('a size that is rounded up to tiles', () => {
    expect(firstOf(({ S }) => 64 * Math.ceil(S! / 64))).toMatchObject({ product: { S: 1 } });
  });

  it('a product with one value of a flag only', () => {
    expect(firstOf(({ bshd, D, K }) => (bshd ? K! * D! : D!))).toMatchObject({
      product: { K: 1, D: 1 },
      flags: { bshd: 1 },
    });
  });

  it('nothing where it is the same in all shapes, or has nothing to do with them', () => {
    const next = mulberry32(3);
    expect(firstOf(() => 1000)).toBeUndefined();
    expect(firstOf(() => 10 ** (6 * next() + 2))).toBeUndefined();
  });
});

describe('shapes in which a magnitude reaches a value', () => {
  const listed = [32, 64, 256].flatMap((D) => [0, 1].map((bshd) => ({ D, bshd })));
  const takes = ({ H, K }: Dimensions): boolean => H! % K! === 0;
  const reaching = { problem: PROBLEM, takes, alignment: 1, listed };
  const growth = (product: Record<string, number>, flags: Dimensions = {}, ratio = 1) => ({
    ...{ product, flags, ratio, spread: 0 },
  });

  it('reach it, with as few elements as can be', () => {
    const [least, ...others] = shapesReaching(reaching, growth({ K: 1, D: 1 }, { bshd: 1 }), 2 ** 16, 3);
    expect(least).toMatchObject({ bshd: 1, S: 3 });
    for (const { K, D, bshd } of [least!, ...others]) {
      expect(K! * D!).toBeGreaterThanOrEqual(2 ** 16);
      expect(K! * D!).toBeLessThan(2 ** 16 + D!);
      expect(bshd).toBe(1);
    }
  });

  it('give what a size follows from as much, where the kernel takes nothing else', () => {
    const [least] = shapesReaching(reaching, growth({ K: 1 }), 1000, 8);
    expect(least).toMatchObject({ K: 1000, H: 1000, S: 8 });
  });

  it('have the root of it where the magnitude is a square', () => {
    const [least] = shapesReaching(reaching, growth({ S: 2 }, {}, 0.25), 2 ** 32, 1);
    expect(least).toMatchObject({ S: 2 ** 17, H: 1, K: 1, D: 32 });
  });

  it('are multiples where the kernel takes no others', () => {
    const ofTiles = { ...reaching, alignment: 64, takes: (shape: Dimensions) => takes(shape) && shape.S! % 64 === 0 };
    expect(shapesReaching(ofTiles, growth({ S: 1 }), 1000, 8)[0]).toMatchObject({ S: 1024 });
  });

  it('are none beyond the largest size', () => {
    expect(shapesReaching(reaching, growth({ S: 1 }), 2 ** 25, 8)).toEqual([]);
  });
});
