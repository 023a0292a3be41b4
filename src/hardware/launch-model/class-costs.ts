import type { DeviceSpec } from '../../core/device-spec.ts';
import { LANES_PER_WARP } from '../../core/gpu-sizes.ts';
import type { InstructionClass } from '../../core/vocabulary.ts';
import { BRANCH_CLOCKS, type MachineCode } from './constants.ts';

/** Latencies of memory instructions as this launch's access pattern makes them, in clocks. */
export interface MemoryLatencies {
  readonly globalLoad: number;
  readonly sharedLoad: number;
  /** Barrier itself plus the loads that must drain before it. */
  readonly barrier: number;
}

/** The execution unit that an instruction occupies. Loads and stores count by their traffic instead. */
export type Pipe = 'fp16' | 'fp32' | 'fp64' | 'integer' | 'conversion' | 'special' | 'shuffle' | 'none';

type Latency = (spec: DeviceSpec, memory: MemoryLatencies) => number;

/** Instructions of a class that are in flight at once. */
const COVERS = {
  arithmetic: (code: MachineCode) => code.independentArithmetic,
  sharedLoad: (code: MachineCode) => code.independentSharedLoads,
  exchange: (code: MachineCode) => code.independentExchanges,
  none: () => 1,
} as const;

/** What the time model says of one class of instructions. */
interface ClassCost {
  readonly pipe: Pipe;
  /** Clocks from the issue of an instruction to the first use of its result. */
  readonly latency: Latency;
  /** What covers that latency in one warp. */
  readonly cover: keyof typeof COVERS | 'global-loads';
  /**
   * Machine instructions per PTX instruction. ptxas folds half of the moves and nearly all parameter loads into operands.
   * Elsewhere, instructions that it merges and adds (64-bit addresses) cancel: 0.85 to 1.1 over 32 attention kernels.
   */
  readonly machineInstructions: number;
}

const arithmetic = (spec: DeviceSpec): number => spec.latencyClocks.fp32.value;
const integer: Latency = (spec) => spec.latencyClocks.integer.value;
const exchange: Latency = (spec) => spec.latencyClocks.shuffle.value;
/** Stores and copies retire without a consumer: they cost issue and bandwidth only. */
const retires: Latency = () => 1;

/** Most classes: covered like arithmetic, one machine instruction each. */
const cost = (pipe: Pipe, latency: Latency, differing: Partial<ClassCost> = {}): ClassCost => ({
  pipe,
  latency,
  cover: 'arithmetic',
  machineInstructions: 1,
  ...differing,
});

const COSTS: Readonly<Record<InstructionClass, ClassCost>> = {
  fp16: cost('fp16', arithmetic),
  fp32: cost('fp32', arithmetic),
  // The unit is shared by the SM's warps: a warp alone waits for its 32 lanes to pass.
  fp64: cost('fp64', (spec) =>
    Math.max(arithmetic(spec), (LANES_PER_WARP * spec.schedulersPerSm.value) / spec.fp64PerClock.value),
  ),
  integer: cost('integer', integer),
  conversion: cost('conversion', arithmetic),
  special: cost('special', (spec) => spec.latencyClocks.special.value),
  // mma.sync m16n8k16 on Ada and Hopper: about the latency of a shared-memory access. Its pipe is counted in FLOP.
  tensor: cost('none', (spec) => spec.latencyClocks.shared.value),
  move: cost('none', integer, { machineInstructions: 0.5 }),
  predicate: cost('integer', integer),
  'global-load': cost('none', (_, memory) => memory.globalLoad, { cover: 'global-loads' }),
  'global-store': cost('none', retires),
  'shared-load': cost('none', (_, memory) => memory.sharedLoad, { cover: 'sharedLoad' }),
  'shared-store': cost('none', retires),
  'local-load': cost('none', (spec) => spec.latencyClocks.l1.value),
  'local-store': cost('none', retires),
  'constant-load': cost('none', integer, { machineInstructions: 0.1 }),
  atomic: cost('none', (spec) => spec.latencyClocks.atomic.value, { cover: 'none' }),
  shuffle: cost('shuffle', exchange, { cover: 'exchange' }),
  vote: cost('integer', exchange, { cover: 'exchange' }),
  barrier: cost('none', (_, memory) => memory.barrier, { cover: 'none' }),
  control: cost('none', () => BRANCH_CLOCKS),
  'async-copy': cost('none', retires),
};

export const pipeOf = (instructionClass: InstructionClass): Pipe => COSTS[instructionClass].pipe;

export const machineInstructions = (instructionClass: InstructionClass): number =>
  COSTS[instructionClass].machineInstructions;

/** Clocks from the issue of an instruction of a class to the first use of its result. */
export const latencyClocks = (instructionClass: InstructionClass, memory: MemoryLatencies, spec: DeviceSpec): number =>
  COSTS[instructionClass].latency(spec, memory);

/** Instructions of a class in flight at once in one warp; global loads bring their own figure. */
export function independentInstructions(
  instructionClass: InstructionClass,
  globalLoads: number,
  code: MachineCode,
): number {
  const { cover } = COSTS[instructionClass];
  return cover === 'global-loads' ? globalLoads : COVERS[cover](code);
}
