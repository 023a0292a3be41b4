import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { GpuUse } from '../../../src/core/measuring-device.ts';
import { openCudaDevice, openSecondWorker } from '../../../src/devices/cuda/open-cuda-device.ts';
import { SharedGpu } from '../../../src/devices/cuda/shared-gpu.ts';
import { noStub, useStubCuda } from '../../support/stub-cuda/stub-cuda.ts';

/** Work that ends when it is told to. */
function held(how: (work: () => Promise<void>) => Promise<void>) {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let hasBegun = false;
  const over = how(() => {
    hasBegun = true;
    begun.resolve();
    return promise;
  });
  return { end, over, begun: begun.promise, hasBegun: () => hasBegun };
}

const beside = (use: GpuUse) => held((work) => use.beside(work));
const alone = (use: GpuUse) => held((work) => use.alone(work));
const awhile = () => sleep(5);

describe('a GPU that is used for several things at a time', () => {
  it('work goes on beside other work', async () => {
    const gpu = new SharedGpu();
    const works = [beside(gpu), beside(gpu)];
    for (const work of works) expect(work.hasBegun()).toBe(true);
    for (const work of works) work.end();
    await Promise.all(works.map(({ over }) => over));
  });

  it('timing begins when all other work has ended, and none begins before its end', async () => {
    const gpu = new SharedGpu();
    const [first, second] = [beside(gpu), beside(gpu)];
    const timing = alone(gpu);
    first.end();
    await first.over;
    await awhile();
    expect(timing.hasBegun()).toBe(false);
    // Work that comes later does not keep it waiting.
    const later = beside(gpu);
    second.end();
    await timing.begun;
    await awhile();
    expect(later.hasBegun()).toBe(false);
    timing.end();
    await later.begun;
    later.end();
    await later.over;
  });

  it('one thing is timed at a time', async () => {
    const gpu = new SharedGpu();
    const [first, second] = [alone(gpu), alone(gpu)];
    await first.begun;
    await awhile();
    expect(second.hasBegun()).toBe(false);
    first.end();
    await second.begun;
    second.end();
    await second.over;
  });

  it('what is timed uses the GPU itself, and may time within', async () => {
    const gpu = new SharedGpu();
    const done = await gpu.alone(async () => {
      await awhile();
      return [await gpu.beside(async () => 'used'), await gpu.alone(async () => 'timed')];
    });
    expect(done).toEqual(['used', 'timed']);
  });

  it('what uses the GPU asks for more of it, also while somebody waits to time', async () => {
    const gpu = new SharedGpu();
    let timing: ReturnType<typeof alone> | undefined;
    await gpu.beside(async () => {
      timing = outside(() => alone(gpu));
      await awhile();
      await gpu.beside(awhile);
      expect(timing.hasBegun()).toBe(false);
    });
    await timing!.begun;
    timing!.end();
    await timing!.over;
  });

  it('those who wait begin in the order in which they came', async () => {
    const gpu = new SharedGpu();
    const timing = alone(gpu);
    await timing.begun;
    const order: number[] = [];
    const waiting = Array.from({ length: 9 }, (_, i) => gpu.beside(async () => void order.push(i)));
    await awhile();
    expect(order).toEqual([]);
    timing.end();
    await Promise.all(waiting);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('an error of the work is told, and the GPU is free again', async () => {
    const gpu = new SharedGpu();
    const fail = () => Promise.reject(new Error('no'));
    await expect(gpu.alone(fail)).rejects.toThrow('no');
    await expect(gpu.beside(fail)).rejects.toThrow('no');
    expect(await gpu.alone(async () => 'timed')).toBe('timed');
    expect(await gpu.beside(async () => 'used')).toBe('used');
  });
});

describe.skipIf(noStub)(`two workers of a GPU over a stub driver${noStub ? ` (${noStub})` : ''}`, () => {
  it('commands of one wait while the other times something, whose own commands do not', async () => {
    const stub = useStubCuda();
    const first = await openCudaDevice(0);
    const second = await openSecondWorker(0, first.measuring.use);
    const buffer = { name: 'x', bytes: 64, alignmentBytes: 16 };
    try {
      let isAllocated = false;
      let allocating: Promise<unknown> = Promise.resolve();
      await first.measuring.use.alone(async () => {
        allocating = outside(() => second.allocate(buffer)).then(() => {
          isAllocated = true;
        });
        await first.free(await first.allocate(buffer));
        await awhile();
        expect(isAllocated).toBe(false);
      });
      await allocating;
    } finally {
      await second.close();
      await first.close();
      stub.close();
    }
  });
});

/** Calls work as somebody else, who times nothing. */
const outside = AsyncLocalStorage.snapshot();
