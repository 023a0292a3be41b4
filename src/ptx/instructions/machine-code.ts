/** What ptxas makes of PTX instructions, as far as the registers of a kernel depend on it. */
import type { InstructionClass } from '../../core/vocabulary.ts';
import type { PtxInstruction } from '../ast.ts';
import { lastModifier } from '../instruction-parts.ts';
import { bitsOfPtxType } from '../types.ts';
import { expansionOf, instructionClass, resultOf, synchronisationOf } from './properties.ts';
import type { MachineCode } from './row.ts';

const FLOAT = /^b?f(?:16|32|64)/;

/** A copy, perhaps from the generic address space into another. */
export const isMove = (instruction: PtxInstruction): boolean =>
  instructionClass(instruction) === 'move' && resultOf(instruction) === 'copy' && instruction.operands.length === 2;

/** A constant, or the address of a variable: machine instructions take it as it is. */
export const isConstant = (instruction: PtxInstruction): boolean =>
  isMove(instruction) && ['immediate', 'symbol'].includes(instruction.operands[1]?.kind ?? '');

/** From an unsigned integer: if the result is wider, its upper half is zero. */
export const isUnsignedConversion = (instruction: PtxInstruction): boolean =>
  resultOf(instruction) === 'copy' && instruction.modifiers.length === 2 && /^u/.test(instruction.modifiers[1]!);

/** An integer addition that may be a part of an address. */
export const isIntegerSum = (instruction: PtxInstruction): boolean =>
  instruction.opcode === 'add' &&
  !instruction.guard &&
  !FLOAT.test(lastModifier(instruction)) &&
  bitsOfPtxType(lastModifier(instruction)) >= 32;

/** Whether two values differ. */
export const isInequality = (instruction: PtxInstruction): boolean =>
  instructionClass(instruction) === 'predicate' && instruction.modifiers[0] === 'ne';

/** Adds to accumulators, unless a predicate says that they start at zero. */
export const mayStartAtZero = (instruction: PtxInstruction): boolean =>
  synchronisationOf(instruction) === 'warpgroup' && resultOf(instruction) === 'accumulator';

const UNIFORM: ReadonlySet<InstructionClass | undefined> = new Set(['integer', 'move', 'conversion', 'predicate']);

/**
 * Integer arithmetic that one unit does for a whole warp, if all its operands are the same on all lanes. Source: CUDA binary
 * utilities, the uniform data path from Turing on (UIADD3, UIMAD, ULOP3, USHF, …).
 */
export const hasUniformForm = (instruction: PtxInstruction): boolean =>
  UNIFORM.has(instructionClass(instruction)) && !instruction.modifiers.some((modifier) => FLOAT.test(modifier));

/** Differs between threads of a CTA. */
const PER_THREAD = /^%(?:tid|laneid|warpid|clock|globaltimer)/;
export const isPerThread = (specialRegister: string): boolean => PER_THREAD.test(specialRegister);

/** Of the routine that ptxas calls for hard operands of exact divisions and roots. Set on half of docs/results/registers.json. */
const ROUTINE_REGISTERS = 8;

/** Registers that the machine code of an instruction needs for itself. */
export const scratchRegisters = (instruction: PtxInstruction): number =>
  instructionClass(instruction) === 'special' && instruction.modifiers.includes('rn') ? ROUTINE_REGISTERS : 0;

/** How many machine instructions ptxas makes of a PTX instruction, and what that adds to its latency. */
export function machineCodeOf(instruction: PtxInstruction): MachineCode {
  const kind = instructionClass(instruction) ?? 'move';
  return FOLDED[kind] ?? expansionOf(instruction) ?? AS_IT_IS;
}

const AS_IT_IS: MachineCode = { instructions: 1, extraClocks: 0 };
/** It folds half of the copies and nearly all parameters into operands. */
const FOLDED: Partial<Record<InstructionClass, MachineCode>> = {
  move: { instructions: 0.5, extraClocks: 0 },
  'constant-load': { instructions: 0.1, extraClocks: 0 },
};
