import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../../src/core/device.ts';
import type { LoadedModule } from '../../../../src/core/device-values.ts';
import { WarpsmithError } from '../../../../src/core/errors.ts';
import type { KernelFile } from '../../../../src/core/kernel.ts';
import type { LaunchPlan } from '../../../../src/core/launch-plan.ts';
import type { Dimensions, ProblemFile } from '../../../../src/core/problem.ts';
import { openDevice } from '../../../../src/devices/open-device.ts';
import { type Aim, aimedShapes } from '../../../../src/evaluation/verify/aimed-shapes.ts';
import { jointShapes } from '../../../../src/evaluation/verify/joint-shapes.ts';
import { raggedShapesForSteps, shapesAtTurns, shapesForSteps } from '../../../../src/evaluation/verify/step-shapes.ts';
import { shapesAtThresholds } from '../../../../src/evaluation/verify/threshold-shapes.ts';
import { createClangToolchain } from '../../../../src/toolchains/clang.ts';
import { compileCuda } from '../../../support/launch/compile-cuda.ts';
import { launchKernel, loadCode, planLaunch } from '../../../support/launch/launch-kernel.ts';

const SOURCE = `
extern "C" __global__ void sizes(const float* x, float* y, int n, float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  if (n > 300 && n % 89 == 17 && i == n - 1) v = 0.0f;
  if (blockIdx.x * 64 >= 12800) v *= scale;
  if (v > 1e6f) v = 1e6f;
  if (threadIdx.x == 77) v = 3.0f;
  y[i] = v;
}`;

let device: Device;
let module: LoadedModule;

const launchOf = (n: number) => ({
  ...{ functionName: 'sizes', grid: Math.ceil(n / 64), block: 64 },
  arguments: ['x', 'y', { i32: n }, { f32: 2 }],
});

const planFor = ({ n }: Dimensions): LaunchPlan => ({ steps: [planLaunch(launchOf(n!))], buffers: [] });

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
  module = await loadCode(device, await compileCuda(await createClangToolchain(), SOURCE, ['sizes']));
  const n = 100;
  await launchKernel(device, module, { ...launchOf(n), buffers: { x: 4 * n, y: 4 * n } });
});

afterAll(async () => await device?.close());

const shapes = (...sizes: number[]): Dimensions[] => sizes.map((n) => ({ n }));

const aimed = ({ pool, ...aim }: Partial<Omit<Aim, 'pool'>> & { pool: Dimensions[] }): number[] =>
  aimedShapes({
    ...{
      device,
      module,
      planFor,
      isFit: () => true,
      drawn: shapes(100),
      most: 9,
      ofEach: { least: 1, most: 3 },
      pool: () => pool,
    },
    ...aim,
  }).map(({ n }) => n!);

describe('shapes for conditions that went one way', () => {
  it('are those in which a condition of sizes goes the other way', () => {
    const pool = shapes(18, 106, 301, 350, 374, 5000, 12_700, 12_801, 20_000);
    expect(aimed({ pool, ofEach: { least: 1, most: 1 } })).toEqual([106, 301, 12_801]);
  });

  it('are also those in which it does so beside others', () => {
    expect(aimed({ pool: shapes(106, 195, 301, 350, 373, 462) })).toEqual([106, 301, 373]);
  });

  it('are as many as are wanted of each, and in all', () => {
    const pool = shapes(12_900, 13_000, 13_101);
    expect(aimed({ pool, ofEach: { least: 2, most: 2 } })).toEqual([12_900, 13_000]);
    expect(aimed({ pool, ofEach: { least: 2, most: 2 }, most: 1 })).toEqual([12_900]);
  });

  it('are not those that can’t be verified, nor those with a mistake in their plan', () => {
    expect(aimed({ pool: shapes(12_900, 13_000), isFit: ({ n }) => n === 13_000 })).toEqual([13_000]);
    const refusing = (shape: Dimensions): LaunchPlan => {
      if (shape.n === 12_900) throw new WarpsmithError({ code: 'bad-expression', message: 'n' });
      return planFor(shape);
    };
    expect(aimed({ pool: shapes(12_900, 13_000), planFor: refusing })).toEqual([13_000]);
  });

  it('are none where all went both ways in drawn shapes, whatever the values and threads decide', () => {
    const drawn = shapes(100, 106, 301, 373, 12_801);
    expect(aimed({ drawn, pool: shapes(17, 462, 13_000) })).toEqual([]);
  });
});

describe('shapes beside numbers with which sizes are compared', () => {
  const beside = (
    steps: object[],
    drawn = shapes(100),
    pools = (sizes: readonly number[]) => [shapes(...sizes.toSorted((a, b) => a - b))],
  ): { n: number; isUntimed: boolean }[] =>
    shapesAtThresholds({
      seed: 1,
      ...{ device, module, planFor, drawn, isFit: () => true, most: 20, timed: { n: 100 } },
      kernel: { steps } as unknown as KernelFile,
      poolsAround: pools,
    }).map(({ dimensions, isUntimed }) => ({ n: dimensions.n!, isUntimed }));

  it('are the last of one way, the first of the other, and two far beyond', () => {
    expect(beside([])).toEqual([
      { n: 298, isUntimed: false },
      { n: 299, isUntimed: false },
      { n: 301, isUntimed: true },
      { n: 302, isUntimed: true },
      // Two and three times as large, and some more.
      { n: 627, isUntimed: true },
      { n: 907, isUntimed: true },
    ]);
  });

  it('are also those of numbers in kernel.json', () => {
    const step = { function: 'sizes', grid: ['n > 500 ? 2 : 1'], block: [64], arguments: [], when: '20 <= n' };
    const found = beside([step]).map(({ n }) => n);
    expect(found).toEqual(expect.arrayContaining([499, 501]));
    expect(found).toEqual(expect.arrayContaining([18, 19]));
  });

  it('are each chosen once, and of a later pool where an earlier one lacks a size or has too many shapes', () => {
    const many = Array.from({ length: 1000 }, () => 299);
    const found = beside([], shapes(100), () => [shapes(...many), shapes(302, 301, 301, 299)]);
    expect(found.map(({ n }) => n)).toEqual([299, 302, 301]);
  });

  it('are none that drawn shapes have met', () => {
    expect(beside([], shapes(299, 300, 301, 302)).map(({ n }) => n)).toEqual([627, 907]);
  });
});

describe('shapes in which steps run', () => {
  const planOf = ({ n }: Dimensions): LaunchPlan => ({
    steps: [planLaunch({ functionName: n! % 4 === 2 ? 'pairs' : 'single' })],
    buffers: [],
  });

  it('are enough for each function that few drawn shapes launch', () => {
    const aim = {
      planFor: planOf,
      isFit: () => true,
      most: 4,
      functions: ['pairs', 'single'],
      ofEach: 3,
      counts: () => true,
    };
    const pool = (): Dimensions[] => shapes(4, 6, 8, 10, 14, 18);
    expect(shapesForSteps({ ...aim, pool, drawn: shapes(8, 12, 5) })).toEqual(shapes(6, 10, 14));
    const drawn = shapes(8, 12, 5, 2, 22, 26);
    expect(shapesForSteps({ ...aim, pool, drawn })).toEqual([]);
    // Dear ones show less.
    expect(shapesForSteps({ ...aim, pool, drawn, counts: ({ n }) => n! < 25 })).toEqual(shapes(6));
  });
});

describe('shapes beside sizes at which other functions are launched', () => {
  const sizesAt = (
    functionOf: (n: number) => string | undefined,
    takes: (shape: Dimensions) => boolean = () => true,
  ): number[] =>
    shapesAtTurns({
      problem: { dimensions: { n: { maximum: 1e6 } }, inputs: {} } as unknown as ProblemFile,
      timed: { n: 64 },
      takes,
      planFor: ({ n }: Dimensions): LaunchPlan => {
        const functionName = functionOf(n!);
        return { steps: functionName === undefined ? [] : [planLaunch({ functionName })], buffers: [] };
      },
    }).map(({ n }) => n!);

  it('are the last of one function and the first of the next', () => {
    expect(sizesAt((n) => (n <= 777 ? 'short' : 'long'))).toEqual([778, 777]);
    expect(sizesAt(() => 'one')).toEqual([]);
  });

  it('lie in a gap between two functions, also where the first takes less than it says', () => {
    const gap = (n: number): string | undefined => (n <= 58_048 ? 'short' : n > 58_368 ? 'long' : undefined);
    expect(sizesAt(gap)).toEqual([58_049, 58_048, 58_369, 58_368]);
    expect(sizesAt(gap, ({ n }) => n! <= 24_000 || n! > 58_048)).toEqual([24_000, 58_049, 58_369, 58_368]);
  });

  it('are whole tiles where a kernel takes nothing else', () => {
    const takes = ({ n }: Dimensions): boolean => n! % 16 === 0;
    expect(sizesAt((n) => (n < 4096 ? 'short' : 'long'), takes)).toEqual([4096, 4080]);
  });
});

describe('shapes with odd factors', () => {
  const ragged = (when: string) =>
    raggedShapesForSteps({
      problem: { dimensions: { M: {}, N: {} } } as unknown as ProblemFile,
      kernel: { steps: [{ function: 'whole', grid: [1], block: [1], arguments: [], when }] },
      timed: { M: 64, N: 64 },
      drawn: [
        { M: 64, N: 128 },
        { M: 65, N: 33 },
      ],
      ...{
        seed: 1,
        most: 4,
        scopeOf: (shape: Dimensions) => shape,
        isCheap: ({ M, N }) => M! * N! < 3e5,
        isFit: () => true,
      },
    });

  it('meet a condition about the remainder of one size under another', () => {
    const found = ragged('N == 64 && M % 8 == 0').filter(({ N, M }) => N === 64 && M! % 8 === 0);
    expect(found.length).toBeGreaterThan(0);
    for (const { M } of found) expect(M! % 64).not.toBe(0);
  });

  it('meet a condition about a product that sizes of whole tiles meet, too', () => {
    const found = ragged('M >= 64 && N >= 64 && M * N % 4096 == 0');
    expect(found.length).toBeGreaterThan(0);
    for (const { M, N } of found) {
      expect((M! * N!) % 4096).toBe(0);
      expect(Math.min(M! % 64, N! % 64), `${M} x ${N}`).toBe(0);
      expect(Math.max(M! % 64, N! % 64), `${M} x ${N}`).toBeGreaterThan(0);
    }
  });

  it('are drawn for such conditions only', () => {
    expect(ragged('M % 64 == 0 && N % 64 == 0')).toEqual([]);
    expect(ragged('M * N > 4096')).toEqual([]);
  });
});

describe('foreseen decisions', () => {
  it('are what the launch decides', async () => {
    for (const n of [64, 100, 301, 373, 12_865]) {
      const fresh = await loadCode(device, module.code);
      await launchKernel(device, fresh, { ...launchOf(n), buffers: { x: 4 * n, y: 4 * n } });
      const { decisions } = device.decisions!(fresh);
      const foreseen = device.foresee!(
        fresh,
        planFor({ n }),
        decisions.map((_, place) => place),
      );
      expect(foreseen.size).toBeGreaterThanOrEqual(4);
      for (const [place, { wasTrue, wasFalse }] of foreseen) {
        const { wasTrue: ranTrue, wasFalse: ranFalse } = decisions[place]!;
        // Only some threads are looked at, and some never get there.
        expect([wasTrue && !ranTrue && ranFalse, wasFalse && !ranFalse && ranTrue], `${n}: ${place}`).toEqual([
          false,
          false,
        ]);
      }
      await device.unload(fresh);
    }
  });

  it('leave constants of the author’s own code to know', () => {
    const { sizes, values } = device.constants!(module);
    expect(values).toEqual([1e6]);
    expect(sizes).toEqual(expect.arrayContaining([77, 300]));
  });
});

describe('shapes in which rare ways come together', () => {
  const TWO_SIZES = `
extern "C" __global__ void two(float* y, int m, int n, int masked) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m * n) return;
  y[i] = m % 16 == 9 && n % 32 == 1 && masked ? 1.0f : 2.0f;
}`;
  const problem = {
    dimensions: { m: { minimum: 1 }, n: { minimum: 1 }, masked: { values: [0, 1] } },
  } as unknown as ProblemFile;
  const launch = ({ m, n, masked }: Dimensions) => ({
    ...{ functionName: 'two', grid: Math.ceil((m! * n!) / 64), block: 64 },
    arguments: ['y', { i32: m! }, { i32: n! }, { i32: masked! }],
  });
  const timed = { m: 64, n: 64, masked: 0 };
  const drawn = [
    { m: 64, n: 65, masked: 0 },
    { m: 57, n: 64, masked: 1 },
  ];
  const chosen = async (isCheap: (shape: Dimensions) => boolean, most = 8): Promise<Dimensions[]> => {
    const two = await loadCode(device, await compileCuda(await createClangToolchain(), TWO_SIZES, ['two']));
    await launchKernel(device, two, { ...launch(timed), buffers: { y: 4 * 64 * 64 } });
    const planTwo = (shape: Dimensions): LaunchPlan => ({ steps: [planLaunch(launch(shape))], buffers: [] });
    return jointShapes({
      ...{ device, module: two, planFor: planTwo, isFit: () => true, drawn, most, problem, timed, seed: 1, sizes: [] },
      isCheap,
    });
  };

  it('have several remainders and a listed value at once, each of which drawn shapes have met alone', async () => {
    const shapes = await chosen(({ m, n }) => m! * n! <= 1e5);
    expect(shapes.some(({ m, n, masked }) => m! % 16 === 9 && n! % 32 === 1 && masked === 1)).toBe(true);
  });

  it('are at most as many as asked for, and only such as the kernel takes', async () => {
    const shapes = await chosen(({ m, n }) => n! % 2 === 1 && m! * n! <= 1e5, 2);
    expect(shapes.length).toBeLessThanOrEqual(2);
    expect(shapes.every(({ n }) => n! % 2 === 1)).toBe(true);
  });

  it('are none where nothing is cheap', async () => {
    expect(await chosen(() => false)).toEqual([]);
  });
});
