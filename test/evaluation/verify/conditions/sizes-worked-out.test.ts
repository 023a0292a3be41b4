import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../../src/core/device.ts';
import type { LoadedModule } from '../../../../src/core/device-values.ts';
import type { KernelFile } from '../../../../src/core/kernel.ts';
import type { LaunchPlan } from '../../../../src/core/launch-plan.ts';
import type { Dimensions, ProblemFile } from '../../../../src/core/problem.ts';
import { openDevice } from '../../../../src/devices/open-device.ts';
import { shapesOfEqualSizes } from '../../../../src/evaluation/verify/equal-sizes.ts';
import { jointShapes } from '../../../../src/evaluation/verify/joint-shapes.ts';
import { shapesOfManyParts } from '../../../../src/evaluation/verify/many-parts.ts';
import { shapesOfSeldomWays } from '../../../../src/evaluation/verify/seldom-ways.ts';
import { shapesBeyondReach } from '../../../../src/evaluation/verify/shapes-beyond-reach.ts';
import { createClangToolchain } from '../../../../src/toolchains/clang.ts';
import { compileCuda } from '../../../support/launch/compile-cuda.ts';
import { launchKernel, loadCode, planLaunch } from '../../../support/launch/launch-kernel.ts';

const SOURCE = `
extern "C" __global__ void sizes(float* y, int m, int n, int masked) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= m * n) return;
  float v = 1.0f;
  if (n / 3 == m && n % 3 == 0 && m % 64 == 0) v = 2.0f;
  if (n % 25 == 0 && n % 8 == 0) v = 3.0f;
  if (masked) v += max(static_cast<int>(blockIdx.x) * 64 - 16384, 0);
  y[i] = v;
}
extern "C" __global__ void seldom(float* y, int m, int n, int masked) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= m * n) return;
  const int shift = masked && n > 40 && n % 7 == 3 && i == m * n - 1;
  y[i - shift] = m == 3 * n ? 2.0f : 1.0f;
}
struct Sizes { int m, n, masked; };
extern "C" __global__ void keys(float* y, Sizes sizes) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= sizes.m * sizes.n) return;
  int keys = sizes.n;
  if (sizes.masked) {
    y[i] = 0.5f;
    keys = min(keys, sizes.m + 1);
  }
  for (int k = 0; k < keys; k += 2) y[i] += 1.0f;
  if (keys == 77) y[i] = 2.0f;
}`;

const problem = {
  dimensions: { m: { minimum: 1 }, n: { minimum: 1 }, masked: { values: [0, 1] } },
  inputs: {},
  outputs: { y: { dtype: 'f32', shape: ['m', 'n'], access: 'out' } },
} as unknown as ProblemFile;

let device: Device;
let module: LoadedModule;

const launchOf = ({ m, n, masked }: Dimensions) => ({
  ...{ functionName: 'sizes', grid: Math.ceil((m! * n!) / 64), block: 64 },
  arguments: ['y', { i32: m! }, { i32: n! }, { i32: masked! }],
});
const planFor = (shape: Dimensions): LaunchPlan => ({ steps: [planLaunch(launchOf(shape))], buffers: [] });

const shape = (m: number, n: number, masked = 0): Dimensions => ({ m, n, masked });

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
  module = await loadCode(device, await compileCuda(await createClangToolchain(), SOURCE, ['sizes']));
  await launchKernel(device, module, { ...launchOf(shape(20, 30, 1)), buffers: { y: 4 * 20 * 30 } });
});

afterAll(async () => await device?.close());

const isFit = () => true;

describe('shapes in which two sizes are equal', () => {
  const found = (drawn: Dimensions[], most = 4) =>
    shapesOfEqualSizes({
      ...{ device, module, planFor, isFit, problem, drawn, most },
      pool: () => [shape(64, 70), shape(50, 33)],
      isCheap: ({ m, n }) => m! * n! <= 1e5,
    });

  it('are worked out, and those come first in which more comparisons hold', () => {
    const [first, ...others] = found([shape(20, 30)]) as [Dimensions, ...Dimensions[]];
    expect(first).toEqual(shape(64, 192));
    for (const { m, n } of others) expect(Math.floor(n! / 3)).toBe(m);
  });

  it('are none where drawn shapes have met as much', () => {
    expect(found([shape(64, 192)])).toEqual([]);
    expect(found([shape(23, 69)], 1)).toEqual([shape(64, 192)]);
  });
});

describe('shapes with rare remainders', () => {
  it('have several tiles, too', () => {
    const shapes = jointShapes({
      ...{ device, module, planFor, isFit, problem, most: 4, seed: 1, sizes: [], timed: shape(20, 30), drawn: [] },
      isCheap: ({ m, n }) => m! * n! <= 1e5,
    });
    expect(shapes.some(({ n }) => n! % 200 === 0 && n! >= 4096)).toBe(true);
  });
});

describe('shapes in which conditions go seldom ways', () => {
  let seldom: LoadedModule;
  const launch = (one: Dimensions) => ({ ...launchOf(one), functionName: 'seldom' });
  const found = (drawn: readonly Dimensions[]) =>
    shapesOfSeldomWays({
      ...{ device, module: seldom, isFit, problem, drawn, most: 40, seed: 5, sizes: [40, 41] },
      planFor: (one) => ({ steps: [planLaunch(launch(one))], buffers: [] }),
      isCheap: ({ m, n }) => m! * n! <= 1e5,
    });
  const isShifted = ({ n, masked }: Dimensions): boolean => masked === 1 && n! > 40 && n! % 7 === 3;
  const isTall = ({ m, n }: Dimensions): boolean => m === 3 * n!;
  const drawn = Array.from({ length: 30 }, (_, i) => shape(8 + i, 9 + 2 * i, i % 2));

  beforeAll(async () => {
    seldom = await loadCode(device, await compileCuda(await createClangToolchain(), SOURCE, ['seldom']));
    await launchKernel(device, seldom, { ...launch(shape(20, 30, 1)), buffers: { y: 4 * 20 * 30 } });
  });

  it('are found where several conditions have to hold at once, and where two sizes have to be equal', () => {
    expect(drawn.filter(isShifted).length).toBeLessThan(8);
    expect(drawn.some(isTall)).toBe(false);
    const shapes = found(drawn);
    expect(shapes.filter(isShifted).length + drawn.filter(isShifted).length).toBeGreaterThanOrEqual(8);
    const tall = shapes.filter(isTall);
    expect(tall.length).toBeGreaterThanOrEqual(8);
    // What a mistake needs besides may have left no condition.
    expect(new Set(tall.map(({ n }) => n! % 2)).size).toBe(2);
  });

  it('are none where each way has been met often', () => {
    const shapes = found(drawn);
    expect(found([...drawn, ...shapes]).length).toBeLessThan(shapes.length / 4);
  });
});

describe('a condition on what one of two ways gave, of sizes in a struct', () => {
  it('is foreseen for either way', async () => {
    const keys = await loadCode(device, await compileCuda(await createClangToolchain(), SOURCE, ['keys']));
    const launch = ({ m, n, masked }: Dimensions) => ({
      ...{ functionName: 'keys', grid: Math.ceil((m! * n!) / 64), block: 64 },
      arguments: [
        'y',
        { kind: 'bytes' as const, bytes: new Uint8Array(Int32Array.of(m!, n!, masked!).buffer), alignmentBytes: 4 },
      ],
    });
    await launchKernel(device, keys, { ...launch(shape(4, 30, 1)), buffers: { y: 4 * 4 * 30 } });
    const { decisions } = device.decisions!(keys);
    const place = decisions.findIndex(({ constant, comparison }) => constant === 77 && /eq|ne/.test(comparison));
    const isMet = (one: Dimensions): boolean | undefined => {
      const ways = device.foresee!(keys, { steps: [planLaunch(launch(one))], buffers: [] }, [place]).get(place);
      return ways && (decisions[place]!.comparison === 'eq' ? ways.wasTrue : ways.wasFalse);
    };
    expect([shape(4, 77), shape(4, 78), shape(76, 90, 1), shape(77, 90, 1), shape(80, 77, 1)].map(isMet)).toEqual([
      ...[true, false, true, false, true],
    ]);
  });
});

describe('shapes beyond what can be run whole', () => {
  const beyond = (takes: (one: Dimensions) => boolean) =>
    shapesBeyondReach({ device, module, planFor, problem, takes, sizes: device.constants!(module).sizes });

  it('are those in which a bound that never applied does, beyond a number of the code, for each choice of flags', () => {
    const lists = beyond(() => true);
    const firsts = lists.map(([first]) => first!);
    expect(firsts.some(({ masked }) => masked === 0) && firsts.some(({ masked }) => masked === 1)).toBe(true);
    for (const { m, n } of lists.flat()) expect(m! * n!).toBeGreaterThan(16_384);
  });

  it('are none that the kernel does not take', () => {
    expect(beyond(({ m, n }) => m! * n! < 16_384)).toEqual([]);
  });
});

describe('shapes in which there is much to merge', () => {
  const parts = (kernel: object) =>
    shapesOfManyParts({
      problem,
      kernel: kernel as Pick<KernelFile, 'steps' | 'workspaces'>,
      scope: { m: 8, n: 100, masked: 1, SPLIT: 256 },
      seed: 1,
    });
  const split = { function: 'sizes', grid: ['ceilDiv(n, SPLIT)', 'm'], block: [64], arguments: [] };
  const merge = { function: 'merge', grid: ['m'], block: [32], arguments: [] };

  it('have more parts than a warp has lanes, and than a CTA has threads, along one axis of a grid', () => {
    const shapes = parts({ steps: [split, merge] });
    expect(shapes.every(({ masked }) => masked === 1)).toBe(true);
    const counts = shapes.filter(({ m }) => m === 1).map(({ n }) => Math.ceil(n! / 256));
    for (const most of [32, 64, 256, 1024])
      expect(
        counts.some((count) => count > most && count <= 1.125 * most + 1),
        String(most),
      ).toBe(true);
    expect(shapes.some(({ m, n }) => m! > 32 && n === 1)).toBe(true);
    // As many parts again, in half of which the one may lie that counts.
    expect(counts.some((count) => count > 64 && count <= 72)).toBe(true);
    // What the merge has, too, is not merged.
    expect(parts({ steps: [merge, split] })[0]!.n).toBe(32 * 256 + 1);
  });

  it('are none of a kernel that launches once and keeps nothing', () => {
    expect(parts({ steps: [split] })).toEqual([]);
    expect(parts({ steps: [split], workspaces: { sums: { bytes: 4, init: 'zero' } } }).length).toBeGreaterThan(0);
  });
});
