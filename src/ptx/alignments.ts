import type { PtxInstruction, PtxOperand } from './ast.ts';
import { definitionsAndUses } from './instructions/properties.ts';

/** No access of a lane is wider. */
const WIDEST_BYTES = 16;

/** The largest power of two, at most 16, that divides a register's value, as far as its arithmetic tells. */
export type Alignments = (register: string) => number;

/**
 * What the values of a function's registers are multiples of. Registers with several writers, as in loops, have the least of them.
 * ptxas places variables of shared memory itself, so their addresses are multiples of 16.
 */
export function alignmentsOf(instructions: readonly PtxInstruction[]): Alignments {
  const known = new Map<string, number>();
  const of = (register: string): number => known.get(register) ?? WIDEST_BYTES;
  // Values only fall, from the most that is possible, so this ends.
  for (let changed = true; changed; ) {
    changed = false;
    for (const instruction of instructions)
      for (const name of definitionsAndUses(instruction).definitions) {
        const alignment = Math.min(of(name), alignmentOfResult(instruction, of));
        if (alignment === of(name) && known.has(name)) continue;
        known.set(name, alignment);
        changed = true;
      }
  }
  return (register) => known.get(register) ?? 1;
}

/** Of a number: 16 of zero. */
function divisor(value: bigint): number {
  const low = value & -value;
  return low === 0n || low >= WIDEST_BYTES ? WIDEST_BYTES : Number(low);
}

function alignmentOfOperand(operand: PtxOperand | undefined, of: Alignments): number {
  if (operand?.kind === 'register') return of(operand.name);
  if (operand?.kind === 'immediate') return divisor(operand.value);
  return operand?.kind === 'symbol' ? divisor(BigInt(operand.offset)) : 1;
}

function alignmentOfResult(instruction: PtxInstruction, of: Alignments): number {
  const { opcode, operands, modifiers } = instruction;
  const [, a, b, c] = operands.map((operand) => alignmentOfOperand(operand, of));
  const least = (...values: (number | undefined)[]): number => Math.min(...values.map((value) => value ?? 1));
  const product = Math.min(WIDEST_BYTES, (a ?? 1) * (b ?? 1));
  if (modifiers.some((modifier) => /^b?f\d/.test(modifier)) || modifiers.includes('hi')) return 1;
  switch (opcode) {
    case 'mov':
    case 'cvt':
    case 'cvta':
      return a ?? 1;
    case 'add':
    case 'sub':
    case 'or':
    case 'xor':
    case 'selp':
      return least(a, b);
    case 'and':
      return Math.max(a ?? 1, b ?? 1);
    case 'shl':
      return shifted(a ?? 1, operands[2]);
    case 'mul':
      return product;
    case 'mad':
      return least(product, c);
    default:
      return 1;
  }
}

const shifted = (alignment: number, by: PtxOperand | undefined): number =>
  by?.kind === 'immediate' ? Math.min(WIDEST_BYTES, alignment * 2 ** Math.min(4, Number(by.value))) : alignment;
