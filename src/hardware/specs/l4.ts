import type { DeviceSpec } from '../../core/device-spec.ts';
import { ADA } from './ada.ts';
import * as sources from './sources.ts';

/** NVIDIA L4: AD104, compute capability 8.9, 72 W. */
export const L4: DeviceSpec = {
  ...ADA,
  id: 'l4',
  name: 'NVIDIA L4',
  smCount: { value: 58, source: `${sources.l4TechPowerUp}: 7424 CUDA cores ÷ 128 per SM` },
  boostClockHz: { value: 2040e6, source: sources.l4TechPowerUp },
  sustainedClockHz: {
    value: 1700e6,
    source:
      'assumption: between base 795 MHz and boost 2040 MHz under the 72 W limit; the first figure to calibrate on a real L4',
  },
  tensorFp16FlopPerClock: {
    value: 1024,
    source: `${sources.l4Datasheet}: 242 TFLOPS sparse = 121 dense ÷ (58 SMs × 2.04 GHz)`,
  },
  l2BytesPerClock: {
    value: 854,
    source: `${sources.hopperBenchmarks}: RTX 4090 1708 B per clock; half the memory partitions (192 of 384 bits) on AD104`,
  },
  l2Bytes: { value: 48 * 1024 * 1024, source: sources.l4TechPowerUp },
  dramBytesPerSecond: { value: 300e9, source: sources.l4Datasheet },
  dramBytes: { value: 24e9, source: sources.l4Datasheet },
  calibration: {
    basis: 'published',
    note: 'No L4 was measured. Rates and latencies are published; the constants that describe machine code were set on an H200.',
  },
};
