import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import type { FunctionBuilder, Local } from '../../wasm/function-builder.ts';
import type { BlockFrame } from '../block-frame.ts';
import type { HelperName } from './helpers.ts';

/** A lane-wise instruction waiting for its chunk loop, with the scalar locals its uniform operands are in. */
export interface PendingInstruction {
  instruction: PtxInstruction;
  uniforms: ReadonlyMap<string, Local>;
}

/**
 * What an emitter of a lane-wise instruction sees. Code runs on one chunk (four lanes) at a time: a word
 * operand is one v128, a double word is two (`part` 0 and 1, two lanes each), a predicate is a mask of −1 and 0.
 * Values of 8- and 16-bit types are held zero-extended.
 */
export interface LaneContext {
  readonly b: FunctionBuilder;
  readonly instruction: PtxInstruction;
  /** Pushes operand `index` as four 32-bit lanes. */
  word(index: number): void;
  /** Pushes two 64-bit lanes of operand `index`. */
  part(index: number, part: 0 | 1): void;
  /** Pushes the lane mask of a predicate operand (a `!`-negated one inverted). */
  predicate(index: number): void;
  /** Pops the result into destination `index` (0 unless the instruction has several). */
  setWord(index?: number): void;
  setPart(part: 0 | 1, index?: number): void;
  setPredicate(index?: number): void;
  /** Numeric value of an immediate operand, sign-extended to its own width. */
  immediate(index: number): number | undefined;
  /** True when the operand has one value for the whole warp and can be pushed as an i32 by `scalar`. */
  isScalar(index: number): boolean;
  scalar(index: number): void;
  /** A v128 local, free for use within this instruction. */
  temporary(slot: number): Local;
  helper(name: HelperName): void;
}

export type LaneEmitter = (context: LaneContext) => void;

export const PARTS = [0, 1] as const;
export type Part = (typeof PARTS)[number];

/** Pushes these word operands; what follows is written behind them. */
export function words(e: LaneContext, ...indices: readonly number[]): FunctionBuilder {
  for (const index of indices) e.word(index);
  return e.b;
}

/** Pushes two 64-bit lanes of each of these operands. */
export function parts(e: LaneContext, part: Part, ...indices: readonly number[]): FunctionBuilder {
  for (const index of indices) e.part(index, part);
  return e.b;
}

/** Pushes the predicate operands' masks. */
export function predicates(e: LaneContext, ...indices: readonly number[]): FunctionBuilder {
  for (const index of indices) e.predicate(index);
  return e.b;
}

/** The emitter that stores the four words which `push` leaves on the stack. */
export const toWord =
  (push: (e: LaneContext) => unknown): LaneEmitter =>
  (e) => {
    push(e);
    e.setWord();
  };

/** The same of 64-bit lanes, two at a time. */
export const toParts =
  (push: (e: LaneContext, part: Part) => unknown): LaneEmitter =>
  (e) => {
    for (const part of PARTS) {
      push(e, part);
      e.setPart(part);
    }
  };

/** The same of a mask. */
export const toPredicate =
  (push: (e: LaneContext) => unknown): LaneEmitter =>
  (e) => {
    push(e);
    e.setPredicate();
  };

/** What loads and stores see of the chunk loop they are in. */
export interface Segment {
  readonly frame: BlockFrame;
  /** Mask local that applies to the current instruction; undefined when all lanes take part. */
  readonly activeMask: Local | undefined;
  /** Pushes any operand of an instruction as four 32-bit lanes. */
  pushWord(operand: PtxOperand, pending: PendingInstruction): void;
  /** Pushes two 64-bit lanes of it. */
  pushPart(operand: PtxOperand, part: 0 | 1, pending: PendingInstruction): void;
}
