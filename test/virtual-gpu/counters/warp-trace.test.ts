import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { sum } from '../../../src/core/values.ts';
import type { WarpTrace } from '../../../src/core/warp-trace.ts';
import { type KernelLaunch, launchKernel } from '../../support/launch/launch-kernel.ts';
import { openKernels } from '../../support/launch/open-kernels.ts';

let device: Device;
let module: LoadedModule;

beforeAll(async () => {
  ({ device, module } = await openKernels(join(import.meta.dirname, 'kernels.cu')));
});

afterAll(() => device.close());

const IN_OUT = { arguments: ['in', 'out'], buffers: { in: 8192, out: 8192 } } as const;

const launchOf = (functionName: string, launch: KernelLaunch): KernelLaunch => ({ ...launch, functionName });

async function trace(functionName: string, launch: KernelLaunch, at = { cta: 0, warp: 0 }): Promise<WarpTrace> {
  const options = { trace: { step: 0, ...at } };
  const { trace: found } = await launchKernel(device, module, { ...launchOf(functionName, launch), options });
  return found!;
}

const unitsOf = ({ requests }: WarpTrace, space: string, kind: string): number[] => {
  const own = requests.filter((request) => request.space === space && request.kind === kind);
  return [own.length, sum(own.map(({ units }) => units)), sum(own.map(({ conflicts }) => conflicts))];
};

describe('a followed warp', () => {
  it.each<[string, KernelLaunch]>([
    ['coalesced', IN_OUT],
    ['stride32', IN_OUT],
    ['guarded', { arguments: ['in', 'out', { i32: 20 }], buffers: IN_OUT.buffers }],
    ['shared_stride', { arguments: ['in', 'out', { i32: 2 }], buffers: IN_OUT.buffers, dynamicSharedBytes: 8192 }],
    ['shared_vector4', IN_OUT],
    ['count_up', { arguments: ['in', 'out'], buffers: { in: 64, out: 64 } }],
    ['barriers', { arguments: ['out', { i32: 3 }], buffers: { out: 256 } }],
    ['by_line', IN_OUT],
  ])('of %s, which is all there is, did what the counters count', async (name, launch) => {
    const { counters } = await launchKernel(device, module, { ...launchOf(name, launch), options: { count: true } });
    const found = await trace(name, launch);
    const lanesOf = (lanes: number): number => lanes.toString(2).replaceAll('0', '').length;
    expect(sum(found.turns.map(({ instructions }) => instructions))).toBe(counters.instructions);
    expect(sum(found.turns.map(({ instructions, lanes }) => instructions * lanesOf(lanes)))).toBe(
      counters.threadInstructions,
    );
    expect(unitsOf(found, 'global', 'load')).toEqual([counters.globalLoadRequests, counters.globalLoadSectors, 0]);
    expect(unitsOf(found, 'global', 'store')).toEqual([counters.globalStoreRequests, counters.globalStoreSectors, 0]);
    const { sharedLoadRequests, sharedLoadWavefronts, sharedLoadBankConflicts } = counters;
    expect(unitsOf(found, 'shared', 'load')).toEqual([
      sharedLoadRequests,
      sharedLoadWavefronts,
      sharedLoadBankConflicts,
    ]);
    expect(found.isWhole).toBe(true);
  });

  it('has the address of each lane, by buffer and by line, of the CTA and the warp that were asked for', async () => {
    const launch = { ...IN_OUT, grid: 3, block: 64 };
    const { requests } = await trace('coalesced', launch, { cta: 2, warp: 1 });
    // Its first element is 2 CTAs × 64 threads + 1 warp × 32 lanes = 160: byte 640.
    const addresses = Array.from({ length: 32 }, (_, lane) => 640 + 4 * lane);
    expect(requests).toMatchObject([
      {
        space: 'global',
        kind: 'load',
        bytes: 4,
        buffer: 'in',
        addresses,
        units: 4,
        source: { file: 'kernels.cu', line: 6 },
      },
      {
        space: 'global',
        kind: 'store',
        bytes: 4,
        buffer: 'out',
        addresses,
        units: 4,
        source: { file: 'kernels.cu', line: 6 },
      },
    ]);
  });

  it('shows lanes that wait while others run', async () => {
    const { turns } = await trace('guarded', { arguments: ['in', 'out', { i32: 20 }], buffers: IN_OUT.buffers });
    expect(turns.map(({ lanes }) => lanes >>> 0)).toContain((1 << 20) - 1);
    expect(turns[0]).toMatchObject({
      lanes: 0xffff_ffff,
      lines: expect.arrayContaining([expect.objectContaining({ line: 24 })]),
    });
  });

  it('is kept up to a bound, and goes on to its end all the same', async () => {
    const launch = { arguments: ['out', { i32: 3000 }], buffers: { out: 256 } } as const;
    const { turns, requests, isWhole } = await trace('barriers', launch);
    expect(isWhole).toBe(false);
    expect(turns.length).toBeLessThan(5000);
    expect(requests.length).toBeLessThan(500);
  });
});
