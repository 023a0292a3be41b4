import type { SourceLocation } from './compiled-code.ts';
import type { Dim3 } from './launch-plan.ts';

/** Classes of warp instructions; every PTX instruction belongs to exactly one. */
export const INSTRUCTION_CLASSES = [
  'fp16',
  'fp32',
  'fp64',
  'integer',
  'conversion',
  'special',
  'tensor',
  'move',
  'predicate',
  'global-load',
  'global-store',
  'shared-load',
  'shared-store',
  'local-load',
  'local-store',
  'constant-load',
  'atomic',
  'shuffle',
  'vote',
  'barrier',
  'control',
  'async-copy',
] as const;
export type InstructionClass = (typeof INSTRUCTION_CLASSES)[number];

/** Exact sums over a launch. Requests and instructions are per warp; sectors are 32 bytes. */
export interface CounterTotals {
  /** Warp instructions issued with at least one active lane. */
  instructions: number;
  /** The same, weighted with the number of active lanes. */
  threadInstructions: number;
  instructionsByClass: Record<InstructionClass, number>;
  /** Lane-level floating-point operations; a fused multiply-add is two. */
  flop: { fp16: number; fp32: number; fp64: number; tensor: number };
  globalLoadRequests: number;
  globalLoadSectors: number;
  /** Bytes the active lanes asked for. */
  globalLoadBytes: number;
  globalStoreRequests: number;
  globalStoreSectors: number;
  globalStoreBytes: number;
  localLoadRequests: number;
  localStoreRequests: number;
  sharedLoadRequests: number;
  sharedLoadWavefronts: number;
  /** Wavefronts beyond the least this access width needs. */
  sharedLoadBankConflicts: number;
  sharedStoreRequests: number;
  sharedStoreWavefronts: number;
  sharedStoreBankConflicts: number;
  barriers: number;
  globalAtomicRequests: number;
  sharedAtomicRequests: number;
  branches: number;
  /** Branches on which the active lanes parted. */
  divergentBranches: number;
}

/** Counters of the instructions that came from one source line. */
export interface LineCounters {
  location: SourceLocation;
  instructions: number;
  threadInstructions: number;
  globalLoadRequests: number;
  globalLoadSectors: number;
  globalStoreRequests: number;
  globalStoreSectors: number;
  sharedLoadRequests: number;
  sharedLoadWavefronts: number;
  sharedStoreRequests: number;
  sharedStoreWavefronts: number;
  bankConflicts: number;
  barriers: number;
  atomics: number;
  divergentBranches: number;
}

/** Resources of one CTA of a function. Estimated from PTX, unless a real compiler reported them. */
export interface KernelResources {
  registersPerThread: number;
  registersSource: 'estimated' | 'compiler';
  staticSharedBytes: number;
  dynamicSharedBytes: number;
  localBytesPerThread: number;
}

/** Theoretical occupancy of one function on one device. */
export interface Occupancy {
  ctasPerSm: number;
  warpsPerSm: number;
  maximumWarpsPerSm: number;
  /** warpsPerSm ÷ maximumWarpsPerSm. */
  ratio: number;
  limiter: 'warps' | 'registers' | 'shared-memory' | 'ctas';
  kind: 'theoretical';
}

/**
 * Traffic beyond L2, from a simulation of a sample of its sets. **Sampled**: an estimate for predictions and findings,
 * never part of a verification.
 */
export interface SampledCache {
  /** Share of the L2 sets that were simulated, e.g. 0.0625. */
  sampledRatio: number;
  /** Distinct lines of 128 bytes that the launch touched in these sets. */
  sampledLines: number;
  /** Contents of L2 before the sequence. `cold`: none of its data; `hot`: the data that the same sequence leaves. */
  start: 'hot' | 'cold';
  /** Bytes that L2 reads from DRAM. */
  dramReadBytes: number;
  /** Bytes that L2 writes back to DRAM. */
  dramWriteBytes: number;
}

/** Why warps wait, as Nsight Compute calls it. */
export const STALL_REASONS = [
  'long_scoreboard',
  'short_scoreboard',
  'barrier',
  'membar',
  'sleeping',
  'gmma',
  'math_pipe_throttle',
] as const;
export type StallReason = (typeof STALL_REASONS)[number];

/** What only a profiler of a real GPU sees. Each part is absent where it was not measured. */
export interface LaunchActivity {
  /** Share of the SMs' active time in which the tensor pipe was busy, 0…1. */
  tensorPipeRatio?: number;
  /** Share of a warp's time, from one instruction to its next, that it waits; by reason, 0…1. */
  stallRatios?: Partial<Record<StallReason, number>>;
}

export interface LaunchCounters extends CounterTotals {
  functionName: string;
  grid: Dim3;
  block: Dim3;
  ctaCount: number;
  /** Counted CTAs. If fewer than `ctaCount`, sums are scaled up, and the output says so. */
  countedCtas: number;
  resources: KernelResources;
  /** Instructions with exactly n active lanes, n = 0…32. */
  activeLaneHistogram: number[];
  /**
   * Warp instructions on the critical path of one CTA: the sum over barrier-delimited phases of the busiest
   * warp's instructions, averaged over CTAs. instructions ÷ (CTAs × warps × this) says how balanced warps are.
   */
  criticalPathInstructions: number;
  /** Warp instructions, loads and barriers of the longest-running CTA, for the tail of the last wave. */
  longestCtaInstructions: number;
  /** Distinct sectors touched, the least DRAM traffic a cold cache allows. Estimate when CTAs were sampled. */
  distinctSectorsRead: number;
  distinctSectorsWritten: number;
  /** Absent if nothing was simulated: with a sample of the CTAs, a profile of a real GPU, or too few lines. */
  sampledCache?: SampledCache;
  /** Absent on virtual GPUs. */
  activity?: LaunchActivity;
  lines: LineCounters[];
}

/** Sum over the launches of a sequence, beside the launches themselves. */
export interface Counters extends CounterTotals {
  totals: CounterTotals;
  launches: LaunchCounters[];
}
