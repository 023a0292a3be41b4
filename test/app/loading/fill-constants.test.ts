import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadKernel } from '../../../src/app/loading/load-kernel.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { rejectionOf } from '../../core/support/expect-error.ts';
import { compileCuda } from '../../support/launch/compile-cuda.ts';
import { floats, launchCode } from '../../support/launch/launch-kernel.ts';
import { compileFails } from '../../toolchains/support.ts';

/** As samples write it: the host fills `weights` with cudaMemcpyToSymbol. */
const SOURCE = `#include <iostream>
__constant__ float weights[3];
__global__ void smooth(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = weights[0] * x[max(i - 1, 0)] + weights[1] * x[i] + weights[2] * x[min(i + 1, n - 1)];
}
int main() {
  float h[3] = {0.25f, 0.5f, 0.25f};
  cudaMemcpyToSymbol(weights, h, sizeof(h));
  smooth<<<1, 32>>>(nullptr, nullptr, 32);
}
`;

const PROBLEM = {
  schemaVersion: 1,
  name: 'smooth',
  description: 'A filter of three weights.',
  dimensions: { N: { description: 'Elements.', minimum: 1 } },
  inputs: { x: { dtype: 'f32', shape: ['N'], access: 'in' }, w: { dtype: 'f32', shape: [3], access: 'in' } },
  outputs: { y: { dtype: 'f32', shape: ['N'], access: 'out' } },
  flop: '5 * N',
  minimumFlop: 'N',
  minimumReadBytes: '4 * N',
  independentDimensions: ['N'],
  determinism: 'bitwise',
  workloads: [{ name: 'one', dimensions: { N: 64 } }],
  checkShapes: [{ dimensions: { N: 33 } }],
  generatorSets: { normal: { x: { kind: 'normal' } } },
  comparison: { kind: 'ulp', maximumUlps: 4 },
  start: '01_constant',
  rungs: ['01_constant'],
};

const KERNEL = {
  schemaVersion: 1,
  name: '01_constant',
  description: 'Weights in constant memory.',
  problem: '../problem.json',
  source: { kind: 'cuda', files: ['kernel.cu'] },
  constants: { weights: 'w' },
  steps: [
    {
      function: 'smooth',
      grid: ['ceilDiv(N, 32)'],
      block: [32],
      arguments: [{ buffer: 'x' }, { buffer: 'y' }, { scalar: 'N', dtype: 'i32' }],
    },
  ],
};

let root: string;
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'warpsmith-constants-')));
  await writeFile(join(root, 'problem.json'), JSON.stringify(PROBLEM));
  await writeFile(join(root, 'reference.ts'), 'export const reference = () => ({});');
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function folder(kernel: object, source = SOURCE): Promise<string> {
  const path = await mkdtemp(join(root, 'kernel-'));
  await writeFile(join(path, 'kernel.json'), JSON.stringify(kernel));
  await writeFile(join(path, 'kernel.cu'), source);
  return path;
}

describe('constants of kernel.json', () => {
  it('fill __constant__ arrays from buffers, whatever the toolchain', async () => {
    const { kernel } = await loadKernel(await folder(KERNEL));
    expect(kernel.file).not.toHaveProperty('constants');
    expect(kernel.file.steps[0]).toMatchObject({ arguments: [{ buffer: 'x' }, { buffer: 'y' }, {}, { buffer: 'w' }] });
    expect(kernel.sources['kernel.cu']!.split('\n')).toHaveLength(SOURCE.split('\n').length);

    const toolchain = await createClangToolchain();
    const code = await compileCuda(toolchain, kernel.sources['kernel.cu']!, ['smooth']);
    const device = await openDevice('virtual:l4', { threads: 1 });
    const x = Float32Array.from({ length: 40 }, (_, i) => i * i);
    const { contents } = await launchCode(device, code, {
      functionName: 'smooth',
      grid: 2,
      arguments: ['x', 'y', { i32: 40 }, 'w'],
      buffers: { x, y: 160, w: Float32Array.of(0.25, 0.5, 0.25) },
    });
    await device.close();
    const at = (i: number) => x[Math.min(Math.max(i, 0), 39)]!;
    const wanted = Float32Array.from(x, (_, i) => 0.25 * at(i - 1) + 0.5 * at(i) + 0.25 * at(i + 1));
    expect([...floats(contents.y!)]).toEqual([...wanted]);
  });

  it.each([
    ['no such buffer', { constants: { weights: 'v' } }, SOURCE, 'There is no buffer `v` to fill `weights` from.'],
    [
      'one value for an array',
      { constants: { weights: { dtype: 'f32', value: 1 } } },
      SOURCE,
      '`weights` is an array, and its number of elements is not known from one value.',
    ],
    [
      'a buffer for what is no array',
      {},
      SOURCE.replace('weights[3];', 'weights;').replaceAll(/weights\[\d\]/g, 'weights'),
      '`weights` is no array, so it is passed by value.',
    ],
    [
      'no such array',
      { constants: { taps: 'w' } },
      SOURCE,
      'The sources have no variable `taps` in __constant__ memory',
    ],
    [
      'an array with an initialiser',
      {},
      SOURCE.replace('weights[3];', 'weights[3] = {1, 2, 3};'),
      'The sources have no variable `weights` in __constant__ memory without an initialiser.',
    ],
    [
      'a device function that uses it',
      {},
      `${SOURCE}__device__ float first() { return weights[0]; }\n`,
      "`weights` is used by first(), so it can't become a parameter",
    ],
  ])('%s is an error', async (_what, changes, source, message) => {
    const error = await rejectionOf(loadKernel(await folder({ ...KERNEL, ...changes }, source)));
    expect(error.message).toContain(message);
    expect(error).toMatchObject({ code: 'constant-memory' });
  });

  it('an array that nobody fills is refused before anything is compiled', async () => {
    const failure = await compileFails(await createClangToolchain(), { source: SOURCE, functions: ['smooth'] });
    expect(failure.status).toBe('invalid');
    expect(failure.message).toContain('nobody fills `weights`');
    expect(failure.diagnostics[0]!.location).toEqual({ file: 'kernel.cu', line: 2 });
  });

  it('one that no launched kernel reads is not asked after', async () => {
    const source = `${SOURCE}extern "C" __global__ void other(float* y) { y[0] = 1; }\n`;
    const code = await compileCuda(await createClangToolchain(), source, ['other']);
    expect(code.text).toContain('.entry other(');
  });
});
