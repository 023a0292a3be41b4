/** What the PTX parser makes. Names follow the PTX ISA. */
import type { SourceLocation } from '../core/compiled-code.ts';
import type { SourcePlace } from './source-locations.ts';

/** `b8 … u64 f16 bf16 f16x2 bf16x2 f32 f64 pred`, without the dot. */
export type PtxType = string;
export type StateSpace = 'global' | 'shared' | 'local' | 'const' | 'param' | 'reg' | 'generic';

export type PtxOperand =
  /** `negated` is `!%p`, a negated predicate source. */
  | { kind: 'register'; name: string; negated?: true }
  /** `value` is the two's-complement integer, or the bit pattern of a float literal. */
  | { kind: 'immediate'; type: 'integer' | 'f32-bits' | 'f64-bits'; value: bigint }
  /** `[base + offset]`; base null is an absolute address. `coordinates` are a tensor copy's: `[map, {x, y}]`. */
  | { kind: 'address'; base: PtxOperand | null; offset: number; coordinates?: PtxOperand[] }
  | { kind: 'vector'; elements: PtxOperand[] }
  /** A variable, function or parameter name. */
  | { kind: 'symbol'; name: string; offset: number }
  | { kind: 'label'; name: string }
  /** `%tid.x`, `%laneid`, …, with the percent sign. */
  | { kind: 'special'; name: string }
  /** `%p1|%p2`: the second destination. */
  | { kind: 'pair'; first: PtxOperand; second: PtxOperand }
  /** The sink `_`. */
  | { kind: 'sink' };

export interface PtxGuard {
  register: string;
  negated: boolean;
}

export interface PtxInstruction {
  /** First part of the opcode, e.g. `ld`. */
  opcode: string;
  /** The others, in order, e.g. `['global', 'nc', 'v4', 'f32']`. */
  modifiers: string[];
  /** The whole opcode as written, e.g. `ld.global.nc.v4.f32`. */
  text: string;
  guard?: PtxGuard;
  /**
   * In the order written. `call`: results (vector), callee, arguments (vector), then the prototype if indirect.
   * `brx.idx`: the index, then the labels of its table (vector).
   */
  operands: PtxOperand[];
  /** Line in the PTX, from 1. */
  ptxLine: number;
  /** User's source, from .loc; the outermost call site when inlined from a header. */
  source?: SourceLocation;
  /** `source`, and how the compiler came to it. */
  place?: SourcePlace;
  /**
   * If a rewriting replaced one instruction by several: the original for the first of them, null for the others. Counters
   * count it instead.
   */
  countedAs?: PtxInstruction | null;
}

export interface PtxVariable {
  name: string;
  /** `param`: a variable that passes arguments of a call; none is left after inlining. */
  space: 'global' | 'shared' | 'const' | 'local' | 'param';
  type: PtxType;
  /** Total; 0 for `extern .shared x[]`. */
  sizeBytes: number;
  alignmentBytes: number;
  external: boolean;
  /** Initial contents, padded with zeros to sizeBytes; absent = zeros. Relocations give symbol + addend. */
  initialBytes?: Uint8Array;
  relocations?: { offset: number; symbol: string; addend: number; sizeBytes: number; generic: boolean }[];
}

export interface PtxParameter {
  name: string;
  type: PtxType;
  sizeBytes: number;
  alignmentBytes: number;
  /** Byte offset in the parameter block. */
  offset: number;
}

export type PtxStatement = { kind: 'label'; name: string } | { kind: 'instruction'; instruction: PtxInstruction };

export interface PtxFunction {
  name: string;
  kind: 'entry' | 'func';
  parameters: PtxParameter[];
  returns: PtxParameter[];
  /** Register name → type. */
  registers: Map<string, PtxType>;
  /** .local and .shared variables declared in the body, and .param ones for calls. */
  variables: PtxVariable[];
  body: PtxStatement[];
  maxThreads?: readonly [number, number, number];
  requiredThreads?: readonly [number, number, number];
  minCtasPerSm?: number;
  /** `.maxnreg`: the most 32-bit registers per thread. */
  maxRegisters?: number;
  /** `.reqnctapercluster`: CTAs per cluster. */
  requiredCluster?: readonly [number, number, number];
  /** False for a declaration only (`.extern .func`). */
  defined: boolean;
}

export interface PtxModule {
  version: string;
  target: string;
  addressSize: 32 | 64;
  variables: PtxVariable[];
  functions: PtxFunction[];
}

/** A straight line of instructions. The last one may be a branch, `ret`, `exit` or `trap`. */
export interface BasicBlock {
  index: number;
  labels: string[];
  instructions: PtxInstruction[];
  /** Indices of the blocks control may go to; for a conditional branch [taken, fall-through]. */
  successors: number[];
  predecessors: number[];
}

/** Blocks in an order in which the lowest index of diverged lanes reaches reconvergence points last. */
export interface ControlFlowGraph {
  blocks: BasicBlock[];
  /** Immediate post-dominator of each block; -1 = the exit. */
  immediatePostDominators: number[];
  /** True for an edge target that closes a loop. */
  loopHeaders: Set<number>;
}
