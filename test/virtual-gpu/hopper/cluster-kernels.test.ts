import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { compileCuda } from '../../support/launch/compile-cuda.ts';
import { loadCode, tryLaunch } from '../../support/launch/launch-kernel.ts';

let device: Device;
let module: LoadedModule;
beforeAll(async () => {
  device = await openDevice('virtual:h200', { threads: 1 });
  const source = await readFile(new URL('./cluster-kernels.cu', import.meta.url), 'utf8');
  const functions = ['histogram', 'cluster_sum'];
  module = await loadCode(device, await compileCuda(await createClangToolchain(), source, functions, 'k.cu', 'sm_90a'));
});
afterAll(() => device.close());

const COUNT = 1000;

it('adds up in the shared memory of all blocks, in clusters of four', async () => {
  const input = Uint8Array.from({ length: COUNT }, (_, i) => (i * 37) % 251);
  const outcome = await tryLaunch(device, module, {
    functionName: 'histogram',
    grid: 4,
    cluster: 4,
    block: 64,
    arguments: ['in', 'out', { i32: COUNT }],
    buffers: { in: input, out: 256 },
    options: { findRaces: true },
  });
  if (!outcome.ok) throw new Error(outcome.message);
  const expected = Array.from({ length: 64 }, (_, bin) => input.filter((value) => value % 64 === bin).length);
  expect([...new Uint32Array(outcome.contents.out!.buffer)]).toEqual(expected);
});

it('names what clang does not know: clusters that a kernel declares', async () => {
  const source = 'extern "C" __global__ void __cluster_dims__(4, 1, 1) run(int* out) { out[0] = 1; }';
  const compiled = compileCuda(await createClangToolchain(), source, ['run'], 'k.cu', 'sm_90a');
  await expect(compiled).rejects.toThrow(/unsupported: .*__cluster_dims__/);
});

it('hands over sums, ranks and sizes', async () => {
  const input = Int32Array.from({ length: COUNT }, (_, i) => i - 100);
  const outcome = await tryLaunch(device, module, {
    functionName: 'cluster_sum',
    grid: 8,
    cluster: 8,
    block: 32,
    arguments: ['in', 'out', { i32: COUNT }],
    buffers: { in: input, out: 16 },
    options: { findRaces: true, orderSeed: 3 },
  });
  if (!outcome.ok) throw new Error(outcome.message);
  expect([...new Int32Array(outcome.contents.out!.buffer)]).toEqual([
    input.reduce((a, b) => a + b),
    0,
    2,
    8 * 100 + 256,
  ]);
});
