import type { PtxInstruction, PtxOperand } from '../../../src/ptx/ast.ts';
import { resultOf } from '../../../src/ptx/instructions/properties.ts';
import { sizeOfPtxType } from '../../../src/ptx/types.ts';
import { decode, encode, type FloatType, isFloatType } from './formats.ts';

/** Architectural state of one thread. Register values are unsigned; a predicate is 0 or 1. */
export interface LaneState {
  registers: Map<string, bigint>;
  /** The condition code CC.CF of extended-precision arithmetic. */
  carry: bigint;
}

/** Registers' declared types, by name. */
export type RegisterTypes = ReadonlyMap<string, string>;

export const bitsOfType = (type: string): number => (type === 'pred' ? 1 : sizeOfPtxType(type) * 8);

/** What an operation sees of its instruction and lane. */
export interface LaneInputs {
  readonly instruction: PtxInstruction;
  /** Last modifier: the type of the operation. */
  readonly type: string;
  has(modifier: string): boolean;
  /** Operand `index` (0 is the destination) as an unsigned value of `type` (the operation's by default). */
  unsigned(index: number, type?: string): bigint;
  /** The same read as two's complement. */
  signed(index: number, type?: string): bigint;
  /** By the signedness of `type`. */
  integer(index: number, type?: string): bigint;
  predicate(index: number): boolean;
  /** Elements of a vector source, unsigned, each as wide as its register; a scalar is one element. */
  elements(index: number): { value: bigint; bits: number }[];
  /** Widths of the destinations, in bits. */
  readonly destinationBits: readonly number[];
  carry: bigint;
}

/** Values for the destinations, in order; each is cut to its register's width. `undefined`: the ISA gives none. */
export type Results = readonly (bigint | undefined)[];
export type LaneOperation = (inputs: LaneInputs) => Results;

export const isSigned = (type: string): boolean => type.startsWith('s');

export function operandLeaves(operand: PtxOperand): PtxOperand[] {
  if (operand.kind === 'vector') return operand.elements.flatMap(operandLeaves);
  if (operand.kind === 'pair') return [...operandLeaves(operand.first), ...operandLeaves(operand.second)];
  return [operand];
}

/** Raw value of a register or immediate, as wide as it is stored. */
function rawValue(operand: PtxOperand, state: LaneState, type: string): bigint {
  if (operand.kind === 'register') {
    const value = state.registers.get(operand.name);
    if (value === undefined) throw new Error(`${operand.name} is read before it is written`);
    return operand.negated ? 1n - value : value;
  }
  if (operand.kind !== 'immediate') throw new Error(`the interpreter has no value for a ${operand.kind}`);
  return operand.type === 'f64-bits' && isFloatType(type) && type !== 'f64'
    ? encode(type as FloatType, decode('f64', operand.value), 'rn')
    : operand.value;
}

export function inputsOf(instruction: PtxInstruction, types: RegisterTypes, state: LaneState): LaneInputs {
  const type = instruction.modifiers.at(-1) ?? '';
  const operand = (index: number): PtxOperand => {
    const found = instruction.operands[index];
    if (!found) throw new Error(`${instruction.text} has no operand ${index}`);
    return found;
  };
  const unsigned = (index: number, as: string = type): bigint =>
    BigInt.asUintN(bitsOfType(as), rawValue(operand(index), state, as));
  const signed = (index: number, as: string = type): bigint => BigInt.asIntN(bitsOfType(as), unsigned(index, as));
  const bitsOf = (leaf: PtxOperand): number => (leaf.kind === 'register' ? bitsOfType(types.get(leaf.name)!) : 32);
  return {
    instruction,
    type,
    has: (modifier) => instruction.modifiers.includes(modifier),
    unsigned,
    signed,
    integer: (index, as = type) => (isSigned(as) ? signed(index, as) : unsigned(index, as)),
    predicate: (index) => rawValue(operand(index), state, 'pred') !== 0n,
    elements: (index) =>
      operandLeaves(operand(index)).map((leaf) => ({ value: rawValue(leaf, state, type), bits: bitsOf(leaf) })),
    destinationBits: destinationWidths(instruction, bitsOf),
    carry: state.carry,
  };
}

/** The sink `_` is as wide as the elements beside it. */
function destinationWidths(instruction: PtxInstruction, bitsOf: (leaf: PtxOperand) => number): number[] {
  const first = instruction.operands[0];
  if (!first) return [];
  const leaves = operandLeaves(first);
  const beside = leaves.find((leaf) => leaf.kind === 'register');
  return leaves.map((leaf) => bitsOf(leaf.kind === 'sink' && beside ? beside : leaf));
}

/** Writes an operation's results; a register without a defined value is removed. @throws when the counts differ: a bug of the operation. */
export function writeResults(
  instruction: PtxInstruction,
  types: RegisterTypes,
  state: LaneState,
  results: Results,
): void {
  if (resultOf(instruction) === 'none') throw new Error(`${instruction.text} writes no register`);
  const destinations = operandLeaves(instruction.operands[0]!);
  if (destinations.length !== results.length) {
    throw new Error(`${instruction.text} has ${destinations.length} destinations, got ${results.length} results`);
  }
  destinations.forEach((destination, i) => {
    if (destination.kind === 'sink') return;
    if (destination.kind !== 'register') throw new Error('a destination is a register');
    const result = results[i];
    if (result === undefined) state.registers.delete(destination.name);
    else state.registers.set(destination.name, BigInt.asUintN(bitsOfType(types.get(destination.name)!), result));
  });
}

/** True when the guard lets the lane execute. */
export function passesGuard(instruction: PtxInstruction, state: LaneState): boolean {
  const { guard } = instruction;
  if (!guard) return true;
  return (state.registers.get(guard.register) === 1n) !== guard.negated;
}
