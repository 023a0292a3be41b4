import type { InstructionClass } from '../../core/counters.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';

/*
 * What the counters cannot say about a kernel's machine code, as constants. Each is a physical argument, not a fit;
 * docs/decisions holds the equations, and the calibration replaces these figures when real runs exist.
 */

/** Lanes of a warp. */
export const LANES_PER_WARP = 32;
/** Bytes of a sector, the unit of L1, L2 and DRAM traffic. */
export const SECTOR_BYTES = 32;

/**
 * Independent instructions between a result and its first use, by class. Compilers interleave about two independent
 * arithmetic chains in unrolled loops and batch about four loads before the first use; shuffles, votes and atomics
 * form chains (each step of a reduction needs the one before).
 */
export const INDEPENDENT_INSTRUCTIONS = { arithmetic: 2, load: 4, chain: 1 } as const;

/**
 * An instruction with at most this many active lanes belongs to a serial walk: one lane steps through elements that a
 * whole warp could have taken side by side, each step needing the one before, so nothing covers its latency.
 */
export const SERIAL_LANES = 4;

/**
 * Machine instructions per PTX instruction of a class that the hardware really issues. ptxas folds moves and
 * parameter loads into operands; half of the predicate and integer work merges (address arithmetic becomes immediate
 * offsets, compare-and-branch pairs fuse into predication, multiply-add chains into IMAD/LEA).
 */
export const MACHINE_INSTRUCTIONS: Partial<Record<InstructionClass, number>> = {
  move: 0.25,
  'constant-load': 0.1,
  integer: 0.7,
  predicate: 0.8,
};

export const machineInstructions = (instructionClass: InstructionClass): number =>
  MACHINE_INSTRUCTIONS[instructionClass] ?? 1;

/**
 * Exponent of the norm that combines resources: 1 would be no overlap at all (times add), infinity perfect overlap
 * (the slowest alone counts). At 4 two equally slow resources cost 19 % more than one, three 32 %.
 */
export const OVERLAP_EXPONENT = 4;

/** Latencies of memory instructions as this launch's access pattern makes them, in clocks. */
export interface MemoryLatencies {
  readonly globalLoad: number;
  readonly sharedLoad: number;
  /** Barrier itself plus the loads that must drain before it. */
  readonly barrier: number;
}

/** Clocks from the issue of an instruction of a class to the first use of its result. */
export function latencyClocks(instructionClass: InstructionClass, memory: MemoryLatencies, spec: DeviceSpec): number {
  const latency = spec.latencyClocks;
  switch (instructionClass) {
    case 'fp32':
    case 'fp16':
    case 'conversion':
      return latency.fp32.value;
    case 'fp64':
      // The unit is shared by the SM's warps: a warp alone waits for its 32 lanes to pass.
      return Math.max(latency.fp32.value, (LANES_PER_WARP * spec.schedulersPerSm.value) / spec.fp64PerClock.value);
    case 'integer':
    case 'move':
    case 'predicate':
    case 'constant-load':
      return latency.integer.value;
    case 'special':
      return latency.special.value;
    case 'tensor':
      // mma.sync m16n8k16 on Ada and Hopper: about the latency of a shared-memory access.
      return latency.shared.value;
    case 'shared-load':
      return memory.sharedLoad;
    case 'global-load':
      return memory.globalLoad;
    case 'local-load':
      return latency.l1.value;
    case 'shuffle':
    case 'vote':
      return latency.shuffle.value;
    case 'atomic':
      return latency.atomic.value;
    case 'barrier':
      return memory.barrier;
    // Stores and copies retire without a consumer: they cost issue and bandwidth only.
    case 'global-store':
    case 'shared-store':
    case 'local-store':
    case 'async-copy':
      return 1;
    case 'control':
      // A taken branch refills the instruction buffer; comparable to two dependent integer instructions.
      return 2 * latency.integer.value;
  }
}

const LOADS: ReadonlySet<InstructionClass> = new Set(['global-load', 'shared-load', 'local-load']);
const CHAINS: ReadonlySet<InstructionClass> = new Set(['shuffle', 'vote', 'atomic', 'barrier', 'control']);

/** Instructions of a class in flight at once in one warp. */
export function independentInstructions(instructionClass: InstructionClass): number {
  if (LOADS.has(instructionClass)) return INDEPENDENT_INSTRUCTIONS.load;
  if (CHAINS.has(instructionClass)) return INDEPENDENT_INSTRUCTIONS.chain;
  return INDEPENDENT_INSTRUCTIONS.arithmetic;
}
