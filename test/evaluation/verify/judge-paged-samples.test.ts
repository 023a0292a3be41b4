import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadKernel } from '../../../src/app/loading/load-kernel.ts';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import type { Dimensions, Problem } from '../../../src/core/problem.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { judgePagedSamples } from '../../../src/evaluation/verify/judge-paged-samples.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from '../../support/launch/compile-cuda.ts';
import { loadCode, planLaunch } from '../../support/launch/launch-kernel.ts';
import { maps } from '../../support/maps.ts';

const SOURCE = readFileSync(new URL('paged-samples.cu', import.meta.url), 'utf8');
/** 1.5 · 2³⁰ floats, 6 GiB. */
const LARGE = { M: 33_001, N: 48_803 };
/** Half of that, and below 4 GiB. */
const SMALLER = { M: 33_001, N: 24_401 };

/** Beside the transpose, CTAs count themselves. */
const TELLING = `${SOURCE}
__device__ unsigned ctas;
extern "C" __global__ void telling(const char* X, char* Y, unsigned M, unsigned N) {
  if (threadIdx.x + threadIdx.y == 0) atomicAdd(&ctas, 1);
  transpose<unsigned>(X, Y, M, N);
}`;

let device: Device;
let module: LoadedModule;
let telling: LoadedModule;
let problem: Problem;
beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
  const toolchain = await createClangToolchain();
  const load = async (source: string): Promise<LoadedModule> =>
    loadCode(device, await compileCuda(toolchain, source, functionsIn(source)));
  [module, telling] = [await load(SOURCE), await load(TELLING)];
  ({ problem } = await loadKernel('problems/transpose/01_naive'));
});
afterAll(async () => await device?.close());

function planOf(functionName: string, { M, N }: Dimensions) {
  const launch = planLaunch({
    ...{ functionName, grid: [Math.ceil(N! / 32), Math.ceil(M! / 32), 1], block: [32, 8, 1] },
    arguments: ['X', 'Y', { u32: M! }, { u32: N! }],
    buffers: {},
  });
  const buffer = { dtype: 'f32', bytes: 4 * M! * N!, alignmentBytes: 256 } as const;
  return {
    steps: [launch],
    buffers: [
      { ...buffer, name: 'X', role: 'in', shape: [M!, N!], strides: [N!, 1], generator: { kind: 'normal' } },
      { ...buffer, name: 'Y', role: 'out', shape: [N!, M!], strides: [M!, 1] },
    ],
  } as never;
}

const judge = (functionName: string, shapes: readonly Dimensions[], changes: Partial<Problem> = {}) =>
  judgePagedSamples(
    {
      ...{ device, module: functionName === 'telling' ? telling : module, seed: 11, timeoutMs: 20_000 },
      problem: { ...problem, ...changes },
      planFor: (dimensions) => planOf(functionName, dimensions),
    },
    shapes,
  );

describe('a few CTAs at a shape that is larger than a virtual GPU’s memory', () => {
  it('are compared where they wrote, and the shape is named', { skip: !maps(LARGE.M * LARGE.N) }, async () => {
    expect(await judge('of_64_bits', [LARGE])).toEqual({ ok: true, sampled: [LARGE] });
  });

  it('show offsets in bytes that have 32 bits, and only beyond them', { skip: !maps(LARGE.M * LARGE.N) }, async () => {
    expect(await judge('of_32_bits', [SMALLER])).toEqual({ ok: true, sampled: [SMALLER] });
    expect(await judge('of_32_bits', [SMALLER, LARGE])).toMatchObject({
      status: 'wrong',
      reason: expect.stringContaining('wanted'),
      failedCheck: expect.stringMatching(/^M=33001, N=48803 · declared inputs · a sample of CTAs, of buffers larger/),
    });
  });

  it('show offsets with a sign, which leave the buffer', { skip: !maps(LARGE.M * LARGE.N) }, async () => {
    expect(await judge('of_31_bits', [LARGE])).toMatchObject({
      status: 'unsafe',
      reason: expect.stringContaining('out-of-bounds'),
    });
    expect(await judge('too_far', [LARGE])).toMatchObject({ status: 'unsafe' });
  });

  it('say nothing of a kernel whose CTAs tell each other something', async () => {
    expect(await judge('telling', [LARGE])).toEqual({ ok: true, sampled: [] });
  });

  it('say nothing where the reference can compute no rows of such inputs', async () => {
    const reference = Object.assign(async () => ({}), { takesSparse: async () => false });
    expect(await judge('of_32_bits', [LARGE], { reference })).toEqual({ ok: true, sampled: [] });
  });
});
