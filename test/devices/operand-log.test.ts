import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CompiledCode } from '../../src/core/compiled-code.ts';
import type { Device } from '../../src/core/device.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { compileCuda } from '../support/launch/compile-cuda.ts';
import { launchKernel, loadCode } from '../support/launch/launch-kernel.ts';

const SOURCE = `extern "C" __global__ void alike(const float* x, int* y) {
  const int i = threadIdx.x;
  int count = 0;
  if (x[i] == x[i + 32]) count += 1;
  if (x[i] != 3.0f) count += 2;
  if (i % 2 == 1) {
    if (reinterpret_cast<const int*>(x)[i + 32] == 9) y[i + 32] = 4;
  }
  if (x[i] > x[i + 32]) count += 16;
  y[i] = count;
}
`;

let device: Device;
let code: CompiledCode;

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 2 });
  code = await compileCuda(await createClangToolchain(), SOURCE, ['alike'], 'kernel.cu');
});

afterAll(() => device.close());

/** Elements 0 to 31, then the same but for the fifth and sixth. */
const x = Float32Array.from({ length: 64 }, (_, i) => (i % 32) + (i === 36 || i === 37 ? 0.5 : 0));
const launch = { functionName: 'alike', grid: 2, block: 32, arguments: ['x', 'y'], buffers: { x, y: 64 * 4 } };

const bitsOf = (value: number): bigint => BigInt(new Uint32Array(Float32Array.of(value).buffer)[0]!);

it('a copy of a module computes the same and keeps what its comparisons find unequal', async () => {
  const module = await loadCode(device, code);
  const { contents } = await launchKernel(device, module, launch);
  const { decisions } = device.decisions!(module);
  const log = device.logOperands!(module, [...decisions.keys()], 'unequal')!;
  expect((await launchKernel(device, log.module, launch)).contents).toEqual(contents);
  const unequal = log.take();
  const of = (constant: number | undefined) => unequal.find(({ place }) => decisions[place]!.constant === constant)!;
  const [five, six] = [4, 5].map((value) => ({ a: bitsOf(value), b: bitsOf(value + 0.5) }));
  expect(of(undefined)).toMatchObject({ type: 'f32', pairs: [five, six] });
  const others = of(3).pairs.map(({ a, b }) => (a === bitsOf(3) ? b : a));
  expect(others.toSorted()).toEqual(
    [...x.slice(0, 32)]
      .filter((value) => value !== 3)
      .map(bitsOf)
      .toSorted(),
  );
  expect(of(9).type).toMatch(/32$/);
  expect(of(9).pairs.length).toBeGreaterThanOrEqual(16);
  const greater = unequal.find(({ place }) => decisions[place]!.comparison === 'gt')!;
  expect(greater.pairs).toEqual([five, six]);
  expect(log.take().every(({ pairs }) => pairs.length === 0)).toBe(true);
  await device.unload(log.module);
  await device.unload(module);
});

it('keeps operands that are equal, too, where all are asked for', async () => {
  const module = await loadCode(device, code);
  await launchKernel(device, module, launch);
  const { decisions } = device.decisions!(module);
  const places = [...decisions.keys()].filter((place) => decisions[place]!.comparison === 'gt');
  expect(places).toHaveLength(1);
  const log = device.logOperands!(module, places, 'all')!;
  await launchKernel(device, log.module, launch);
  expect(log.take()[0]!.pairs).toHaveLength(32);
  await device.unload(log.module);
  await device.unload(module);
});

it('there is no log of decisions that combine others', async () => {
  const module = await loadCode(device, code);
  await launchKernel(device, module, launch);
  const { decisions } = device.decisions!(module);
  const places = [...decisions.keys()].filter((place) => decisions[place]!.kind === 'combination');
  expect(device.logOperands!(module, places, 'all')).toBeUndefined();
  await device.unload(module);
});
