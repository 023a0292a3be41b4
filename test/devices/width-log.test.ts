import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/core/device.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { compileCuda } from '../support/launch/compile-cuda.ts';
import { launchKernel, loadCode } from '../support/launch/launch-kernel.ts';

/** Each on a line of its own, of which the line's number tells. */
const SOURCE = `extern "C" __global__ void widths(const unsigned* x, unsigned* y, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  unsigned v = x[i];
  y[i] =
    v + 100u;
  y[i + 64] =
    v * n;
  y[i + 128] =
    v - 7u;
  y[i + 192] =
    v << 3;
  y[i + 256] =
    (unsigned short)v;
  y[i + 320] =
    v & 0xffffff;
  y[i + 384] =
    __umul24(v, n);
  y[i + 448] = __float_as_uint(
    (float)v);
  unsigned short h = v;
  y[i + 512] = (unsigned short)(
    h * h);
}
`;

let device: Device;

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 2 });
});

afterAll(() => device.close());

async function opened() {
  const code = await compileCuda(await createClangToolchain(), SOURCE, ['widths'], 'kernel.cu');
  return loadCode(device, code);
}

const launch = (x: Uint32Array, n: number) => ({
  ...{ functionName: 'widths', grid: 2, block: 32, arguments: ['x', 'y', { i32: n }] },
  buffers: { x, y: 576 * 4 },
});

it('a copy computes the same and knows the largest magnitudes', async () => {
  const module = await opened();
  const x = Uint32Array.from({ length: 64 }, (_, i) => 1000 + 13 * i);
  const { contents } = await launchKernel(device, module, launch(x, 5));
  const log = device.logWidths!(module)!;
  expect((await launchKernel(device, log.module, launch(x, 5))).contents).toEqual(contents);
  const magnitudes = log.take();
  console.log(
    log.sites.map((s, i) => `${s.place.line}:${s.place.column} ${s.holds} ${s.ends} ${magnitudes[i]}`).join('\n'),
  );
});
