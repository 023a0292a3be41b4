import { describe, expect, it } from 'vitest';
import type { KernelResources } from '../../src/core/counters.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { occupancy } from '../../src/hardware/occupancy.ts';

const l4 = DEVICE_SPECS.get('l4')!;
const h200 = DEVICE_SPECS.get('h200')!;

const resources = (registersPerThread: number, sharedBytes = 0): KernelResources => ({
  registersPerThread,
  registersSource: 'compiler',
  staticSharedBytes: 0,
  dynamicSharedBytes: sharedBytes,
  localBytesPerThread: 0,
});

describe('occupancy, against hand-derived cases', () => {
  it('is limited by warps: 256 threads = 8 warps; 48 ÷ 8 = 6 CTAs', () => {
    // Registers: 32 × 32 = 1024 per warp; 16384 ÷ 1024 = 16 per scheduler = 64 warps: no limit.
    expect(occupancy(resources(32), 256, l4)).toEqual({
      ctasPerSm: 6,
      warpsPerSm: 48,
      maximumWarpsPerSm: 48,
      ratio: 1,
      limiter: 'warps',
      kind: 'theoretical',
    });
  });

  it('is limited by CTAs: 32-thread CTAs stop at 24 on sm_89, 32 on sm_90', () => {
    expect(occupancy(resources(32), 32, l4)).toMatchObject({
      ctasPerSm: 24,
      warpsPerSm: 24,
      limiter: 'ctas',
      ratio: 0.5,
    });
    expect(occupancy(resources(32), 32, h200)).toMatchObject({ ctasPerSm: 32, limiter: 'ctas', ratio: 0.5 });
  });

  it('is limited by registers, per scheduler: 168 × 32 = 5376 = 21 × 256; 16384 ÷ 5376 = 3 per scheduler', () => {
    // 3 × 4 = 12 warps: 3 CTAs of 4 warps. Pooled over the SM, 65536 ÷ 5376 = 12.19 warps, the same here.
    expect(occupancy(resources(168), 128, l4)).toMatchObject({ ctasPerSm: 3, warpsPerSm: 12, limiter: 'registers' });
  });

  it('does not let a warp straddle schedulers: 112 registers', () => {
    // 112 × 32 = 3584; 16384 ÷ 3584 = 4.57 → 4 per scheduler = 16 warps; pooled it would be 65536 ÷ 3584 = 18.
    expect(occupancy(resources(112), 32, l4)).toMatchObject({ ctasPerSm: 16, limiter: 'registers' });
  });

  it('rounds registers up per warp: 33 registers cost as much as 40', () => {
    // 33 × 32 = 1056 → 1280 = 40 × 32; 16384 ÷ 1280 = 12 per scheduler = 48 warps. 41: 1312 → 1536; 10 × 4 = 40 warps.
    expect(occupancy(resources(33), 32 * 12, l4)).toMatchObject({ ctasPerSm: 4, limiter: 'warps' });
    expect(occupancy(resources(41), 32 * 8, l4)).toMatchObject({ ctasPerSm: 5, warpsPerSm: 40, limiter: 'registers' });
  });

  it('is limited by shared memory, with 1 KB reserved per CTA and 128-byte units', () => {
    // 33 KiB + 1 KiB = 34 KiB; 100 ÷ 34 = 2. Without the reservation it would be 3.
    expect(occupancy(resources(32, 33 * 1024), 128, l4)).toMatchObject({ ctasPerSm: 2, limiter: 'shared-memory' });
    // 49 KiB + 1 KiB = 50 KiB: exactly 2; one byte more rounds up to 50 KiB + 128 B: 1.
    expect(occupancy(resources(32, 49 * 1024), 128, l4)).toMatchObject({ ctasPerSm: 2 });
    expect(occupancy(resources(32, 49 * 1024 + 1), 128, l4)).toMatchObject({ ctasPerSm: 1 });
  });

  it('fits nothing above the limits: 99 KiB per CTA on sm_89, 227 KiB on sm_90, 255 registers, 1024 threads', () => {
    expect(occupancy(resources(32, 99 * 1024), 128, l4).ctasPerSm).toBe(1);
    expect(occupancy(resources(32, 99 * 1024 + 1), 128, l4)).toMatchObject({ ctasPerSm: 0, limiter: 'shared-memory' });
    expect(occupancy(resources(32, 227 * 1024), 128, h200).ctasPerSm).toBe(1);
    expect(occupancy(resources(32, 227 * 1024 + 1), 128, h200).ctasPerSm).toBe(0);
    expect(occupancy(resources(256), 32, l4)).toMatchObject({ ctasPerSm: 0, limiter: 'registers' });
    expect(occupancy(resources(32), 1025, l4)).toMatchObject({ ctasPerSm: 0, limiter: 'warps' });
    // 1024 threads of 128 registers: 4 warps per scheduler, 16 warps < 32.
    expect(occupancy(resources(128), 1024, l4)).toMatchObject({ ctasPerSm: 0, limiter: 'registers' });
  });

  it('counts static and dynamic shared memory together', () => {
    const both = { ...resources(32, 60 * 1024), staticSharedBytes: 40 * 1024 };
    expect(occupancy(both, 128, l4)).toMatchObject({ ctasPerSm: 0, limiter: 'shared-memory' });
    expect(occupancy({ ...both, staticSharedBytes: 39 * 1024 }, 128, l4).ctasPerSm).toBe(1);
  });

  it('counts a started warp as a whole one: 33 threads are 2 warps', () => {
    expect(occupancy(resources(32), 33, l4)).toMatchObject({ ctasPerSm: 24, warpsPerSm: 48 });
  });

  it('throws for thread counts that no launch has', () => {
    expect(() => occupancy(resources(32), 0, l4)).toThrow(RangeError);
    expect(() => occupancy(resources(32), 1.5, l4)).toThrow('1.5');
  });
});
