import { describe, expect, it } from 'vitest';
import type { MeasuredPeaks } from '../../src/core/measured-peaks.ts';
import type { Tolerance } from '../../src/core/problem.ts';
import { attainableBoundNs, type ProblemWork, vetoBoundNs } from '../../src/hardware/bounds.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';

const l4 = DEVICE_SPECS.get('l4')!;
const calibrated = (storage: 'f16' | 'f32' | 'f64'): Tolerance => ({ kind: 'calibrated', storage, accumulate: 'f32' });

/** B1 H8 S512 D64: 4·8·512²·64 FLOP, 3 tensors of 512 KiB read. */
const attention: ProblemWork = {
  flop: 536_870_912,
  minimumFlop: 536_870_912,
  minimumReadBytes: 3 * 524_288,
  comparison: calibrated('f16'),
  cache: 'hot',
};

describe('veto bound', () => {
  it('is minimum FLOP over the tensor peak at the maximum clock', () => {
    // 536,870,912 ÷ (58 × 1024 × 2.04e9) = 4431 ns.
    const bound = vetoBoundNs(attention, l4);
    expect(bound.ns).toBeCloseTo(4431.1, 0);
    expect(bound.arithmetic).toContain('58 SMs');
    expect(bound.arithmetic).toContain('2.04 GHz');
    expect(bound.arithmetic).toContain('fp16 tensor');
  });

  it('counts reads at the datasheet rate only when the caches are cold', () => {
    // 1,572,864 B ÷ 300 GB/s = 5243 ns > 4431 ns.
    const cold = vetoBoundNs({ ...attention, cache: 'cold' }, l4);
    expect(cold.ns).toBeCloseTo(5242.9, 0);
    expect(cold.arithmetic).toContain('300 GB/s');
  });

  it('leaves out the reads that L2 may serve from one round of the ring to the next', () => {
    const cold = { ...attention, minimumFlop: 1, cache: 'cold' as const };
    // A ring of 3 × L2 may keep a third: 1,048,576 B ÷ 300 GB/s = 3495 ns.
    expect(vetoBoundNs({ ...cold, cachedReadRatio: 1 / 3 }, l4).ns).toBeCloseTo(3495.3, 0);
    expect(vetoBoundNs({ ...cold, cachedReadRatio: 0 }, l4)).toEqual(vetoBoundNs(cold, l4));
    expect(vetoBoundNs({ ...cold, cachedReadRatio: 2 }, l4).ns).toBeLessThan(1);
  });

  it('uses minimumFlop, not flop', () => {
    expect(vetoBoundNs({ ...attention, flop: 1e15 }, l4).ns).toBe(vetoBoundNs(attention, l4).ns);
  });

  it('admits only slower pipes to sharper tolerances', () => {
    // fp32 results from fp16 pieces take at least 3 products: 1024 ÷ 3 = 341 FLOP/clock, still above 256 on fp32 pipes.
    const single = vetoBoundNs({ ...attention, comparison: calibrated('f32') }, l4);
    expect(single.ns).toBeCloseTo(3 * 4431.1, -1);
    // fp64: 5 pieces, 15 products: 68 FLOP/clock, above the 4 of the fp64 pipe.
    const double = vetoBoundNs({ ...attention, comparison: calibrated('f64') }, l4);
    expect(double.ns).toBeCloseTo(15 * 4431.1, -2);
  });

  it('claims least where the comparison names no precision', () => {
    expect(vetoBoundNs({ ...attention, comparison: { kind: 'exact' } }, l4).ns).toBeCloseTo(4431.1, 0);
  });

  it('names the pipe it assumed', () => {
    const h200 = DEVICE_SPECS.get('h200')!;
    // 4096 ÷ 15 = 273 FLOP/clock against 128 on the pipe: pieces win; the text says which.
    expect(vetoBoundNs({ ...attention, comparison: calibrated('f64') }, h200).arithmetic).toContain('15 products');
  });
});

describe('attainable bound', () => {
  it('takes a realistic share of the peak at the sustained clock, plus a launch', () => {
    // 536,870,912 ÷ (58 × 1024 × 1.7e9 × 0.8) = 6647 ns; + 1500.
    const bound = attainableBoundNs(attention, l4);
    expect(bound.ns).toBeCloseTo(6646.6 + 1500, 0);
    expect(bound.arithmetic).toContain('1500 ns launch');
  });

  it('is bound by attainable DRAM when cold and by L2 when hot', () => {
    const copy = { ...attention, flop: 1, minimumFlop: 1, minimumReadBytes: 300e6 };
    // 300 MB ÷ (300 GB/s × 0.92) = 1.087 ms.
    expect(attainableBoundNs({ ...copy, cache: 'cold' }, l4).ns).toBeCloseTo(1_086_957 + 1500, -1);
    // 40 MB, which L2 holds, ÷ (854 B × 1.7 GHz) = 27.55 µs.
    expect(attainableBoundNs({ ...copy, minimumReadBytes: 40e6 }, l4).ns).toBeCloseTo(27_552 + 1500, -2);
    // 300 MB less the 50.3 MB of L2 ÷ (300 GB/s × 0.92) = 904.6 µs, of which all from L2 would be 206.6.
    const beyond = attainableBoundNs(copy, l4);
    expect(beyond.ns).toBeCloseTo((300e6 - l4.l2Bytes.value) / 276 + 1500, -2);
    expect(beyond.arithmetic).toContain("what L2 can't hold");
  });

  it('never lies below the veto bound', () => {
    const cold = { ...attention, flop: 0, cache: 'cold' as const };
    expect(attainableBoundNs(cold, l4).ns).toBeGreaterThanOrEqual(vetoBoundNs(cold, l4).ns);
    const odd = { ...attention, flop: 1 };
    expect(attainableBoundNs(odd, l4).ns).toBe(vetoBoundNs(odd, l4).ns);
  });
});

describe('measured peaks', () => {
  const h200 = DEVICE_SPECS.get('h200')!;
  const peaks: MeasuredPeaks = {
    copyBytesPerSecond: 4.2e12,
    copyMethod: 'copy16',
    matrixFlopPerSecond: 700e12,
    matrixMethod: 'cuBLAS',
    datasheet: { dramBytesPerSecond: 4.8e12, matrixFlopPerSecond: 1070e12 },
    measuredAt: '2026-01-01T00:00:00.000Z',
    uuid: 'GPU-1',
    driver: '580.1',
  };
  const product = { ...attention, flop: 7e14, minimumFlop: 7e14 };
  const stream = { ...attention, flop: 1, minimumFlop: 1, minimumReadBytes: 4.2e9, cache: 'cold' as const };

  it('take the place of the assumed ones, and the arithmetic says so beside the datasheet', () => {
    // 7e14 FLOP ÷ 700 TFLOP/s = 1 s; 4.2 GB ÷ 4.2 TB/s = 1 ms.
    const compute = attainableBoundNs(product, h200, peaks);
    expect(compute.ns).toBeCloseTo(1e9 + 1000, 0);
    expect(compute.arithmetic).toContain('700 TFLOP/s (measured matrix product; datasheet 1070 dense)');
    const read = attainableBoundNs(stream, h200, peaks);
    expect(read.ns).toBeCloseTo(1e6 + 1000, 0);
    expect(read.arithmetic).toContain('4200 GB/s (measured copy; datasheet 4800)');
  });

  it('serve sharper comparisons by the products they need, and leave hot reads and vector pipes alone', () => {
    expect(attainableBoundNs({ ...product, comparison: calibrated('f32') }, h200, peaks).ns).toBeCloseTo(3e9 + 1000, 0);
    const { matrixFlopPerSecond: _, ...copyOnly } = peaks;
    expect(attainableBoundNs(product, h200, copyOnly)).toEqual(attainableBoundNs(product, h200));
    const hot = { ...stream, cache: 'hot' as const };
    expect(attainableBoundNs(hot, h200, peaks)).toEqual(attainableBoundNs(hot, h200));
  });

  it('never lower the bound below the veto, nor change it', () => {
    const wild = { ...peaks, copyBytesPerSecond: 1e18, matrixFlopPerSecond: 1e21 };
    for (const work of [product, stream]) {
      expect(attainableBoundNs(work, h200, wild).ns).toBeGreaterThanOrEqual(vetoBoundNs(work, h200).ns);
    }
  });
});
