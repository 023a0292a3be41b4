import type { InstructionClass } from '../../core/counters.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import { INDEPENDENT_INSTRUCTIONS, LANES_PER_WARP } from './constants.ts';

/** Latencies of memory instructions as this launch's access pattern makes them, in clocks. */
export interface MemoryLatencies {
  readonly globalLoad: number;
  readonly sharedLoad: number;
  /** Barrier itself plus the loads that must drain before it. */
  readonly barrier: number;
}

/** The execution unit an instruction keeps busy; loads and stores are counted by what they move instead. */
export type Pipe = 'fp16' | 'fp32' | 'fp64' | 'integer' | 'conversion' | 'special' | 'shuffle' | 'none';

type Latency = (spec: DeviceSpec, memory: MemoryLatencies) => number;

/** What the time model says of one class of instructions. */
interface ClassCost {
  readonly pipe: Pipe;
  /** Clocks from the issue of an instruction to the first use of its result. */
  readonly latency: Latency;
  /** What covers that latency in one warp. */
  readonly cover: keyof typeof INDEPENDENT_INSTRUCTIONS | 'global-loads';
  /**
   * Machine instructions per PTX instruction. ptxas folds half of the moves and nearly all parameter loads into
   * operands; elsewhere what it merges and what it adds (64-bit addresses) cancel: 0.85 to 1.1 over 32 attention
   * kernels.
   */
  readonly machineInstructions: number;
}

const arithmetic: Latency = (spec) => spec.latencyClocks.fp32.value;
const integer: Latency = (spec) => spec.latencyClocks.integer.value;
const exchange: Latency = (spec) => spec.latencyClocks.shuffle.value;
/** Stores and copies retire without a consumer: they cost issue and bandwidth only. */
const retires: Latency = () => 1;

const COSTS: Readonly<Record<InstructionClass, ClassCost>> = {
  fp16: { pipe: 'fp16', latency: arithmetic, cover: 'arithmetic', machineInstructions: 1 },
  fp32: { pipe: 'fp32', latency: arithmetic, cover: 'arithmetic', machineInstructions: 1 },
  fp64: {
    pipe: 'fp64',
    // The unit is shared by the SM's warps: a warp alone waits for its 32 lanes to pass.
    latency: (spec) =>
      Math.max(spec.latencyClocks.fp32.value, (LANES_PER_WARP * spec.schedulersPerSm.value) / spec.fp64PerClock.value),
    cover: 'arithmetic',
    machineInstructions: 1,
  },
  integer: { pipe: 'integer', latency: integer, cover: 'arithmetic', machineInstructions: 1 },
  conversion: { pipe: 'conversion', latency: arithmetic, cover: 'arithmetic', machineInstructions: 1 },
  special: {
    pipe: 'special',
    latency: (spec) => spec.latencyClocks.special.value,
    cover: 'arithmetic',
    machineInstructions: 1,
  },
  // mma.sync m16n8k16 on Ada and Hopper: about the latency of a shared-memory access. Its pipe is counted in FLOP.
  tensor: {
    pipe: 'none',
    latency: (spec) => spec.latencyClocks.shared.value,
    cover: 'arithmetic',
    machineInstructions: 1,
  },
  move: { pipe: 'none', latency: integer, cover: 'arithmetic', machineInstructions: 0.5 },
  predicate: { pipe: 'integer', latency: integer, cover: 'arithmetic', machineInstructions: 1 },
  'global-load': {
    pipe: 'none',
    latency: (_, memory) => memory.globalLoad,
    cover: 'global-loads',
    machineInstructions: 1,
  },
  'global-store': { pipe: 'none', latency: retires, cover: 'arithmetic', machineInstructions: 1 },
  'shared-load': {
    pipe: 'none',
    latency: (_, memory) => memory.sharedLoad,
    cover: 'sharedLoad',
    machineInstructions: 1,
  },
  'shared-store': { pipe: 'none', latency: retires, cover: 'arithmetic', machineInstructions: 1 },
  'local-load': {
    pipe: 'none',
    latency: (spec) => spec.latencyClocks.l1.value,
    cover: 'arithmetic',
    machineInstructions: 1,
  },
  'local-store': { pipe: 'none', latency: retires, cover: 'arithmetic', machineInstructions: 1 },
  'constant-load': { pipe: 'none', latency: integer, cover: 'arithmetic', machineInstructions: 0.1 },
  atomic: { pipe: 'none', latency: (spec) => spec.latencyClocks.atomic.value, cover: 'none', machineInstructions: 1 },
  shuffle: { pipe: 'shuffle', latency: exchange, cover: 'exchange', machineInstructions: 1 },
  vote: { pipe: 'integer', latency: exchange, cover: 'exchange', machineInstructions: 1 },
  barrier: { pipe: 'none', latency: (_, memory) => memory.barrier, cover: 'none', machineInstructions: 1 },
  control: { pipe: 'none', latency: integer, cover: 'arithmetic', machineInstructions: 1 },
  'async-copy': { pipe: 'none', latency: retires, cover: 'arithmetic', machineInstructions: 1 },
};

export const pipeOf = (instructionClass: InstructionClass): Pipe => COSTS[instructionClass].pipe;

export const machineInstructions = (instructionClass: InstructionClass): number =>
  COSTS[instructionClass].machineInstructions;

/** Clocks from the issue of an instruction of a class to the first use of its result. */
export const latencyClocks = (instructionClass: InstructionClass, memory: MemoryLatencies, spec: DeviceSpec): number =>
  COSTS[instructionClass].latency(spec, memory);

/** Instructions of a class in flight at once in one warp; global loads bring their own figure. */
export const independentInstructions = (instructionClass: InstructionClass, globalLoads: number): number => {
  const { cover } = COSTS[instructionClass];
  return cover === 'global-loads' ? globalLoads : INDEPENDENT_INSTRUCTIONS[cover];
};
