import type { PtxInstruction, PtxOperand } from './ast.ts';

/** Opcodes that write no register at all, whatever their modifiers. */
const WITHOUT_RESULT: ReadonlySet<string> = new Set([
  'st',
  'bra',
  'brx',
  'call',
  'ret',
  'exit',
  'trap',
  'brkpt',
  'pmevent',
  'nanosleep',
  'membar',
  'fence',
  'red',
  'prefetch',
  'prefetchu',
  'applypriority',
  'discard',
  'stmatrix',
  'setmaxnreg',
  'griddepcontrol',
  'tensormap',
  'stackrestore',
  'sust',
]);

const MBARRIER_WITH_RESULT: ReadonlySet<string> = new Set([
  'arrive',
  'arrive_drop',
  'test_wait',
  'try_wait',
  'pending_count',
]);

/** Opcodes whose modifiers say whether the first operand is written. */
const RESULT_BY_MODIFIERS: ReadonlyMap<string, (instruction: PtxInstruction) => boolean> = new Map([
  ['bar', (i: PtxInstruction) => i.modifiers.includes('red')],
  ['barrier', (i: PtxInstruction) => i.modifiers.includes('red')],
  ['cp', () => false],
  ['wgmma', (i: PtxInstruction) => i.modifiers[0] === 'mma_async'],
  ['multimem', (i: PtxInstruction) => i.modifiers[0] === 'ld_reduce'],
  [
    'mbarrier',
    (i: PtxInstruction) => MBARRIER_WITH_RESULT.has(i.modifiers[0] ?? '') && i.operands[0]?.kind !== 'address',
  ],
  // `wmma.store` writes memory; its first operand is an address.
  ['wmma', (i: PtxInstruction) => i.modifiers[0] !== 'store'],
]);

/** True when the first operand of the instruction is its destination. */
export function writesFirstOperand(instruction: PtxInstruction): boolean {
  if (WITHOUT_RESULT.has(instruction.opcode)) return false;
  return RESULT_BY_MODIFIERS.get(instruction.opcode)?.(instruction) ?? true;
}

function collectRegisters(operand: PtxOperand, into: string[]): void {
  if (operand.kind === 'register') into.push(operand.name);
  else if (operand.kind === 'vector') for (const element of operand.elements) collectRegisters(element, into);
  else if (operand.kind === 'pair') {
    collectRegisters(operand.first, into);
    collectRegisters(operand.second, into);
  } else if (operand.kind === 'address') {
    if (operand.base) collectRegisters(operand.base, into);
    for (const coordinate of operand.coordinates ?? []) collectRegisters(coordinate, into);
  }
}

/**
 * Registers an instruction writes and reads, guard included. A guarded instruction may leave its definitions as they
 * were. The accumulators of `wgmma.mma_async` are both.
 */
export function definitionsAndUses(instruction: PtxInstruction): { definitions: string[]; uses: string[] } {
  const definitions: string[] = [];
  const uses: string[] = [];
  const [first, ...others] = instruction.operands;
  if (first) {
    const isDestination = writesFirstOperand(instruction) && first.kind !== 'address';
    collectRegisters(first, isDestination ? definitions : uses);
    if (isDestination && instruction.opcode === 'wgmma') collectRegisters(first, uses);
  }
  for (const operand of others) collectRegisters(operand, uses);
  if (instruction.guard) uses.push(instruction.guard.register);
  return { definitions, uses };
}
