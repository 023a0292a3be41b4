import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CompiledCode } from '../../src/core/compiled-code.ts';
import type { LoggedResult } from '../../src/core/decisions.ts';
import type { Device } from '../../src/core/device.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { compileCuda } from '../support/launch/compile-cuda.ts';
import { launchKernel, loadCode } from '../support/launch/launch-kernel.ts';

const SOURCE = `extern "C" __global__ void hides(const int* x, int* y, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i >= n) return;
  int v = x[i];
  v += static_cast<int>(1.0f / (1.0f + static_cast<float>(static_cast<unsigned>(x[i] ^ 9999))));
  v ^= x[i] * 3;
  y[i] = v + (n >> 31);
}
`;
const HIDDEN_LINE = 5;

let device: Device;
let code: CompiledCode;

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 2 });
  code = await compileCuda(await createClangToolchain(), SOURCE, ['hides'], 'kernel.cu');
});

afterAll(() => device.close());

const launch = (x: Int32Array) => ({
  ...{ functionName: 'hides', grid: 2, block: 32, arguments: ['x', 'y', { i32: 64 }] },
  buffers: { x, y: 64 * 4 },
});
const usual = Int32Array.from({ length: 64 }, (_, i) => 7 * i - 100);
const isOne = (result: LoggedResult): boolean => typeof result === 'object';

it('a copy of a module computes the same, and knows which results of loaded values never varied', async () => {
  const module = await loadCode(device, code);
  const { contents } = await launchKernel(device, module, launch(usual));
  const log = device.logResults!(module)!;
  expect((await launchKernel(device, log.module, launch(usual))).contents).toEqual(contents);
  const constant = log.observed().filter(({ result }) => isOne(result));
  expect(constant.map(({ place, result }) => [place.line, result])).toEqual([[HIDDEN_LINE, { always: 0n }]]);
  expect(log.observed().length).toBeGreaterThan(2);
  await device.unload(log.module);
  await device.unload(module);
});

it('they vary once an input has the number that they ask for; of a chosen few, only these are looked at', async () => {
  const module = await loadCode(device, code);
  await launchKernel(device, module, launch(usual));
  const all = device.logResults!(module)!;
  await launchKernel(device, all.module, launch(usual));
  const [hidden] = all.observed().filter(({ result }) => isOne(result));
  await device.unload(all.module);
  const one = device.logResults!(module, new Set([hidden!.site]))!;
  expect(one.observed().map(({ result }) => result)).toEqual(['never computed']);
  await launchKernel(device, one.module, launch(usual.with(40, 9999)));
  expect(one.observed().map(({ result }) => result)).toEqual(['several']);
  expect(device.logResults!(module, new Set())).toBeUndefined();
  await device.unload(one.module);
  await device.unload(module);
});
