import { describe, expect, it } from 'vitest';
import type { DeviceSpec, Sourced } from '../../src/core/device-spec.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';

const isSourced = (value: unknown): value is Sourced =>
  typeof value === 'object' && value !== null && 'source' in value;

function figures(spec: DeviceSpec): [string, Sourced][] {
  const entries = [...Object.entries(spec), ...Object.entries(spec.latencyClocks)];
  return entries.filter((entry): entry is [string, Sourced] => isSourced(entry[1]));
}

const tera = (perClock: number, spec: DeviceSpec): number =>
  (perClock * spec.smCount.value * spec.boostClockHz.value) / 1e12;

describe('device specs', () => {
  it('are known as l4 and h200', () => {
    expect([...DEVICE_SPECS.keys()].sort()).toEqual(['h200', 'l4']);
    for (const [id, spec] of DEVICE_SPECS) expect(spec.id).toBe(id);
  });

  it('give a positive value and a source for every figure', () => {
    for (const spec of DEVICE_SPECS.values()) {
      const all = figures(spec);
      expect(all.length).toBeGreaterThanOrEqual(36);
      for (const [name, figure] of all) {
        expect(figure.value, `${spec.id}.${name}`).toBeGreaterThan(0);
        expect(figure.source.length, `${spec.id}.${name}`).toBeGreaterThan(10);
      }
    }
  });

  it('give the L4 its datasheet peaks: 30.3 TFLOP/s fp32, 121 TFLOP/s dense fp16 tensor', () => {
    const l4 = DEVICE_SPECS.get('l4')!;
    expect(tera(2 * l4.fp32PerClock.value, l4)).toBeCloseTo(30.3, 1);
    expect(tera(l4.tensorFp16FlopPerClock.value, l4)).toBeCloseTo(121, 0);
  });

  it('give the H200 66.9 TFLOP/s fp32 and more than 989 TFLOP/s dense fp16 tensor at 1980 MHz', () => {
    const h200 = DEVICE_SPECS.get('h200')!;
    expect(tera(2 * h200.fp32PerClock.value, h200)).toBeCloseTo(66.9, 1);
    // 132 × 4096 × 1.98 GHz = 1070.5; the datasheet's 989 is at 1.83 GHz.
    expect(tera(h200.tensorFp16FlopPerClock.value, h200)).toBeCloseTo(1070.5, 1);
  });

  it('allow one CTA 1 KB less shared memory than an SM has, the driver’s reservation', () => {
    for (const spec of DEVICE_SPECS.values()) {
      expect(spec.sharedBytesPerSm.value - spec.sharedBytesPerCta.value).toBe(spec.reservedSharedBytesPerCta.value);
    }
  });
});
