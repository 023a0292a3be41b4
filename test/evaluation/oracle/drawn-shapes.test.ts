import { describe, expect, it } from 'vitest';
import type { Dimensions, ProblemFile } from '../../../src/core/problem.ts';
import { drawShapes } from '../../../src/evaluation/oracle/drawn-shapes.ts';
import { toyProblem } from '../../support/toy-problem.ts';

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
