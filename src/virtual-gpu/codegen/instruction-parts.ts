import type { PtxInstruction, PtxOperand, StateSpace } from '../../ptx/ast.ts';
import { isType } from './types.ts';

const SPACES: ReadonlySet<string> = new Set(['global', 'shared', 'local', 'const', 'param']);

/** State space of a load, store or atomic; `generic` when the opcode names none. */
export function spaceOf(instruction: PtxInstruction): StateSpace {
  for (const modifier of instruction.modifiers) {
    const base = modifier.split('::')[0]!;
    if (SPACES.has(base)) return base as StateSpace;
  }
  return 'generic';
}

/** The type modifiers, in order. */
export const typesOf = (instruction: PtxInstruction): string[] => instruction.modifiers.filter(isType);

/** The last type modifier, which is the operand type of all but `cvt`-like instructions. */
export function typeOf(instruction: PtxInstruction): string {
  const type = typesOf(instruction).at(-1);
  if (type === undefined) throw new Error(`${instruction.text} has no type`);
  return type;
}

/** 1, 2, 4 or 8 elements of a vector load or store. */
export function vectorLength(instruction: PtxInstruction): number {
  for (const modifier of instruction.modifiers) {
    if (/^v[248]$/.test(modifier)) return Number(modifier.slice(1));
  }
  return 1;
}

export const has = (instruction: PtxInstruction, modifier: string): boolean => instruction.modifiers.includes(modifier);

/** Operands of a vector, or the operand itself as the only one. */
export const elementsOf = (operand: PtxOperand): PtxOperand[] =>
  operand.kind === 'vector' ? operand.elements : [operand];

/** Registers named by an operand, addresses and vectors included. */
export function registersIn(operand: PtxOperand): string[] {
  switch (operand.kind) {
    case 'register':
      return [operand.name];
    case 'address':
      return operand.base ? registersIn(operand.base) : [];
    case 'vector':
      return operand.elements.flatMap(registersIn);
    case 'pair':
      return [...registersIn(operand.first), ...registersIn(operand.second)];
    default:
      return [];
  }
}

/** Registers a lane-wise instruction writes. */
export function destinationsOf(instruction: PtxInstruction): string[] {
  if (instruction.opcode === 'st') return [];
  const first = instruction.operands[0];
  if (!first) return [];
  const leaves = first.kind === 'pair' ? [first.first, first.second] : elementsOf(first);
  return leaves.flatMap((leaf) => (leaf.kind === 'register' ? [leaf.name] : []));
}
