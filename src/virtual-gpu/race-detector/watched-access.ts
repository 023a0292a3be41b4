import type { PtxInstruction, StateSpace } from '../../ptx/ast.ts';
import { has, spaceOf, typeOf, vectorLength } from '../../ptx/instruction-parts.ts';
import { memoryActionOf } from '../../ptx/instructions/properties.ts';
import type { MemoryAction } from '../../ptx/instructions/row.ts';
import { sizeOfPtxType } from '../../ptx/types.ts';

/** What an access to memory is to the race detector. */
export interface WatchedAccess {
  instruction: PtxInstruction;
  bytes: number;
  space: StateSpace;
  isRead: boolean;
  isWrite: boolean;
  /** Whether it is atomic, volatile, relaxed, acquire or release. Two such accesses never race. */
  isStrong: boolean;
  /** Whether it reads and writes in one, so that lanes may do so side by side. */
  isAtomic: boolean;
  /** Whether it reads shared memory by the asynchronous proxy: wgmma and bulk copies. */
  isAsync: boolean;
  /** Whether it may read what the launch began with, whatever was written since: `ld.global.nc`. */
  isNonCoherent: boolean;
  /** The work that it releases to later readers: none, the work before the last fence, or all; or all, to readers of its own CTA alone. */
  releases: 'nothing' | 'fenced' | 'everything' | 'everything within the CTA';
}

const STRONG: ReadonlySet<string> = new Set(['volatile', 'relaxed', 'acquire', 'release', 'acq_rel', 'mmio']);
const RELEASING: ReadonlySet<string> = new Set(['release', 'acq_rel']);

/** Bytes that `discard` affects, and the bytes behind a lane's address in a matrix load. */
const DISCARDED_BYTES = 128;
const MATRIX_ROW_BYTES = 16;
/** Bulk copies are told in pieces. */
const BULK_PIECE_BYTES = 16;

/** Describes a load, store, atomic, matrix load or asynchronous copy; undefined for other instructions. */
export function watchedAccess(instruction: PtxInstruction): WatchedAccess | undefined {
  return DESCRIBE[memoryActionOf(instruction)]?.(instruction);
}

/** The whole element, or vector of them, that a lane accesses. */
const element = (instruction: PtxInstruction, direction: 'read' | 'write'): WatchedAccess =>
  plain(instruction, sizeOfPtxType(typeOf(instruction)) * vectorLength(instruction), spaceOf(instruction), direction);

/** Whether a load or store is volatile, relaxed, acquire or release. */
export const isMarkedStrong = ({ modifiers }: PtxInstruction): boolean => modifiers.some((m) => STRONG.has(m));

function strongWrite(access: WatchedAccess, isRead: boolean): WatchedAccess {
  return { ...access, isRead, isWrite: true, isStrong: true, releases: releasedBy(access.instruction) };
}

function releasedBy({ modifiers }: PtxInstruction): WatchedAccess['releases'] {
  if (!modifiers.some((m) => RELEASING.has(m))) return 'fenced';
  return modifiers.includes('cta') ? 'everything within the CTA' : 'everything';
}

const DESCRIBE: Partial<Record<MemoryAction, (instruction: PtxInstruction) => WatchedAccess | undefined>> = {
  load: (instruction) => ({
    ...element(instruction, 'read'),
    isStrong: isMarkedStrong(instruction),
    isNonCoherent: has(instruction, 'nc'),
  }),
  store: (instruction) => {
    const access = element(instruction, 'write');
    return isMarkedStrong(instruction) ? strongWrite(access, false) : access;
  },
  atomic: (instruction) => ({ ...strongWrite(element(instruction, 'read'), true), isAtomic: true }),
  reduction: (instruction) => ({ ...strongWrite(element(instruction, 'read'), false), isAtomic: true }),
  discard: (instruction) => plain(instruction, DISCARDED_BYTES, spaceOf(instruction), 'write'),
  'matrix-store': (instruction) => plain(instruction, MATRIX_ROW_BYTES, 'shared', 'write'),
  'matrix-load': (instruction) => plain(instruction, MATRIX_ROW_BYTES, 'shared', 'read'),
  matrix: (instruction) => ({ ...plain(instruction, MATRIX_ROW_BYTES, 'shared', 'read'), isAsync: true }),
  copy: (instruction) => {
    if (has(instruction, 'bulk'))
      return { ...plain(instruction, BULK_PIECE_BYTES, 'generic', 'read'), isWrite: true, isAsync: true };
    const size = instruction.operands[2];
    if (instruction.modifiers[0] !== 'async' || size?.kind !== 'immediate') return undefined;
    return { ...plain(instruction, Number(size.value), 'generic', 'read'), isWrite: true };
  },
};

/** Smallest access of a kernel that makes none. */
const ANY_UNIT = 4;

/** The kernel's smallest access to a state space, in bytes. */
export function smallestAccess(space: StateSpace, accesses: readonly (WatchedAccess | undefined)[]): number {
  const own = accesses.filter((access) => access?.space === space || access?.space === 'generic');
  return Math.min(...own.map((access) => access!.bytes), ...(own.length === 0 ? [ANY_UNIT] : []));
}

/** Whether it may write to device memory: a copy writes to the first space that it names. */
export function writesDeviceMemory({ isWrite, space, instruction: { opcode, modifiers } }: WatchedAccess): boolean {
  if (opcode === 'cp') return isWrite && modifiers.find((m) => m === 'global' || m.startsWith('shared')) === 'global';
  return isWrite && (space === 'global' || space === 'generic');
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
  isAtomic: false,
  isNonCoherent: false,
  isAsync: false,
  releases: 'nothing',
});
