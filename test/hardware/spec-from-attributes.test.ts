import { describe, expect, it } from 'vitest';
import type { Sourced } from '../../src/core/device-spec.ts';
import { vetoBoundNs } from '../../src/hardware/bounds.ts';
import { capabilityOf } from '../../src/hardware/compute-capabilities.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import {
  DEVICE_ATTRIBUTES,
  type DescribedDevice,
  type SpecAttributes,
  specFromAttributes,
} from '../../src/hardware/spec-from-attributes.ts';

const H200_ATTRIBUTES: SpecAttributes = {
  computeCapabilityMajor: 9,
  computeCapabilityMinor: 0,
  smCount: 132,
  clockRateKhz: 1_980_000,
  memoryClockRateKhz: 3_201_000,
  memoryBusBits: 6144,
  l2Bytes: 62_914_560,
  maximumThreadsPerSm: 2048,
  maximumThreadsPerCta: 1024,
  maximumCtasPerSm: 32,
  registersPerSm: 65_536,
  sharedBytesPerSm: 233_472,
  sharedBytesPerCtaOptIn: 232_448,
  reservedSharedBytesPerCta: 1024,
};
const h200: DescribedDevice = {
  name: 'NVIDIA H200',
  architecture: 'sm_90a',
  totalBytes: 150_000_000_000,
  attributes: H200_ATTRIBUTES,
};
const NOTHING = Object.fromEntries(
  Object.keys(DEVICE_ATTRIBUTES).map((name) => [name, 0]),
) as unknown as SpecAttributes;

const a6000: DescribedDevice = {
  name: 'NVIDIA RTX A6000',
  architecture: 'sm_86',
  totalBytes: 51_000_000_000,
  attributes: {
    ...H200_ATTRIBUTES,
    computeCapabilityMajor: 8,
    computeCapabilityMinor: 6,
    smCount: 84,
    clockRateKhz: 1_800_000,
    memoryClockRateKhz: 8_001_000,
    memoryBusBits: 384,
    l2Bytes: 6 * 2 ** 20,
    maximumThreadsPerSm: 1536,
    maximumCtasPerSm: 16,
    sharedBytesPerSm: 102_400,
    sharedBytesPerCtaOptIn: 101_376,
  },
};

describe('a known board', () => {
  it('is its spec with what the driver says put in, each figure saying so', () => {
    const spec = specFromAttributes({ ...h200, attributes: { ...H200_ATTRIBUTES, smCount: 130 } });
    const known = DEVICE_SPECS.get('h200')!;
    expect(spec.smCount).toEqual({ value: 130, source: 'read from the driver: CUdevice_attribute 16' });
    expect([spec.id, spec.name, spec.architecture]).toEqual(['h200', 'NVIDIA H200', 'sm_90a']);
    expect(spec.dramBytes.value).toBe(150_000_000_000);
    expect(spec.tensorFp16FlopPerClock).toEqual(known.tensorFp16FlopPerClock);
    expect(spec.dramBytesPerSecond).toEqual(known.dramBytesPerSecond);
    expect(spec.latencyClocks).toEqual(known.latencyClocks);
  });

  it('has the same figures when the driver agrees', () => {
    const spec = specFromAttributes(h200);
    const known = DEVICE_SPECS.get('h200')!;
    for (const name of ['smCount', 'boostClockHz', 'maximumWarpsPerSm', 'maximumCtasPerSm', 'l2Bytes'] as const)
      expect([name, spec[name].value]).toEqual([name, known[name].value]);
    expect(spec.sharedBytesPerSm.value).toBe(known.sharedBytesPerSm.value);
    expect(spec.sharedBytesPerCta.value).toBe(known.sharedBytesPerCta.value);
    expect(vetoBoundNsOf(spec)).toBe(vetoBoundNsOf(known));
  });

  it.each([
    ['NVIDIA H100 80GB HBM3', 'h100'],
    ['NVIDIA H100 PCIe', 'h100-pcie'],
  ])('%s is %s', (name, id) => {
    expect(specFromAttributes({ ...h200, name }).id).toBe(id);
  });

  it('an A100 with 80 GB on an SXM board is, one with 40 GB is not', () => {
    const attributes = { ...H200_ATTRIBUTES, computeCapabilityMajor: 8, computeCapabilityMinor: 0 };
    expect(specFromAttributes({ ...h200, name: 'NVIDIA A100-SXM4-80GB', attributes }).id).toBe('a100');
    expect(specFromAttributes({ ...h200, name: 'NVIDIA A100-SXM4-40GB', attributes }).id).toBe('a100-sxm4-40gb');
  });

  it('is not taken from a name that only contains one', () => {
    expect(specFromAttributes({ ...h200, name: 'NVIDIA GH200 480GB' }).id).toBe('gh200-480gb');
    const l40 = { ...a6000, name: 'NVIDIA L40', attributes: { ...a6000.attributes, computeCapabilityMinor: 9 } };
    expect(specFromAttributes(l40).id).toBe('l40');
    expect(specFromAttributes({ ...l40, name: 'NVIDIA L4' }).id).toBe('l4');
  });
});

const vetoBoundNsOf = (spec: Parameters<typeof vetoBoundNs>[1]): number =>
  vetoBoundNs({ flop: 1e12, minimumFlop: 1e12, minimumReadBytes: 0, comparison: { kind: 'exact' }, cache: 'hot' }, spec)
    .ns;

describe('the clock of the veto bound', () => {
  it('is the highest that driver, NVML or datasheet name', () => {
    const clock = (clockRateKhz: number, maximumSmClockMhz?: number) =>
      specFromAttributes({ ...h200, attributes: { ...H200_ATTRIBUTES, clockRateKhz }, maximumSmClockMhz }).boostClockHz;
    expect(clock(1_700_000).value).toBe(1980e6);
    expect(clock(2_100_000)).toEqual({ value: 2100e6, source: 'read from the driver: CUdevice_attribute 13' });
    expect(clock(1_980_000, 2_200)).toEqual({ value: 2200e6, source: 'read from NVML: highest SM clock' });
    expect(clock(0).value).toBe(1980e6);
  });

  it('is never below the sustained clock', () => {
    const slow = { ...a6000, attributes: { ...a6000.attributes, clockRateKhz: 900_000 } };
    const spec = specFromAttributes(slow);
    expect(spec.boostClockHz.value).toBe(900e6);
    expect(spec.sustainedClockHz.value).toBe(900e6);
  });
});

describe('an unknown board', () => {
  it('has limits from the driver, rates from its compute capability, DRAM from clock and bus', () => {
    const spec = specFromAttributes(a6000);
    expect([spec.id, spec.architecture, spec.maximumWarpsPerSm.value]).toEqual(['rtx-a6000', 'sm_86', 48]);
    // 8001 MHz × 2 × 384 bits ÷ 8 = 768.1 GB/s, as its datasheet has it.
    expect(spec.dramBytesPerSecond.value / 1e9).toBeCloseTo(768.1, 1);
    // 84 SMs × 128 × 2 × 1.8 GHz = 38.7 TFLOP/s, as its datasheet has it.
    expect((2 * spec.fp32PerClock.value * spec.smCount.value * spec.boostClockHz.value) / 1e12).toBeCloseTo(38.7, 1);
    expect(spec.tensorFp16FlopPerClock.value).toBe(1024);
    expect(spec.latencyClocks.dram.source).toMatch(/^assumption: as on NVIDIA L4/);
  });

  it('still has a positive, sourced value for every figure when the driver tells nothing', () => {
    for (const [major, minor] of [
      [7, 0],
      [7, 5],
      [8, 0],
      [8, 6],
      [8, 7],
      [8, 9],
      [9, 0],
      [10, 0],
      [12, 0],
    ] as const) {
      const attributes = { ...NOTHING, computeCapabilityMajor: major, computeCapabilityMinor: minor };
      const spec = specFromAttributes({
        name: 'NVIDIA X',
        architecture: `sm_${major}${minor}`,
        totalBytes: 0,
        attributes,
      });
      const figures = [...Object.entries(spec), ...Object.entries(spec.latencyClocks)].filter(
        (entry): entry is [string, Sourced] => typeof entry[1] === 'object' && 'source' in entry[1],
      );
      expect(figures.length).toBeGreaterThanOrEqual(36);
      for (const [name, { value, source }] of figures) {
        // Before 8.0 nothing of shared memory was reserved.
        const least = name === 'reservedSharedBytesPerCta' && major === 7 ? 0 : 1e-9;
        expect(value, `${major}.${minor} ${name}`).toBeGreaterThanOrEqual(least);
        expect(source.length, name).toBeGreaterThan(10);
      }
    }
  });

  it('of a newer minor version takes the row of the one before', () => {
    expect(capabilityOf(10, 3).name).toBe('10.0');
    expect(capabilityOf(12, 1).name).toBe('12.0');
    expect(capabilityOf(8, 6).name).toBe('8.6');
    expect(capabilityOf(6, 1).name).toBe('7.0');
  });
});

describe('compute capabilities', () => {
  it.each([
    // Board, compute capability, SMs, boost clock, dense fp16 TFLOP/s of its datasheet.
    ['V100', 7, 0, 80, 1530e6, 125],
    ['A100', 8, 0, 108, 1410e6, 312],
    ['L4', 8, 9, 58, 2040e6, 121],
    ['H100 SXM', 9, 0, 132, 1830e6, 989],
  ] as const)('give %s its dense fp16 peak', (_, major, minor, smCount, clockHz, teraflop) => {
    const rate = capabilityOf(major, minor).tensorFp16FlopPerClock * smCount * clockHz;
    expect(rate / 1e12 / teraflop).toBeCloseTo(1, 2);
  });
});
