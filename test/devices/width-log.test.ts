import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CompiledCode } from '../../src/core/compiled-code.ts';
import type { Device } from '../../src/core/device.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { compileCuda } from '../support/launch/compile-cuda.ts';
import { launchKernel, loadCode } from '../support/launch/launch-kernel.ts';

/** Each operation on a line of its own, by whose number it is known. */
const SOURCE = `extern "C" __global__ void widths(const unsigned* x, unsigned* y, unsigned n) {
  const int i = threadIdx.x;
  unsigned v = x[i];
  y[i] =
    v + n;
  y[i + 32] =
    v * n;
  y[i + 64] =
    v - n;
  y[i + 96] =
    v << 3;
  y[i + 128] =
    (unsigned short)v;
  y[i + 160] =
    v & 0xffffff;
  y[i + 192] =
    __umul24(v, n);
  y[i + 224] = __float_as_uint(
    (float)v);
  for (int k = 0; k < 4; ++k)
    y[i + 256 + 32 * k] =
      v + 3 * k + 1;
  y[i + 384] =
    i << 16 | v;
  y[i + 416] =
    v | n << 8;
  y[i + 448] =
    i << 16 | n << 8 | v;
  y[i + 480] =
    i << 12 | v;
}
`;

const BITS_32 = 'whole numbers of 32 bits';
const ENDS_32 = [2 ** 31, 2 ** 32];

let device: Device;
let code: CompiledCode;

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 2 });
  code = await compileCuda(await createClangToolchain(), SOURCE, ['widths'], 'kernel.cu');
});

afterAll(() => device.close());

const launch = (largest: number, n: number) => ({
  ...{ functionName: 'widths', grid: 1, block: 32, arguments: ['x', 'y', { u32: n }] },
  // In the middle of a warp, so that no first or last lane stands for all.
  buffers: { x: Uint32Array.from({ length: 32 }, (_, i) => (i === 13 ? largest : i)), y: 512 * 4 },
});

/** What was kept in runs with such values, by the line of the operation; of several at one line all. */
async function kept(...runs: [largest: number, n: number][]): Promise<Record<number, unknown[]>[]> {
  const module = await loadCode(device, code);
  // Copies are of functions that were launched.
  await launchKernel(device, module, launch(1, 1));
  const log = device.logWidths!(module)!;
  const found: Record<number, unknown[]>[] = [];
  for (const [largest, n] of runs) {
    await launchKernel(device, log.module, launch(largest, n));
    const magnitudes = log.take();
    const lines = Map.groupBy(log.sites.keys(), (site) => log.sites[site]!.place.line);
    found.push(Object.fromEntries([...lines].map(([line, sites]) => [line, sites.map((site) => magnitudes[site])])));
  }
  await device.unload(log.module);
  await device.unload(module);
  return found;
}

it('a copy of a module computes the same', async () => {
  const module = await loadCode(device, code);
  const { contents } = await launchKernel(device, module, launch(123_456_789, 1001));
  const log = device.logWidths!(module)!;
  expect((await launchKernel(device, log.module, launch(123_456_789, 1001))).contents).toEqual(contents);
  await device.unload(log.module);
  await device.unload(module);
});

it('says what each site holds, and where that ends', async () => {
  const module = await loadCode(device, code);
  await launchKernel(device, module, launch(1, 1));
  const log = device.logWidths!(module)!;
  const at = (line: number) =>
    log.sites.filter(({ place }) => place.line === line).map(({ holds, ends }) => [holds, ends]);
  for (const line of [5, 7, 9, 11]) expect(at(line), `line ${line}`).toEqual([[BITS_32, ENDS_32]]);
  expect(at(13)).toEqual([['whole numbers of 16 bits', [2 ** 16]]]);
  expect(at(15)).toEqual([['whole numbers of 24 bits', [2 ** 24]]]);
  expect(at(17)).toEqual([
    ...Array.from({ length: 2 }, () => ['factors of 24 bits', [2 ** 23, 2 ** 24]]),
    [BITS_32, ENDS_32],
  ]);
  expect(at(19)).toEqual([['whole numbers in fp32', [2 ** 24]]]);
  expect(at(24)).toContainEqual(['whole numbers of 16 bits', [2 ** 16]]);
  for (const line of [26, 28]) expect(at(line)).toContainEqual(['whole numbers of 8 bits', [2 ** 8]]);
  expect(at(30)).toEqual([[BITS_32, ENDS_32]]);
  await device.unload(log.module);
  await device.unload(module);
});

it('magnitudes are those of the exact results, of the largest lane', async () => {
  const [{ 5: sum, 7: product, 9: difference, 11: shifted, 13: narrowed, 15: masked, 17: factors, 19: converted }] =
    (await kept([3_000_000_001, 70_001])) as [Record<number, unknown[]>];
  // As numbers with a sign these are 3,000,000,001 - 2^32.
  const signed = 2 ** 32 - 3_000_000_001;
  expect(sum).toEqual([signed - 70_001]);
  expect(difference).toEqual([signed + 70_001]);
  expect(product).toEqual([signed * 70_001]);
  expect(shifted).toEqual([signed * 8]);
  expect([narrowed, masked, converted]).toEqual([[signed], [signed], [signed]]);
  expect(factors).toEqual([signed, 70_001, signed * 70_001]);
});

it('of numbers that are packed, that of the one that must fit below the other', async () => {
  const [packed] = await kept([70_001, 300]);
  expect([packed![24], packed![26]]).toEqual([expect.arrayContaining([70_001]), expect.arrayContaining([70_001])]);
});

it('without a sign where that is the lesser one; a number below zero is as large as its opposite', async () => {
  const [large, below] = await kept([2 ** 31 - 1, 2 ** 31 - 1], [2 ** 32 - 1, 2 ** 32 - 2]);
  expect([large![5], large![7]]).toEqual([[2 ** 32 - 2], [Number((2n ** 31n - 1n) ** 2n)]]);
  // -1 in one lane and 0 to 31 in others, with -2.
  expect([below![5], below![7], below![9], below![11]]).toEqual([[29], [62], [33], [248]]);
});

it('what was kept before is forgotten once it was asked for, and copies of an unrolled operation are one site', async () => {
  const [first, second] = await kept([1000, 50], [100, 5]);
  expect(first![5]).toEqual([1050]);
  expect(second![5]).toEqual([105]);
  expect(second![22]).toEqual([110]);
});
