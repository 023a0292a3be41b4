import type { DeviceSpec } from '../../core/device-spec.ts';
import * as sources from './sources.ts';

/** NVIDIA H200 SXM: GH100, compute capability 9.0a, HBM3e. */
export const H200: DeviceSpec = {
  id: 'h200',
  name: 'NVIDIA H200 SXM',
  architecture: 'sm_90a',
  smCount: { value: 132, source: `${sources.hopperWhitepaper}: H100 SXM5; ${sources.ownH200}` },
  boostClockHz: { value: 1980e6, source: sources.ownH200 },
  sustainedClockHz: { value: 1980e6, source: `${sources.ownH200}: not throttled in short kernels` },
  schedulersPerSm: { value: 4, source: sources.hopperWhitepaper },
  maximumWarpsPerSm: { value: 64, source: `${sources.computeCapabilities}, 9.0` },
  maximumCtasPerSm: { value: 32, source: `${sources.computeCapabilities}, 9.0` },
  maximumThreadsPerCta: { value: 1024, source: `${sources.computeCapabilities}, 9.0` },
  registersPerSm: { value: 65536, source: `${sources.computeCapabilities}, 9.0` },
  registerAllocationUnit: { value: 256, source: `${sources.occupancyHeader}, registers per warp` },
  maximumRegistersPerThread: { value: 255, source: `${sources.computeCapabilities}, 9.0` },
  sharedBytesPerSm: { value: 228 * 1024, source: sources.hopperTuningGuide },
  sharedBytesPerCta: { value: 227 * 1024, source: sources.hopperTuningGuide },
  reservedSharedBytesPerCta: { value: 1024, source: sources.sharedReservation },
  sharedAllocationUnitBytes: { value: 128, source: sources.occupancyHeader },
  fp32PerClock: { value: 128, source: `${sources.throughput}, 9.0` },
  fp16PerClock: {
    value: 128,
    source: `${sources.throughput}, 9.0: 256 results, two per lane of a half2 instruction; ${sources.ownH200}: 112 lanes`,
  },
  fp64PerClock: { value: 64, source: `${sources.throughput}, 9.0` },
  integerPerClock: { value: 64, source: `${sources.throughput}, 9.0: 32-bit add, multiply, compare, logic` },
  specialPerClock: { value: 16, source: `${sources.throughput}, 9.0: reciprocal, exp2, log2, sine` },
  conversionPerClock: {
    value: 64,
    source: `${sources.throughput}, 9.0: narrow conversions 64 (int ↔ float ones are slower: a known error of the single class)`,
  },
  tensorFp16FlopPerClock: {
    value: 4096,
    source: `${sources.hopperWhitepaper}: 4 tensor cores × 512 dense fp16 FMA × 2; 989 TFLOPS at 1.83 GHz`,
  },
  sharedWavefrontsPerClock: { value: 1, source: `${sources.hopperBenchmarks}: 128 B per clock per SM` },
  lsuRequestsPerClock: { value: 1, source: `${sources.hopperWhitepaper}: 32 load/store units per SM` },
  l1BytesPerClock: { value: 124, source: `${sources.hopperBenchmarks}: H100, 16-byte loads` },
  l2BytesPerClock: {
    value: 3890,
    source: `${sources.ownH200}: 7.7 TB/s of L2-resident reads ÷ 1.98 GHz`,
  },
  l2Bytes: {
    value: 60 * 1024 * 1024,
    source: `${sources.ownH200}: as the driver reports it; the tuning guide says 50 MB for H100`,
  },
  dramBytesPerSecond: { value: 4.8e12, source: sources.h200Datasheet },
  dramAttainableRatio: {
    value: 0.93,
    source: `${sources.ownH200}: streaming reads 4.46 TB/s, device-to-device copy 4.3 TB/s`,
  },
  dramBytes: { value: 141e9, source: sources.h200Datasheet },
  latencyClocks: {
    fp32: { value: 4, source: sources.ownH200 },
    integer: { value: 4, source: sources.ownH200 },
    special: { value: 17, source: `${sources.ownH200}: ex2.approx` },
    shared: { value: 23, source: `${sources.ownH200}; with address arithmetic 29 (arXiv 2402.13499)` },
    l1: { value: 39, source: `${sources.ownH200}; arXiv 2402.13499 has 40.7` },
    l2: { value: 290, source: `${sources.ownH200}; arXiv 2402.13499 has 263.0 on H100 PCIe` },
    dram: { value: 600, source: `${sources.ownH200}: random chase through 160 MB, address translation included` },
    barrier: { value: 28, source: `${sources.ownH200}: 8 warps; 20 with 4` },
    shuffle: { value: 26, source: sources.ownH200 },
    atomic: { value: 275, source: `${sources.ownH200}: atomicAdd that returns, no contention` },
  },
  launchOverheadNs: { value: 1000, source: `${sources.ownH200}: 132 CTAs reading and writing one float per thread` },
  memsetNs: {
    value: 2500,
    source: `${sources.ownH200}: histograms and reductions; TransformerEngine, pull request 1716: 3.2 µs`,
  },
  calibration: {
    basis: 'measured',
    note: 'Rates, latencies and the constants that describe machine code were measured on one H200 SXM.',
  },
};
