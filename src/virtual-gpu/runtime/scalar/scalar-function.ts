import type { PtxInstruction } from '../../../ptx/ast.ts';
import { bitsOfPtxType, isSigned } from '../../../ptx/types.ts';

/** Reads one lane's operands. Index 1 is the first source; index 0 the destination. */
export interface LaneOperands {
  /** Unsigned, cut to the width of `type`. */
  unsigned(index: number, type: string): bigint;
  predicate(index: number): boolean;
}

/** Computes one lane's results; a predicate result is 0 or 1. Values may be signed: registers take their low bits. */
export type ScalarFunction = (operands: LaneOperands) => bigint[];

/** Chooses the function of an instruction once, before it runs for any lane; undefined when there is none. */
export type ScalarCompiler = (instruction: PtxInstruction) => ScalarFunction | undefined;

/** Operand `index` as an integer of `type`. */
export function integerOperand(operands: LaneOperands, index: number, type: string): bigint {
  const value = operands.unsigned(index, type);
  return isSigned(type) ? BigInt.asIntN(bitsOfPtxType(type), value) : value;
}

/** Nearest value an integer type can hold. */
export function clampToType(value: bigint, type: string): bigint {
  const bits = BigInt(bitsOfPtxType(type));
  const low = isSigned(type) ? -(1n << (bits - 1n)) : 0n;
  const high = isSigned(type) ? (1n << (bits - 1n)) - 1n : (1n << bits) - 1n;
  return value < low ? low : value > high ? high : value;
}
