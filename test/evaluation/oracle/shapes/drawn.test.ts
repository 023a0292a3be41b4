import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadProblem } from '../../../../src/app/loading/load-problem.ts';
import type { Dimensions, ProblemFile } from '../../../../src/core/problem.ts';
import { checksFor } from '../../../../src/evaluation/oracle/checks/choose.ts';
import { drawShapes } from '../../../../src/evaluation/oracle/shapes/drawn.ts';
import { copying, toyProblem } from '../../../support/toy-problem.ts';

const SEEDS = 400;

/** Of a problem with one free size, by seeds: the sizes drawn where the kernel takes what `takes` says. */
const sizes = (takes: (size: number) => boolean): number[][] => {
  const { file } = toyProblem();
  const problem: ProblemFile = {
    ...file,
    flop: 'N',
    dimensions: { N: { description: '', minimum: 1 } },
    inputs: { X: { ...file.inputs.X!, shape: ['N'] } },
    outputs: { Y: { ...file.outputs.Y!, shape: ['N'] } },
  };
  const draw = (seed: number) =>
    drawShapes({ problem, takes: ({ N }) => takes(N!), timed: { N: 64 }, known: [{ N: 128 }], count: 3, seed });
  return Array.from({ length: SEEDS }, (_, seed) => draw(seed).shapes.map(({ N }) => N!));
};

const share = (drawn: readonly number[][], is: (size: number) => boolean): number =>
  drawn.filter((shape) => shape.some(is)).length / SEEDS;

describe('shapes that the seed draws', () => {
  it.each([
    [32, 1],
    [64, 1],
    [64, 63],
    [128, 1],
  ])('leave %i n + %i often: where tails go wrong', (tile, rest) => {
    expect(
      share(
        sizes(() => true),
        (size) => size > tile && size % tile === rest,
      ),
    ).toBeGreaterThan(0.2);
  });

  it('are no rounder than the multiples that a kernel asks for', () => {
    const drawn = sizes((size) => size % 64 === 0);
    expect(share(drawn, (size) => (size & (size - 1)) !== 0)).toBeGreaterThan(0.95);
  });

  it('need few threads where a CPU runs them, and are ragged and unlike as before', () => {
    const { file } = toyProblem();
    const problem: ProblemFile = {
      ...file,
      flop: 'H * N',
      dimensions: { H: { description: '', minimum: 1 }, N: { description: '', minimum: 1 } },
      inputs: { X: { ...file.inputs.X!, shape: ['H', 'N'] } },
      outputs: { Y: { ...file.outputs.Y!, shape: ['H', 'N'] } },
    };
    const threads = ({ H, N }: Dimensions): number => H! * Math.ceil(N! / 64) * 128;
    const drawn = (emulatedThreads: ((shape: Dimensions) => number) | undefined) =>
      Array.from({ length: SEEDS }, (_, seed) => {
        const draw = { problem, takes: () => true, timed: { H: 2, N: 64 }, known: [{ H: 1, N: 128 }], count: 3, seed };
        return drawShapes({ ...draw, emulatedThreads }).shapes;
      }).flat();
    const [emulated, any] = [drawn(threads), drawn(undefined)];
    expect(emulated.length).toBeGreaterThanOrEqual(3 * SEEDS);
    expect(Math.max(...emulated.map(threads))).toBeLessThanOrEqual(2 ** 14);
    expect(Math.max(...any.map(threads))).toBeGreaterThan(2 ** 16);
    const distinct = (shapes: readonly Dimensions[]) => new Set(shapes.map(({ H, N }) => `${H} ${N}`)).size;
    expect(distinct(emulated)).toBeGreaterThan(0.75 * distinct(any));
    // Sometimes many heads, often several tiles, tails and all.
    const shareOf = (is: (shape: Dimensions) => boolean): number => emulated.filter(is).length / emulated.length;
    expect(shareOf(({ H }) => H! > 32)).toBeGreaterThan(0.1);
    expect(shareOf(({ N }) => N! > 128 && N! % 64 !== 0)).toBeGreaterThan(0.2);
  });
});

const EXTREMES = { count: 2, most: { flop: 2e7, elements: 2.3e6 }, isFit: () => true };

describe('shapes beyond all others', () => {
  const extremes = (problem: ProblemFile, timed: Dimensions, seed: number): Dimensions[] =>
    drawShapes({ problem, takes: () => true, timed, known: [], count: 3, extremes: EXTREMES, seed }).extremes;

  it('are, for a problem of one size, above the timed size and above 2²⁰, and the smallest', () => {
    for (let seed = 0; seed < 100; seed++) {
      const drawn = extremes(copying('N'), { N: 70_000 }, seed).map(({ N }) => N!);
      const [above, farAbove] = drawn;
      expect(above).toBeGreaterThan(70_000);
      expect(Math.max(...drawn)).toBeGreaterThan(2 ** 20);
      expect(Math.max(...drawn)).toBeLessThanOrEqual(1.15e6);
      // One beyond 2²⁰ is enough.
      expect(drawn.length).toBe(above! > 2 ** 20 ? 2 : 3);
      expect(drawn.length === 2 || farAbove! > 2 ** 20).toBe(true);
      expect(drawn.at(-1)).toBe(1);
    }
  });

  it('are one with each size above 65,536, one with two large ones, and the smallest', () => {
    for (let seed = 0; seed < 100; seed++) {
      const drawn = extremes(copying('R', 'C'), { R: 32, C: 2048 }, seed);
      expect(drawn.some(({ R }) => R! > 65_536)).toBe(true);
      expect(drawn.some(({ C }) => C! > 65_536)).toBe(true);
      expect(drawn.some(({ R, C }) => Math.min(R!, C!) >= 128 && R! * C! > 2e5)).toBe(true);
      expect(drawn.at(-1)).toEqual({ R: 1, C: 1 });
    }
  });

  it('are, where a winner may have such, one with each size above 2²¹: more tiles of 32 than 16 bits count', () => {
    const most = { flop: 2e7, elements: 8e6 };
    for (let seed = 0; seed < 20; seed++) {
      const draw = {
        problem: copying('R', 'C'),
        takes: () => true,
        timed: { R: 32, C: 2048 },
        known: [],
        count: 3,
        seed,
      };
      const { extremes: far } = drawShapes({ ...draw, extremes: { ...EXTREMES, most, isFarFit: () => true } });
      for (const name of ['R', 'C']) expect(far.some((shape) => shape[name]! > 2 ** 21)).toBe(true);
    }
  });

  it('are, of attention, more than 65,536 keys, though those of two heads would be too dear', async () => {
    const { file: attention } = await loadProblem(
      fileURLToPath(new URL('../../../../problems/attention', import.meta.url)),
      {
        dtype: 'f16',
      },
    );
    const timed = { B: 1, H: 8, S: 512, D: 64, causal: 0, Hkv: 8, Skv: 512, bottomRight: 0, bshd: 0, lse: 0 };
    const most = { flop: 4e8, elements: 2 ** 23 };
    for (let seed = 0; seed < 10; seed++) {
      const draw = { problem: attention, takes: () => true, timed, known: [], count: 5, seed };
      const { extremes: drawn } = drawShapes({ ...draw, extremes: { ...EXTREMES, count: 8, most } });
      expect(drawn.some(({ Skv }) => Skv! > 65_536)).toBe(true);
    }
  });

  it('are drawn again with the flags that leave much to compute, where others leave nearly nothing', () => {
    const masked: ProblemFile = {
      ...copying('S', 'Skv'),
      dimensions: { ...copying('S', 'Skv').dimensions, causal: { description: '', values: [0, 1] } } as never,
      flop: 'causal ? S : S * Skv',
    };
    for (let seed = 0; seed < 20; seed++) {
      const drawn = extremes(masked, { S: 8, Skv: 8, causal: 0 }, seed);
      const idle = drawn.filter(({ S, Skv, causal }) => causal === 1 && Skv! > 4 && S! * Skv! <= EXTREMES.most.flop);
      for (const shape of idle) expect(drawn).toContainEqual({ ...shape, causal: 0 });
    }
  });

  it('start no more threads than a CPU runs at once, unless a grid ends at the hardware’s limit', () => {
    const mostRows = (rows: (R: number) => [number, number, number], seed: number): number => {
      const { coverage } = checksFor({
        ...{ problem: copying('R', 'C'), dimensions: { R: 32, C: 32 }, parameters: {}, seed, isEmulated: true },
        kernel: { limits: [], steps: [] } as never,
        launches: ({ R }) => [{ grid: rows(R!), block: [256, 1, 1] }],
      });
      return Math.max(...coverage.drawnShapes.map(({ R }) => R!));
    };
    for (let seed = 0; seed < 40; seed++) {
      expect(mostRows((R) => [R, 1, 1], seed)).toBeLessThanOrEqual(65_535);
      expect(mostRows((R) => [1, Math.min(R, 65_535), 1], seed)).toBeGreaterThan(65_535);
    }
  });
});
