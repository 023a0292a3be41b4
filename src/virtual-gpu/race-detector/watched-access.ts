import type { PtxInstruction, StateSpace } from '../../ptx/ast.ts';
import { spaceOf, typeOf, vectorLength } from '../codegen/instruction-parts.ts';
import { sizeOfType } from '../codegen/types.ts';

/** What an access to memory is to the race detector. */
export interface WatchedAccess {
  instruction: PtxInstruction;
  bytes: number;
  space: StateSpace;
  isRead: boolean;
  isWrite: boolean;
  /** Atomic, volatile, relaxed, acquire or release: two of these never race. */
  isStrong: boolean;
  /** What others learn who read it afterwards: nothing, what was done before the last fence, or all that was done. */
  releases: 'nothing' | 'fenced' | 'everything';
}

const STRONG: ReadonlySet<string> = new Set(['volatile', 'relaxed', 'acquire', 'release', 'acq_rel', 'mmio']);
const RELEASING: ReadonlySet<string> = new Set(['release', 'acq_rel']);

/** Describes a load, store, atomic, matrix load or asynchronous copy; undefined for what accesses no memory. */
export function watchedAccess(instruction: PtxInstruction): WatchedAccess | undefined {
  const { opcode, modifiers, operands } = instruction;
  const space = spaceOf(instruction);
  const isAtomic = opcode === 'atom' || opcode === 'red';
  if (opcode === 'discard') return plain(instruction, 128, space, 'write');
  if (opcode === 'ldmatrix') return plain(instruction, 16, 'shared', 'read');
  if (opcode === 'cp') {
    const size = operands[2];
    if (modifiers[0] !== 'async' || size?.kind !== 'immediate') return undefined;
    return { ...plain(instruction, Number(size.value), 'generic', 'read'), isWrite: true };
  }
  if (opcode !== 'ld' && opcode !== 'ldu' && opcode !== 'st' && !isAtomic) return undefined;
  const bytes = sizeOfType(typeOf(instruction)) * vectorLength(instruction);
  const access = plain(instruction, bytes, space, opcode === 'st' ? 'write' : 'read');
  if (!isAtomic && !modifiers.some((m) => STRONG.has(m))) return access;
  const isWrite = opcode === 'st' || isAtomic;
  const releases = !isWrite ? 'nothing' : modifiers.some((m) => RELEASING.has(m)) ? 'everything' : 'fenced';
  return { ...access, isRead: opcode === 'atom' || !isWrite, isWrite, isStrong: true, releases };
}

const plain = (
  instruction: PtxInstruction,
  bytes: number,
  space: StateSpace,
  direction: 'read' | 'write',
): WatchedAccess => ({
  instruction,
  bytes,
  space,
  isRead: direction === 'read',
  isWrite: direction === 'write',
  isStrong: false,
  releases: 'nothing',
});
