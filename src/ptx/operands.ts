import type { PtxInstruction, PtxOperand } from './ast.ts';

type Leaf = Exclude<PtxOperand, { kind: 'vector' | 'pair' | 'address' }>;

/** A copy of `operand` with each register, immediate, symbol, … inside it replaced. */
export function mapOperand(operand: PtxOperand, replace: (leaf: Leaf) => PtxOperand): PtxOperand {
  const inner = (nested: PtxOperand): PtxOperand => mapOperand(nested, replace);
  switch (operand.kind) {
    case 'vector':
      return { ...operand, elements: operand.elements.map(inner) };
    case 'pair':
      return { ...operand, first: inner(operand.first), second: inner(operand.second) };
    case 'address': {
      const coordinates = operand.coordinates?.map(inner);
      return { ...operand, base: operand.base && inner(operand.base), coordinates };
    }
    default:
      return replace(operand);
  }
}

/** The registers, immediates, symbols, … inside an operand, in the order written. */
export function leavesOf(operand: PtxOperand): Leaf[] {
  switch (operand.kind) {
    case 'vector':
      return operand.elements.flatMap(leavesOf);
    case 'pair':
      return [...leavesOf(operand.first), ...leavesOf(operand.second)];
    case 'address':
      return [...(operand.base ? leavesOf(operand.base) : []), ...(operand.coordinates ?? []).flatMap(leavesOf)];
    default:
      return [operand];
  }
}

/** Appends the registers inside an operand to `registers`. Analyses ask often: no arrays in between. */
export function collectRegisters(operand: PtxOperand, registers: string[]): void {
  switch (operand.kind) {
    case 'register':
      registers.push(operand.name);
      return;
    case 'vector':
      for (const element of operand.elements) collectRegisters(element, registers);
      return;
    case 'pair':
      collectRegisters(operand.first, registers);
      collectRegisters(operand.second, registers);
      return;
    case 'address':
      if (operand.base) collectRegisters(operand.base, registers);
      for (const coordinate of operand.coordinates ?? []) collectRegisters(coordinate, registers);
  }
}

/** The registers inside operands, addresses included, in the order written. */
export function registersOf(operands: readonly PtxOperand[]): string[] {
  const registers: string[] = [];
  for (const operand of operands) collectRegisters(operand, registers);
  return registers;
}

/** Operands of a vector, or the operand itself as the only one. */
export const elementsOf = (operand: PtxOperand): PtxOperand[] =>
  operand.kind === 'vector' ? operand.elements : [operand];

/** A copy of `instruction` with every register (guard included), symbol and label renamed. */
export function renameInstruction(instruction: PtxInstruction, nameOf: (name: string) => string): PtxInstruction {
  const operands = instruction.operands.map((operand) =>
    mapOperand(operand, (leaf) =>
      leaf.kind === 'register' || leaf.kind === 'symbol' || leaf.kind === 'label'
        ? { ...leaf, name: nameOf(leaf.name) }
        : leaf,
    ),
  );
  if (!instruction.guard) return { ...instruction, operands };
  return { ...instruction, operands, guard: { ...instruction.guard, register: nameOf(instruction.guard.register) } };
}
