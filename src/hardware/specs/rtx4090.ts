import type { DeviceSpec } from '../../core/device-spec.ts';
import { ADA } from './ada.ts';
import * as sources from './sources.ts';

/** NVIDIA GeForce RTX 4090: AD102, compute capability 8.9, GDDR6X, 450 W. */
export const RTX4090: DeviceSpec = {
  ...ADA,
  id: 'rtx4090',
  name: 'NVIDIA GeForce RTX 4090',
  smCount: { value: 128, source: sources.adaDatasheet },
  boostClockHz: { value: 2520e6, source: sources.adaDatasheet },
  sustainedClockHz: {
    value: 2520e6,
    source: 'assumption: boards run at or above the boost clock in short kernels, far from 450 W',
  },
  tensorFp16FlopPerClock: {
    value: 512,
    source: `${sources.adaDatasheet}: 165.2 TFLOPS dense with fp32 accumulation ÷ (128 SMs × 2.52 GHz); fp16 accumulation is twice as fast`,
  },
  l2BytesPerClock: { value: 1708, source: `${sources.hopperBenchmarks}: RTX 4090, 16-byte loads` },
  l2Bytes: { value: 72 * 1024 * 1024, source: sources.adaDatasheet },
  dramBytesPerSecond: { value: 1.008e12, source: sources.adaDatasheet },
  dramBytes: { value: 24e9, source: sources.adaDatasheet },
  calibration: {
    basis: 'published',
    note: 'No RTX 4090 was measured by us. Rates and latencies are published measurements of this board; barrier, shuffle and atomic latencies are assumptions, and the constants that describe machine code were set on an H200.',
  },
};
