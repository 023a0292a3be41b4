import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../../src/core/device.ts';
import type { LoadedModule } from '../../../../src/core/device-values.ts';
import type { LaunchPlan } from '../../../../src/core/launch-plan.ts';
import type { Dimensions, ProblemFile } from '../../../../src/core/problem.ts';
import { openDevice } from '../../../../src/devices/open-device.ts';
import { onceAt } from '../../../../src/evaluation/oracle/check.ts';
import { type ScarceAim, scarceWayChecks } from '../../../../src/evaluation/verify/scarce-ways.ts';
import { createClangToolchain } from '../../../../src/toolchains/clang.ts';
import { compileCuda } from '../../../support/launch/compile-cuda.ts';
import { launchKernel, loadCode, planLaunch } from '../../../support/launch/launch-kernel.ts';

const SOURCE = `
extern "C" __global__ void rows(const float* x, float* y, int r, int n) {
  const float v = x[blockIdx.x * n];
  y[blockIdx.x] = n % 1280 == 0 ? 0.9f * v : n % 50 == 3 ? 1.1f * v : v;
}`;

let device: Device;
let module: LoadedModule;

const launchOf = ({ r, n }: Dimensions) => ({
  ...{ functionName: 'rows', grid: r!, block: 1 },
  arguments: ['x', 'y', { i32: r! }, { i32: n! }],
});
const planFor = (shape: Dimensions): LaunchPlan => ({ steps: [planLaunch(launchOf(shape))], buffers: [] });

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
  module = await loadCode(device, await compileCuda(await createClangToolchain(), SOURCE, ['rows']));
  await launchKernel(device, module, { ...launchOf({ r: 2, n: 7 }), buffers: { x: 56, y: 8 } });
});

afterAll(async () => await device?.close());

type Ran = [Dimensions, ...string[]][];

const chosen = (...ran: Ran) => chosenWhere(() => [], ...ran);

const chosenWhere = (choicesIn: ScarceAim['choicesIn'], ...ran: Ran): Record<string, string[]> => {
  const aim: ScarceAim = {
    ...{ device, module, planFor, sets: ['declared', 'small', 'large'], most: 8 },
    problem: { dimensions: { r: {}, n: {} }, independentDimensions: ['r'] } as unknown as ProblemFile,
    ran: ran.flatMap(([shape, ...sets]) => sets.map((set) => onceAt(shape, set))),
    choicesIn,
    ...{ isFit: () => true, takes: () => true, isCheap: ({ r, n }) => r! * n! <= 5000 },
  };
  const checks = scarceWayChecks(aim);
  const byShape = Map.groupBy(checks, ({ dimensions }) => `${dimensions.r}x${dimensions.n}`);
  return Object.fromEntries([...byShape].map(([shape, of]) => [shape, of.map(({ generatorSet }) => generatorSet)]));
};

const ALL = ['declared', 'small', 'large'];

describe('ways of conditions of sizes that few inputs have met', () => {
  it('are met with every other generator set, in a small copy of the shape', () => {
    expect(chosen([{ r: 2, n: 7 }, ...ALL], [{ r: 900, n: 3840 }, ...ALL], [{ r: 900, n: 353 }, 'declared'])).toEqual({
      '2x353': ['small', 'large'],
    });
  });

  it('are met where a size is no whole tile, if they go there, too', () => {
    const seen: Ran = [
      [{ r: 2, n: 7 }, ...ALL],
      [{ r: 2, n: 1280 }, ...ALL],
      [{ r: 2, n: 53 }, ...ALL],
      [{ r: 2, n: 2048 }, 'declared'],
    ];
    const long = ({ n }: Dimensions) => (n! >= 2048 ? ['long'] : []);
    expect(chosenWhere(long, ...seen)).toEqual({ '2x2049': ['small', 'large'] });
    const longVectors = (shape: Dimensions) => (shape.n! % 8 === 0 ? long(shape) : []);
    expect(chosenWhere(longVectors, ...seen)).toEqual({ '2x2056': ['small', 'large'] });
  });

  it('are looked for at sizes with many divisors, and at the least of these', () => {
    const found = chosen([{ r: 2, n: 7 }, ...ALL]);
    expect(found['2x1280']).toEqual(ALL);
    expect(Object.keys(found).filter((shape) => shape !== '2x1280' && Number(shape.slice(2)) % 50 === 3)).toHaveLength(
      1,
    );
  });

  it('need nothing more if every set has met them', () => {
    expect(chosen([{ r: 2, n: 7 }, ...ALL], [{ r: 2, n: 1280 }, ...ALL], [{ r: 2, n: 53 }, ...ALL])).toEqual({});
  });

  it('come together with sizes beside whole tiles, if they are rare', () => {
    const usual = Array.from({ length: 60 }, (_, i): [Dimensions, ...string[]] => [
      { r: i < 49 ? 2 : 3, n: 104 + (i % 49) },
      ...ALL,
    ]);
    const found = chosen(...usual, [{ r: 2, n: 1280 }, ...ALL], [{ r: 2, n: 53 }, ...ALL]);
    // Of 5,000 elements only few rows of 1,280 are cheap.
    expect(Object.keys(found).toSorted()).toEqual(['33x53', '63x53', '64x53', '65x53']);
    expect(found['65x53']).toEqual(['declared']);
  });
});
