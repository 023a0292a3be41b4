import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ProblemFile } from '../../../../src/core/problem.ts';
import { checksFor } from '../../../../src/evaluation/oracle/checks/choose.ts';
import { shapesAtPowers } from '../../../../src/evaluation/oracle/shapes/around.ts';
import { largeShapes, longestShapes, longSides, longSums } from '../../../../src/evaluation/oracle/shapes/large.ts';
import { middleShapes } from '../../../../src/evaluation/oracle/shapes/middle.ts';
import { wideShapes } from '../../../../src/evaluation/oracle/shapes/wide.ts';
import { copying } from '../../../support/toy-problem.ts';

const seeds = Array.from({ length: 10 }, (_, seed) => seed);

const problemOf = (name: string): ProblemFile =>
  JSON.parse(readFileSync(new URL(`../../../../problems/${name}/problem.json`, import.meta.url), 'utf8'));

describe('vectors longer than those', () => {
  const histogram = { problem: problemOf('histogram'), timed: { N: 524_288, BINS: 256, spread: 100 } };

  it('have more than 2²⁷ elements, once as timed and once with all else as small as can be', () => {
    for (const seed of seeds) {
      const found = longestShapes({ ...histogram, isFit: () => true, seed });
      expect(found.map(({ BINS, spread }) => [BINS, spread])).toEqual([
        [256, 100],
        [1, 0],
      ]);
      for (const { N } of found) expect(N).toBeGreaterThan(2 ** 27);
    }
  });

  it('have more than 2²⁶ and the largest workload where the host has no memory for more', () => {
    const isFit = ({ N }: Record<string, number>): boolean => N! < 2 ** 27;
    for (const { N } of longestShapes({ ...histogram, isFit, seed: 1 })) expect(N).toBeGreaterThan(65 * 2 ** 20);
  });

  it('lengths at which the end of one sum is looked for: at most seeds, a place that fp32 works out too small is among them', () => {
    const sum = { problem: problemOf('reduction'), timed: { N: 2 ** 20 }, isFit: () => true };
    const isTooSmall = ({ N }: Record<string, number>): boolean => {
      const vectors = Math.floor(N! / 4);
      return Math.trunc(Math.fround(Math.fround(290 * vectors) / 290)) < vectors;
    };
    const found = seeds.map((seed) => longSums({ ...sum, seed }));
    for (const lengths of found) expect(lengths).toHaveLength(40);
    expect(found.filter((lengths) => lengths.some(isTooSmall)).length).toBeGreaterThan(5);
    for (const name of ['scan', 'histogram', 'softmax', 'gemm'])
      expect(
        longSums({ ...sum, problem: problemOf(name), timed: { N: 8, BINS: 8, spread: 8, R: 8, M: 8, K: 8 }, seed: 1 }),
      ).toEqual([]);
  });

  it('are followed by ones but for a few, half as many, where one sum of fractions is taken', () => {
    const longestOf = (name: string, dimensions: Record<string, number>) => {
      const request = { problem: problemOf(name), dimensions, parameters: {}, seed: 3, thorough: true, large: true };
      const { checks } = checksFor({ ...request, isEmulated: true, kernel: { limits: [], steps: [] } as never });
      const sizeOf = (set: string) =>
        checks
          .filter(({ generatorSet, isLarge }) => isLarge && generatorSet === set)
          .map(({ dimensions: { N } }) => N!);
      return { declared: Math.max(...sizeOf('declared')), alike: Math.max(...sizeOf('secret:samples (5)')) };
    };
    const { declared, alike } = longestOf('reduction', { N: 2 ** 20 });
    expect(alike).toBe(Math.ceil(declared / 2));
    expect(alike).toBeGreaterThan(2 ** 25);
    expect(longestOf('scan', { N: 2 ** 20 }).alike).toBe(Number.NEGATIVE_INFINITY);
  });

  it('are none of matrices', () => {
    for (const [name, timed] of [
      ['softmax', { R: 4096, N: 1024 }],
      ['gemm', { M: 512, N: 512, K: 512 }],
    ] as const)
      expect(longestShapes({ problem: problemOf(name), timed, isFit: () => true, seed: 1 })).toEqual([]);
  });
});

describe('matrices that are long in one direction alone', () => {
  const transpose = { problem: problemOf('transpose'), timed: { M: 2048, N: 2048 }, isFit: () => true };
  const found = seeds.flatMap((seed) => largeShapes({ ...transpose, seed }).thin);

  it('have more than 65,536 tiles of 64 there, at every seed, in one direction or the other', () => {
    expect(found).toHaveLength(seeds.length);
    for (const { M, N } of found) expect(Math.max(M!, N!)).toBeGreaterThan(64 * 2 ** 16);
    expect(new Set(found.map(({ M, N }) => M! > N!))).toEqual(new Set([true, false]));
  });

  it('are long where results are, not where sums are', () => {
    const softmax = { problem: problemOf('softmax'), timed: { R: 4096, N: 1024 }, isFit: () => true };
    const rows = seeds.flatMap((seed) => largeShapes({ ...softmax, seed }).thin);
    expect(rows).toHaveLength(seeds.length);
    for (const { R } of rows) expect(R!).toBeGreaterThan(64 * 2 ** 16);
    expect(largeShapes({ problem: problemOf('scan'), timed: { N: 2 ** 20 }, isFit: () => true, seed: 1 }).thin).toEqual(
      [],
    );
  });
});

describe('matrices with two long sides', () => {
  const timed = { R: 32, C: 64 };

  it('have more than 256 tiles of 16 in both directions', () => {
    for (const seed of seeds) {
      const found = longSides({ problem: copying('R', 'C'), timed, isFit: () => true, seed });
      expect(found).toHaveLength(1);
      for (const side of Object.values(found[0]!)) expect(side).toBeGreaterThan(4096);
    }
  });

  it('are whole tiles where a kernel takes nothing else', () => {
    const isFit = ({ R, C }: Record<string, number>): boolean => R! % 32 === 0 && C! % 32 === 0;
    const [{ R, C }] = longSides({ problem: copying('R', 'C'), timed, isFit, seed: 1 }) as [Record<string, number>];
    expect([R! % 32, C! % 32]).toEqual([0, 0]);
  });

  it('are none of vectors, of batches, and of what is too dear', () => {
    expect(longSides({ problem: copying('R'), timed: { R: 32 }, isFit: () => true, seed: 1 })).toEqual([]);
    const batch = { B: 2, ...timed };
    expect(longSides({ problem: copying('B', 'R', 'C'), timed: batch, isFit: () => true, seed: 1 })).toEqual([]);
    expect(longSides({ problem: copying('R', 'C'), timed, isFit: () => false, seed: 1 })).toEqual([]);
  });
});

describe('shapes as large as users’ own', () => {
  const timed = { R: 32, C: 64 };
  const fit = { timed, isFit: () => true };

  it('have more than 2²⁴ places, along each dimension', () => {
    for (const seed of seeds) {
      const { drawn } = largeShapes({ problem: copying('R', 'C'), ...fit, seed });
      expect(drawn).toHaveLength(2);
      for (const { R, C } of drawn) expect(R! * C!).toBeGreaterThan(2 ** 24);
      expect(drawn.some(({ R }) => R! >= 4096) && drawn.some(({ C }) => C! >= 4096)).toBe(true);
    }
  });

  it('have millions of rows or columns of one or two for half of the seeds', () => {
    const areThin = seeds.filter((seed) =>
      largeShapes({ problem: copying('R', 'C'), ...fit, seed }).drawn.some(({ R, C }) => Math.min(R!, C!) <= 2),
    );
    expect(areThin.length).toBeGreaterThanOrEqual(seeds.length / 2);
  });

  it('are whole tiles of any usual size and a few more, so few that fp32 rounds them away', () => {
    for (const seed of seeds) {
      const [{ N }] = largeShapes({ problem: copying('N'), timed: { N: 64 }, isFit: () => true, seed }).drawn as [
        { N: number },
      ];
      expect(N).toBeGreaterThan(2 ** 24);
      expect(Math.fround(N)).toBeLessThan(N);
      for (const tile of [2048, 4096, 3 * 1024, 5 * 128]) {
        expect(N % tile).toBeGreaterThan(0);
        expect(N % tile).toBeLessThanOrEqual(2);
      }
    }
  });

  it('are the other workloads, too, as many as fit', () => {
    const sizes = [2 ** 22, 2 ** 23, 2 ** 23 + 1, 2 ** 28];
    const workloads = sizes.map((C) => ({ name: `c${C}`, dimensions: { R: 1, C } }) as never);
    const found = largeShapes({ problem: { ...copying('R', 'C'), workloads }, ...fit, seed: 1 }).workloads;
    expect(found).toContainEqual({ R: 1, C: 2 ** 22 });
    expect(found).not.toContainEqual({ R: 1, C: 2 ** 28 });
  });

  it('are as large as fits where that is too dear and there is one size', () => {
    const isFit = ({ R }: Record<string, number>): boolean => R! < 2 ** 22;
    const { drawn } = largeShapes({ problem: copying('R'), timed: { R: 32 }, isFit, seed: 1 });
    expect(drawn).toHaveLength(1);
    for (const { R } of drawn) expect(R).toBeGreaterThan(2 ** 21);
  });

  it('have a size, where there is one, that fp32 rounds down', () => {
    for (const seed of seeds)
      for (const { R } of largeShapes({ problem: copying('R'), timed: { R: 32 }, isFit: () => true, seed }).drawn)
        if (R! > 2 ** 24) expect(Math.fround(R!)).toBeLessThan(R!);
  });

  it('are none for a kernel that takes small ones only', () => {
    const isFit = ({ R, C }: Record<string, number>): boolean => R! * C! < 10_000;
    expect(largeShapes({ problem: copying('R', 'C'), timed, isFit, seed: 1 })).toEqual({
      drawn: [],
      thin: [],
      workloads: [],
    });
  });
});

it('shapes at powers of two lie at most one beside', () => {
  const shapes = shapesAtPowers({ problem: copying('R', 'C'), takes: () => true, timed: { R: 1, C: 1 }, seed: 3 }, 40);
  const isNear = (size: number): boolean => Math.abs(size - 2 ** Math.round(Math.log2(size))) <= 1;
  expect(shapes.length).toBe(40);
  for (const { R, C } of shapes) expect(isNear(R!) || isNear(C!)).toBe(true);
});

it('shapes of middle sizes are of every order of magnitude from 1,024 on, more of them where there is one size', () => {
  const most = { flop: 1e9, elements: 2 ** 21 };
  const draw = { takes: () => true, timed: { R: 1, C: 1 }, isFit: () => true, most };
  const one = seeds.flatMap((seed) => middleShapes({ ...draw, problem: copying('R'), seed }, 2)).map(({ R }) => R!);
  expect(one.length).toBeGreaterThan(70);
  for (let least = 1024; least < 2 ** 19; least *= 4)
    expect(one.some((size) => size >= least && size < 4 * least)).toBe(true);
  const two = middleShapes({ ...draw, problem: copying('R', 'C'), seed: 1 }, 2);
  expect(two).toHaveLength(4);
  for (const { R, C } of two) expect(Math.max(R!, C!)).toBeGreaterThanOrEqual(1024);
});

it('shapes of middle sizes are the largest that fit where two dimensions are one', () => {
  const most = { flop: 1e9, elements: 2 ** 21 };
  const takes = ({ R, C }: Record<string, number>): boolean => R === C;
  const isFit = ({ R, C }: Record<string, number>): boolean => R! * C! <= 600 ** 2;
  const problem = copying('R', 'C');
  problem.dimensions.C!.default = 'R';
  const shapes = seeds.flatMap((seed) => middleShapes({ problem, takes, isFit, most, timed: { R: 1, C: 1 }, seed }, 2));
  expect(shapes.length).toBeGreaterThan(10);
  for (const { R, C } of shapes) {
    expect(R).toBe(C);
    expect(R).toBeGreaterThanOrEqual(256);
  }
});

it('wide shapes have dozens of tiles along one dimension and several along the others', () => {
  const draw = { takes: () => true, timed: { R: 1, C: 1 }, isFit: () => true, most: { flop: 1e9, elements: 2 ** 22 } };
  const shapes = wideShapes({ ...draw, problem: copying('R', 'C'), seed: 4 }, 10);
  expect(shapes).toHaveLength(20);
  for (const { R, C } of shapes) {
    expect(Math.max(R!, C!)).toBeGreaterThanOrEqual(300);
    expect(Math.min(R!, C!)).toBeGreaterThanOrEqual(33);
  }
  // A column beyond 4,096 in a row beyond the seventieth.
  expect(shapes.some(({ R, C }) => R! > 77 && C! > 4096)).toBe(true);
  expect(wideShapes({ ...draw, problem: copying('R'), seed: 4 }, 10)).toEqual([]);
});

it('a kernel that asks for the number of multiprocessors is verified as on other GPUs', () => {
  const numbersOf = (grid: string, cooperative = false): (number | undefined)[] =>
    checksFor({
      ...{ problem: copying('R', 'C'), dimensions: { R: 32, C: 32 }, parameters: {}, seed: 5, isEmulated: true },
      smCount: 20,
      kernel: {
        limits: [],
        steps: [{ function: 'copy', grid: [grid], block: [32], cooperative, arguments: [] }],
      } as never,
    })
      .checks.filter(({ isExtreme }) => isExtreme)
      .map(({ multiprocessors }) => multiprocessors);
  expect(new Set(numbersOf('R'))).toEqual(new Set([undefined]));
  const others = numbersOf('device.smCount');
  expect(new Set(others).size).toBeGreaterThan(1);
  for (const count of others) expect(count).toBeGreaterThan(0);
  expect(Math.max(...others.map((count) => count!))).toBeGreaterThan(20);
  // More CTAs than the device holds could not meet.
  for (const count of numbersOf('device.smCount', true)) expect(count).toBeLessThanOrEqual(20);
});
