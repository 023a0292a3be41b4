import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { CudaDevice } from '../../../src/devices/cuda/cuda-device.ts';
import { openCudaDevice } from '../../../src/devices/cuda/open-cuda-device.ts';
import { messages } from '../../../src/devices/cuda/transfers.ts';
import { SharedScratch } from '../../../src/process/shared-scratch.ts';
import { noStub, type StubCuda, useStubCuda } from '../../support/stub-cuda/stub-cuda.ts';

it('cuts large buffers and puts small ones together', () => {
  expect(messages([3, 10, 0, 4], 8)).toEqual([
    [
      { index: 0, offsetBytes: 0, bytes: 3 },
      { index: 1, offsetBytes: 0, bytes: 5 },
    ],
    [
      { index: 1, offsetBytes: 5, bytes: 5 },
      { index: 2, offsetBytes: 0, bytes: 0 },
      { index: 3, offsetBytes: 0, bytes: 3 },
    ],
    [{ index: 3, offsetBytes: 3, bytes: 1 }],
  ]);
  expect(messages([], 8)).toEqual([]);
  expect(messages([0], 8)).toEqual([[{ index: 0, offsetBytes: 0, bytes: 0 }]]);
  expect(messages([16], 8).flat()).toHaveLength(2);
});

describe.skipIf(noStub)('contents of any size', () => {
  let stub: StubCuda;
  let device: CudaDevice;
  beforeAll(async () => {
    stub = useStubCuda();
    device = await openCudaDevice(0);
  });
  afterAll(async () => {
    await device.close();
    stub.close();
  });

  const contentsOf = (bytes: number): Uint8Array => Uint8Array.from({ length: bytes }, (_, i) => (i * 7 + bytes) % 251);
  const sizes = [0, 5, 65_535, 65_536, 300_001, 3 * 2 ** 20 + 3];
  const moved = async (): Promise<void> => {
    const buffers = await Promise.all(
      sizes.map((bytes, i) => device.allocate({ name: `b${i}`, bytes, alignmentBytes: 16, minimumAlignment: false })),
    );
    await Promise.all(buffers.map((buffer, i) => device.write(buffer, contentsOf(sizes[i]!))));
    // What is written without waiting for the writes before comes behind them.
    const late = buffers.at(-1)!;
    void device.write(late, new Uint8Array(late.bytes));
    void device.write(late, contentsOf(late.bytes));
    const read = await Promise.all(buffers.map((buffer) => device.read(buffer)));
    for (const [i, contents] of read.entries()) expect(Buffer.compare(contents, contentsOf(sizes[i]!))).toBe(0);
    await Promise.all(buffers.map((buffer) => device.free(buffer)));
  };

  it('arrive, and come back, through what the processes share', async () => {
    const write = vi.spyOn(SharedScratch.prototype, 'write');
    const read = vi.spyOn(SharedScratch.prototype, 'read');
    await moved();
    expect([write.mock.calls.length, read.mock.calls.length]).toEqual([5, 3]);
    vi.restoreAllMocks();
  });

  it('go in messages where that has no room', async () => {
    const reserve = vi.spyOn(SharedScratch.prototype, 'reserve').mockReturnValue(undefined);
    const write = vi.spyOn(SharedScratch.prototype, 'write');
    await moved();
    expect(reserve).toHaveBeenCalled();
    expect(write).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });
});
