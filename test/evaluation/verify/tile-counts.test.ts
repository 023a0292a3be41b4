import { describe, expect, it } from 'vitest';
import type { KernelFile } from '../../../src/core/kernel.ts';
import type { Dimensions, ProblemFile } from '../../../src/core/problem.ts';
import { planLaunches } from '../../../src/evaluation/launches/plan-launches.ts';
import { createLiveEvaluator } from '../../../src/evaluation/live-evaluator.ts';
import { shapesOfTileCounts, type TileCountsAim } from '../../../src/evaluation/verify/tile-counts.ts';
import { H200 } from '../../../src/hardware/specs/h200.ts';
import { createFakeDevice, type FakeKernel } from '../../support/fake-device.ts';
import { createFakeToolchain } from '../../support/fake-toolchain.ts';
import { copying, toyCandidate, toyProblem, toyWorkload } from '../../support/toy-problem.ts';

const CTAS = H200.smCount.value;

function shapesOf(
  file: ProblemFile,
  grid: string[],
  { numbers = [], parameters = {}, multiprocessors = [undefined], takes = () => true }: Partial<TileCountsAim> = {},
) {
  const problem = toyProblem(file);
  const step = { function: 'copy', grid, block: [64], arguments: [] };
  const candidate = toyCandidate({ steps: [step] as KernelFile['steps'], workspaces: {} });
  const planFor = (dimensions: Dimensions, smCount?: number) =>
    planLaunches({ problem, candidate, dimensions, spec: H200, multiprocessors: smCount });
  return shapesOfTileCounts({
    ...{ problem: file, planFor, timed: { M: 512, N: 768 }, parameters, numbers, multiprocessors, takes, seed: 1 },
  });
}

const vector = copying('N');
const sizesOf = (...of: Parameters<typeof shapesOf>): number[] =>
  shapesOf(...of).map(({ dimensions }) => dimensions.N!);

describe('shapes with telling numbers of tiles', () => {
  it('have a tile more than whole rounds of a grid, or one element, or none', () => {
    const sizes = sizesOf(vector, ['min(device.smCount, ceilDiv(N, 1024))']);
    const round = 1024 * CTAS;
    expect(sizes.slice(0, 2)).toEqual([round + 1024, 2 * round + 1024]);
    expect(sizes).toEqual(expect.arrayContaining([round, round + 1, round + 2048, 2 * round, 3 * round + 1024]));
    expect(Math.max(...sizes)).toBe(3 * round + 2048);
  });

  it('count tiles as the grid does, wherever its edges are', () => {
    expect(sizesOf(vector, ['min(20, ceilDiv(max(N - 1, 1), 1024))'])[0]).toBe(21 * 1024 + 1);
  });

  it('have more rounds on GPUs of few multiprocessors, which they name', () => {
    const shapes = shapesOf(vector, ['min(2 * device.smCount, ceilDiv(N, 1024))'], { multiprocessors: [3] });
    expect(new Set(shapes.map(({ multiprocessors }) => multiprocessors))).toEqual(new Set([3]));
    expect(shapes.map(({ dimensions }) => dimensions.N)).toContain(1024 * (9 * 6 + 1));
  });

  it('have as many tiles as a number of the code says, and twice as many; odd numbers first, powers of two never', () => {
    const numbers = [1024, 1021, 1020];
    const sizes = sizesOf(vector, ['ceilDiv(N, 512)'], { numbers });
    expect(sizes.slice(0, 5)).toEqual([2 ** 12 + 2, 1021, 2042, 1020, 2040].map((tiles) => tiles * 512));
    expect(sizes).not.toContain(1024 * 512);
  });

  it('have as many parts of tiles, or elements, too', () => {
    const sizes = sizesOf(vector, ['ceilDiv(N, 512)'], { numbers: [1021], parameters: { ITEMS: 4 } });
    expect(sizes).toEqual(expect.arrayContaining([1021 * 128, 1021]));
  });

  it('have several tiles of another dimension, too, of which all make up the rounds', () => {
    const shapes = shapesOf(copying('M', 'N'), ['min(100, ceilDiv(M, 32) * ceilDiv(N, 32))']);
    const tiles = shapes.map(({ dimensions: { M, N } }) => ({
      rows: Math.ceil(M! / 32),
      columns: Math.ceil(N! / 32),
    }));
    expect(tiles).toContainEqual({ rows: 101, columns: 1 });
    expect(tiles).toContainEqual({ rows: 1, columns: 101 });
    const several = tiles.filter(({ rows, columns }) => rows > 2 && columns > 2);
    expect(several.some(({ rows, columns }) => rows * columns > 100 && (rows - 1) * columns <= 100)).toBe(true);
  });

  it('are guessed for a grid that no size changes', () => {
    const grid = ['4 * device.smCount'];
    const sizes = sizesOf(vector, grid, { parameters: { ITEMS: 8 }, numbers: [512, 500] });
    for (const tile of [1, 2, 8, 64, 512]) expect(sizes).toContain(tile * (4 * CTAS + 1));
    // What is left over after one round comes first, and a parameter is most likely an extent.
    expect(sizes.slice(0, 2)).toEqual([8 * (4 * CTAS + 1), 64 * (4 * CTAS + 1)]);
    const columns = shapesOf(copying('M', 'N'), grid).filter(({ name }) => name === 'M');
    expect(new Set(columns.map(({ dimensions }) => dimensions.N)).size).toBe(1);
    // Neither of a CTA for each row, nor of one CTA.
    expect(shapesOf(copying('M', 'N'), ['M']).filter(({ name }) => name === 'N')).toEqual([]);
    expect(sizesOf(vector, ['1'])).toEqual([]);
  });

  it('are two tiles beyond a power of two of a grid that grows with the one size there is', () => {
    expect(sizesOf(vector, ['ceilDiv(N, 512)'])).toEqual([(2 ** 12 + 2) * 512]);
    expect(sizesOf(vector, ['ceilDiv(N, 8192)'])).toEqual([(2 ** 10 + 2) * 8192]);
    expect(shapesOf(copying('M', 'N'), ['ceilDiv(M, 32)'])).toEqual([]);
  });

  it('are such as the kernel takes: whole vectors beside the tiles, or timed sizes', () => {
    const columnsWhere = (takes: (shape: Dimensions) => boolean): (number | undefined)[] =>
      shapesOf(copying('M', 'N'), ['min(100, ceilDiv(M, 32))'], { takes }).map(({ dimensions }) => dimensions.N);
    const whole = columnsWhere(({ N }) => N! % 64 === 0);
    expect(new Set(whole)).toEqual(new Set([64, 128]));
    expect(new Set(columnsWhere(({ N }) => N === 768))).toEqual(new Set([768]));
  });

  it('keep within what a dimension may be', () => {
    const bounded = { ...vector, dimensions: { N: { description: '', minimum: 1, maximum: 4000 } } };
    const sizes = sizesOf(bounded, ['min(7, ceilDiv(N, 256))']);
    expect(sizes).toContain(8 * 256);
    expect(sizes).toContain(15 * 256);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(4000);
  });
});

describe('a kernel whose tiles are taken in rounds', () => {
  const rows = 8;
  const grid = [`min(2 * device.smCount, ceilDiv(R, ${rows}))`];
  const step = {
    function: 'kernel',
    grid,
    block: [32],
    arguments: [{ buffer: 'X' }, { buffer: 'W' }, { buffer: 'Y' }],
  };

  const judge = (kernel: FakeKernel) => {
    const evaluator = createLiveEvaluator({ device: createFakeDevice({ kernel }), toolchain: createFakeToolchain() });
    const candidate = toyCandidate({ steps: [step] as KernelFile['steps'], limits: ['R <= 9000', 'C <= 16'] });
    const workload = { ...toyWorkload, dimensions: { R: 16, C: 16 } };
    return evaluator.evaluate({ problem: toyProblem(), candidate, workload, seed: 1, thorough: true });
  };

  it('is refused if a tile that is left over after two rounds counts for none', async () => {
    const verdict = await judge(({ load, store, launch }) => {
      const [x, w] = [load('X', 'f16'), load('W', 'f16')];
      const y = x.map((value, i) => Math.fround(value * w[Math.floor((i * w.length) / x.length)]!));
      const ctas = launch.grid[0];
      const isLeftOut = Math.ceil(w.length / rows) === 2 * ctas + 1;
      store('Y', 'f16', isLeftOut ? y.subarray(0, (x.length / w.length) * 2 * ctas * rows) : y);
    });
    expect(verdict.status).toBe('wrong');
    expect(verdict.reason).toMatch(/^Y\[1856, 0\] = .* wrong: all at rows ≥ 1856/);
  });
});
