import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../../../src/core/device.ts';
import type { LoadedModule } from '../../../../src/core/device-values.ts';
import type { LaunchPlan } from '../../../../src/core/launch-plan.ts';
import type { Dimensions, ProblemFile } from '../../../../src/core/problem.ts';
import { openDevice } from '../../../../src/devices/open-device.ts';
import { boundsOfLaunches } from '../../../../src/evaluation/verify/bounds-of-launches.ts';
import { createClangToolchain } from '../../../../src/toolchains/clang.ts';
import { compileCuda } from '../../../support/launch/compile-cuda.ts';
import { launchKernel, loadCode, planLaunch } from '../../../support/launch/launch-kernel.ts';

// A CTA for each row. Lines 4, 5 and 6 have conditions that no launch of the tests makes go the other way, and no launch at all the first of them.
const SOURCE = `
extern "C" __global__ void rows(const float* x, float* y, int R) {
  const int row = blockIdx.x + threadIdx.x / 64;
  if (row < R) y[row] = x[row];
  if (row == 70000) y[row] = 1.0f;
  if (R % 12345 / 12344 == 1) y[row] = 2.0f;
}`;

let device: Device;
let module: LoadedModule;

const launchOf = (R: number) => ({
  ...{ functionName: 'rows', grid: R, block: 64 },
  arguments: ['x', 'y', { i32: R }],
});

const planFor = ({ R }: Dimensions): LaunchPlan => ({ steps: [planLaunch(launchOf(R!))], buffers: [] });

const problem = { dimensions: { R: { description: 'Rows.' } } } as unknown as ProblemFile;

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
  module = await loadCode(device, await compileCuda(await createClangToolchain(), SOURCE, ['rows']));
  await launchKernel(device, module, { ...launchOf(9), buffers: { x: 36, y: 36 } });
});

afterAll(async () => await device?.close());

it('a bound that fits every launch is told from conditions of sizes, whose distance differs from shape to shape', () => {
  const { decisions } = device.decisions!(module);
  const linesOf = (places: Iterable<number>): number[] => [...places].map((place) => decisions[place]!.place.line);
  const oneWay = decisions.flatMap(({ wasTrue, wasFalse }, place) => (wasTrue === wasFalse ? [] : [place]));
  expect(new Set(linesOf(oneWay))).toEqual(new Set([4, 5, 6]));
  const shapes = [{ R: 9 }, { R: 40 }, { R: 33 }];
  const bounds = boundsOfLaunches({ device, module, planFor, problem }, shapes);
  expect(new Set(linesOf(bounds))).toEqual(new Set([4]));
});

it('without shapes nothing is told', () => {
  expect(boundsOfLaunches({ device, module, planFor, problem }, [])).toEqual(new Set());
});
