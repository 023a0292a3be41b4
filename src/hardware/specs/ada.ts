import type { DeviceSpec } from '../../core/device-spec.ts';
import * as sources from './sources.ts';

/** What all boards of the Ada generation share: compute capability 8.9. */
export const ADA = {
  architecture: 'sm_89',
  schedulersPerSm: { value: 4, source: sources.adaWhitepaper },
  maximumWarpsPerSm: { value: 48, source: `${sources.computeCapabilities}, 8.9` },
  maximumCtasPerSm: { value: 24, source: `${sources.computeCapabilities}, 8.9` },
  maximumThreadsPerCta: { value: 1024, source: `${sources.computeCapabilities}, 8.9` },
  registersPerSm: { value: 65536, source: `${sources.computeCapabilities}, 8.9` },
  registerAllocationUnit: { value: 256, source: `${sources.occupancyHeader}, registers per warp` },
  maximumRegistersPerThread: { value: 255, source: `${sources.computeCapabilities}, 8.9` },
  sharedBytesPerSm: { value: 100 * 1024, source: `${sources.computeCapabilities}, 8.9` },
  sharedBytesPerCta: { value: 99 * 1024, source: `${sources.computeCapabilities}, 8.9` },
  reservedSharedBytesPerCta: { value: 1024, source: sources.sharedReservation },
  sharedAllocationUnitBytes: { value: 128, source: sources.occupancyHeader },
  fp32PerClock: { value: 128, source: `${sources.throughput}, 8.9` },
  fp16PerClock: { value: 128, source: `${sources.throughput}, 8.9: 128 half2-lane results per clock` },
  fp64PerClock: { value: 2, source: `${sources.throughput}, 8.9` },
  integerPerClock: { value: 64, source: `${sources.throughput}, 8.9: 32-bit add, multiply, compare, logic` },
  specialPerClock: { value: 16, source: `${sources.throughput}, 8.9: reciprocal, exp2, log2, sine` },
  conversionPerClock: {
    value: 64,
    source: `${sources.throughput}, 8.9: narrow conversions 64 (int ↔ float ones are slower: a known error of the single class)`,
  },
  sharedWavefrontsPerClock: { value: 1, source: `${sources.hopperBenchmarks}: 128 B per clock per SM on Ada` },
  lsuRequestsPerClock: {
    value: 0.5,
    source: `${sources.adaWhitepaper}: 16 load/store units per SM; ${sources.hopperBenchmarks}: 64 B per clock with 4-byte loads`,
  },
  l1BytesPerClock: { value: 121, source: `${sources.hopperBenchmarks}: RTX 4090, 16-byte loads` },
  dramAttainableRatio: { value: 0.92, source: `${sources.hopperBenchmarks}: RTX 4090 reaches 930 of 1008 GB/s` },
  latencyClocks: {
    fp32: { value: 4, source: sources.ampereDissection },
    integer: { value: 4, source: sources.ampereDissection },
    special: { value: 18, source: sources.ampereDissection },
    shared: { value: 30, source: `${sources.hopperBenchmarks}: RTX 4090 30.1` },
    l1: { value: 43, source: `${sources.hopperBenchmarks}: RTX 4090 43.4` },
    l2: { value: 273, source: `${sources.hopperBenchmarks}: RTX 4090 273.0` },
    dram: { value: 542, source: `${sources.hopperBenchmarks}: RTX 4090 541.5` },
    barrier: { value: 25, source: `assumption, of the order of a shared-memory access; see ${sources.issueModel}` },
    shuffle: { value: 24, source: `assumption, same path as shared memory; see ${sources.ampereDissection}` },
    atomic: { value: 300, source: 'assumption: an L2 round trip plus the operation' },
  },
  launchOverheadNs: { value: 1500, source: `assumption; ${sources.ownH200}: 0.5–1.0 µs per graph node` },
  memsetNs: { value: 2500, source: 'assumption: as on the H200' },
} satisfies Partial<DeviceSpec>;
