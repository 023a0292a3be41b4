import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { DeviceBuffer } from '../../src/core/device-values.ts';
import type { LaunchPlan, PlannedBuffer } from '../../src/core/launch-plan.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { type InlineRequest, runInline } from '../../src/virtual-gpu/run-inline.ts';
import { rowSumRequest } from './row-sum-request.ts';

const spec = DEVICE_SPECS.get('l4')!;

describe('a launch on the calling thread', () => {
  let request: InlineRequest;
  beforeAll(async () => {
    const ptx = await readFile(join(import.meta.dirname, '..', 'fixtures', 'ptx', 'row-sum.ptx'), 'utf8');
    request = rowSumRequest(ptx, spec);
  });

  it('has the results and counters that the virtual device has', async () => {
    const outcome = await runInline(request);
    if (!outcome.ok) throw new Error(outcome.message);
    const { bytes, counters } = await onVirtualDevice(request);
    expect(outcome.buffers.y).toEqual(bytes);
    expect(outcome.counters).toEqual(counters);
    expect(outcome.counters[0]!.sampledCache).toMatchObject({ start: 'hot', dramReadBytes: 0 });
  });

  it('says where a kernel went wrong', async () => {
    const tooSmall = { ...request, buffers: { ...request.buffers, y: new Uint8Array(4) } };
    expect(await runInline(tooSmall)).toMatchObject({
      ok: false,
      kind: 'out-of-bounds',
      cta: 0,
      source: { file: 'kernel.cu', line: 14 },
    });
  });

  it.each([
    ['arguments that are missing', { arguments: [] }, 'takes 4 arguments, not 0'],
    ['more threads than a CTA has', { block: [2048, 1, 1] as const }, '2048 threads per CTA'],
    ['more shared memory than a CTA has', { dynamicSharedBytes: 1 << 20 }, '1048576 B of shared memory'],
  ])('refuses %s', async (_, change, message) => {
    const launches = request.launches.map((launch) => ({ ...launch, ...change }));
    await expect(runInline({ ...request, launches })).rejects.toThrow(message);
  });

  it('refuses buffers that are not there', async () => {
    await expect(runInline({ ...request, buffers: { x: request.buffers.x! } })).rejects.toThrow('a buffer');
  });
});

/** The same launch on worker threads; `bytes` of y. */
async function onVirtualDevice({ ptx, buffers, launches }: InlineRequest) {
  const device = await openDevice('virtual:l4', { threads: 1 });
  try {
    const [launch] = launches;
    const loaded = await device.load({
      kind: 'ptx',
      text: ptx,
      architecture: 'sm_89',
      functionSymbols: {},
      diagnostics: [],
      key: 'row-sum',
    } as unknown as Parameters<typeof device.load>[0]);
    if (!loaded.ok) throw new Error(loaded.message);
    const planned = Object.entries(buffers).map(
      ([name, { length }]): PlannedBuffer => ({
        name,
        role: 'inout',
        dtype: 'u8',
        shape: [length],
        strides: [1],
        bytes: length,
        alignmentBytes: 256,
      }),
    );
    const plan: LaunchPlan = {
      buffers: planned,
      steps: [
        {
          kind: 'launch',
          functionName: launch!.functionName,
          grid: launch!.grid,
          block: launch!.block,
          dynamicSharedBytes: 0,
          cooperative: false,
          programmaticDependent: false,
          arguments: [...launch!.arguments],
        },
      ],
    };
    const allocated = new Map<string, DeviceBuffer>();
    for (const { name, bytes, alignmentBytes } of planned) {
      const buffer = await device.allocate({ name, bytes, alignmentBytes });
      await device.write(buffer, buffers[name]!);
      allocated.set(name, buffer);
    }
    const options = { orderSeed: 0, count: true, timeoutMs: 20_000, cache: 'hot' } as const;
    const outcome = await device.run(loaded.module, plan, allocated, options);
    if (!outcome.ok) throw new Error(outcome.message);
    return { bytes: await device.read(allocated.get('y')!), counters: outcome.counters };
  } finally {
    await device.close();
  }
}
