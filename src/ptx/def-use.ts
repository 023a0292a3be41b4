import type { PtxInstruction, PtxOperand } from './ast.ts';
import { leavesOf } from './operands.ts';

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

const registersOf = (operand: PtxOperand): string[] =>
  leavesOf(operand).flatMap((leaf) => (leaf.kind === 'register' ? [leaf.name] : []));

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
    (isDestination ? definitions : uses).push(...registersOf(first));
    if (isDestination && instruction.opcode === 'wgmma') uses.push(...registersOf(first));
  }
  for (const operand of others) uses.push(...registersOf(operand));
  if (instruction.guard) uses.push(instruction.guard.register);
  return { definitions, uses };
}
