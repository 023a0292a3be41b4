import type { InstructionClass } from '../../core/vocabulary.ts';
import type { PtxInstruction } from '../ast.ts';

/** A property of an opcode, or a function if it depends on the modifiers (`bar.sync` waits, `bar.arrive` does not). */
export type OrRule<T> = T | ((instruction: PtxInstruction) => T);

/**
 * The operand at one position of an instruction: a register with this many bits (1 for a predicate) or at least this many,
 * a memory address, or a label. An `optional` operand may be missing, with all after it.
 */
export type Place =
  | { is: 'value'; bits: number; orMore?: true; optional?: true }
  | { is: 'address' }
  | { is: 'label' }
  /** Not checked: vectors of many kinds, texture coordinates, … */
  | { is: 'anything'; optional?: true };

/** The operands in written order; undefined if the forms differ too much to be checked. */
export type Signature = (instruction: PtxInstruction) => Place[] | undefined;

/**
 * Where the value of the first operand comes from, which is the destination unless this is `none`. All other registers
 * are read.
 * - `operands`: computed from all others;
 * - `copy`: the second operand, perhaps converted or of another lane;
 * - `choice`: the second or the third operand;
 * - `memory`: memory, or an address from elsewhere;
 * - `accumulator`: itself and the others.
 */
export type Result = 'none' | 'operands' | 'copy' | 'choice' | 'memory' | 'accumulator';

/**
 * How a warp runs it.
 * - `lane`: each lane computes its own result from its own operands;
 * - `access`: each lane loads or stores;
 * - `warp`: the lanes act together, or in turns;
 * - `order`: nothing but its place in the order;
 * - `control`: it ends a basic block, or the run of a warp between two barriers.
 */
export type Runs = 'lane' | 'access' | 'warp' | 'order' | 'control';

/**
 * Who meets here.
 * - `active-lanes`: nobody waits, but lanes see the others that happen to be active;
 * - `warp`: the lanes that a mask names, or all 32;
 * - `warpgroup`: four warps;
 * - `cta`: the threads of a CTA; `cta-arrival`: they are counted and go on;
 * - `cluster`: the threads of a cluster; `cluster-arrival`: they are counted and go on;
 * - `object`: those who arrive at and wait for an mbarrier in shared memory;
 * - `memory`: nobody; it orders accesses to memory.
 */
export type Synchronisation =
  | 'none'
  | 'active-lanes'
  | 'warp'
  | 'warpgroup'
  | 'cta'
  | 'cta-arrival'
  | 'cluster'
  | 'cluster-arrival'
  | 'object'
  | 'memory';

/** Its memory access. `atomic` returns the old value; `reduction` does not. */
export type MemoryAction =
  | 'none'
  | 'load'
  | 'store'
  | 'atomic'
  | 'reduction'
  | 'matrix-load'
  | 'matrix-store'
  | 'matrix'
  | 'texture'
  | 'copy'
  | 'discard'
  | 'hint';

/** Where control goes afterwards. */
export type Control = 'next' | 'branch' | 'switch' | 'call' | 'leave' | 'trap';

/** What ptxas makes of one PTX instruction. */
export interface MachineCode {
  /** Machine instructions that are issued. */
  readonly instructions: number;
  /** Clocks until the result, beyond the latency of the instruction's class. */
  readonly extraClocks: number;
}

/** Everything warpsmith knows about a PTX opcode, except how to execute it. */
export interface InstructionRow {
  readonly class: OrRule<InstructionClass>;
  readonly operands: Signature;
  readonly result: OrRule<Result>;
  readonly runs: OrRule<Runs>;
  readonly synchronises: OrRule<Synchronisation>;
  /** Where a warp meets, the last operand is a mask of its lanes. */
  readonly namesLanes: boolean;
  readonly memory: MemoryAction;
  /** Modifiers name the state space, where it is not the generic one. */
  readonly namesSpace: boolean;
  /** It shows whether an address of shared memory holds the rank of its CTA: by asking, or by what a descriptor is made of. */
  readonly showsRanks: boolean;
  readonly control: Control;
  /** Of whole numbers, it is a sum or a product of its operands, or a copy. */
  readonly isSumOrProduct: boolean;
  /** Floating-point operations per element when the type is a floating-point one; `matrix`: by the shape. */
  readonly flop: number | 'matrix';
  /** What its forms become that are not one machine instruction; undefined for the others. */
  readonly expansion: (instruction: PtxInstruction) => MachineCode | undefined;
}
