import { describe, expect, it } from 'vitest';
import type { DeviceSpec, Sourced } from '../../src/core/device-spec.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { SUPPORTED_ARCHITECTURES } from '../../src/toolchains/clang-arguments.ts';

const isSourced = (value: unknown): value is Sourced =>
  typeof value === 'object' && value !== null && 'source' in value;

function figures(spec: DeviceSpec): [string, Sourced][] {
  const entries = [...Object.entries(spec), ...Object.entries(spec.latencyClocks)];
  return entries.filter((entry): entry is [string, Sourced] => isSourced(entry[1]));
}

const tera = (perClock: number, spec: DeviceSpec): number =>
  (perClock * spec.smCount.value * spec.boostClockHz.value) / 1e12;

describe('device specs', () => {
  it('are known as l4, rtx4090, a100, h100 and h200', () => {
    expect([...DEVICE_SPECS.keys()].sort()).toEqual(['a100', 'h100', 'h200', 'l4', 'rtx4090']);
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

  it('give the A100 19.5 TFLOP/s fp32 and 312 TFLOP/s dense fp16 tensor', () => {
    const a100 = DEVICE_SPECS.get('a100')!;
    expect(tera(2 * a100.fp32PerClock.value, a100)).toBeCloseTo(19.5, 1);
    expect(tera(a100.tensorFp16FlopPerClock.value, a100)).toBeCloseTo(311.9, 1);
    expect(a100.dramBytes.value).toBe(80e9);
  });

  it('give the RTX 4090 82.6 TFLOP/s fp32 and 165.2 TFLOP/s dense fp16 tensor with fp32 accumulation', () => {
    const rtx4090 = DEVICE_SPECS.get('rtx4090')!;
    expect(tera(2 * rtx4090.fp32PerClock.value, rtx4090)).toBeCloseTo(82.6, 1);
    expect(tera(rtx4090.tensorFp16FlopPerClock.value, rtx4090)).toBeCloseTo(165.2, 1);
  });

  it('give the H100 the H200’s SMs, and its own L2 and DRAM', () => {
    const [h100, h200] = [DEVICE_SPECS.get('h100')!, DEVICE_SPECS.get('h200')!];
    expect(h100.smCount.value).toBe(h200.smCount.value);
    expect(h100.tensorFp16FlopPerClock).toEqual(h200.tensorFp16FlopPerClock);
    expect([h100.l2Bytes.value, h100.dramBytesPerSecond.value]).toEqual([50 * 2 ** 20, 3.35e12]);
  });

  it('say what the time model’s figures rest on, and where latencies come from when another board was measured', () => {
    const basis = [...DEVICE_SPECS.values()].map(({ id, calibration }) => [id, calibration?.basis]);
    expect(Object.fromEntries(basis)).toEqual({
      l4: 'published',
      h200: 'measured',
      a100: 'published',
      h100: 'same-chip',
      rtx4090: 'published',
    });
    for (const { calibration } of DEVICE_SPECS.values()) expect(calibration!.note.length).toBeGreaterThan(30);
    for (const figure of Object.values(DEVICE_SPECS.get('h100')!.latencyClocks))
      expect(figure.source).toMatch(/^as on the H200, the same chip/);
  });

  it('are in an architecture that clang compiles for', () => {
    for (const { architecture } of DEVICE_SPECS.values()) expect(SUPPORTED_ARCHITECTURES).toContain(architecture);
  });

  it('allow one CTA 1 KB less shared memory than an SM has, the driver’s reservation', () => {
    for (const spec of DEVICE_SPECS.values()) {
      expect(spec.sharedBytesPerSm.value - spec.sharedBytesPerCta.value).toBe(spec.reservedSharedBytesPerCta.value);
    }
  });
});
