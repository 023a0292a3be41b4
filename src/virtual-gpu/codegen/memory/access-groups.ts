import { SECTOR_BYTES } from '../../../core/gpu-sizes.ts';
import type { PtxInstruction, StateSpace } from '../../../ptx/ast.ts';
import type { Origins } from '../../../ptx/pointer-origins.ts';

export type AccessSpace = Exclude<StateSpace, 'reg' | 'generic'>;

/** One load or store within a group. */
export interface Access {
  instruction: PtxInstruction;
  isStore: boolean;
  /** Offset from the group's base register. */
  offset: number;
  /** Bytes one lane moves. */
  bytes: number;
  /** Of a matrix: the quarter of the warp whose lanes have its rows' addresses. */
  quarter?: number;
  /** Of a load that ptxas merges with its neighbours: bytes of them all if it is the first, else 0. */
  mergedBytes?: number;
}

/**
 * Accesses of one straight-line segment with the same base register, so that one check covers all of them.
 * The checked address is base + `minimum`.
 */
export interface AccessGroup {
  index: number;
  space: AccessSpace;
  accesses: Access[];
  minimum: number;
  /** Bytes from the first to past the last accessed byte. */
  range: number;
  /** Widest access, and its distance from the checked address, for the alignment check. */
  alignment: number;
  alignmentDelta: number;
  /** True when all lanes use one address, so that counts follow from how often the block runs. */
  uniform: boolean;
  /** Index of the block it belongs to, for counts of uniform groups. */
  block: number;
  /** Address of its BOUNDS in memory 0. */
  bounds: number;
  /** Address of its PATTERN in memory 0; 0 when not counted by pattern. */
  pattern: number;
  /** Origin of its addresses, for device memory: it decides which buffers the group may touch. */
  origins: Origins;
  guarded: boolean;
  /** Belongs to the code for diverged warps. */
  masked: boolean;
}

/** Largest span of one check. A larger one would often fail for valid accesses near a buffer's end. */
const MAXIMUM_RANGE = 16384;

/** Tries to add an access to a group's span; false if it needs a group of its own. */
export function joinGroup(group: AccessGroup, access: Access): boolean {
  const minimum = Math.min(group.minimum, access.offset);
  const end = Math.max(group.minimum + group.range, access.offset + access.bytes);
  if (end - minimum > MAXIMUM_RANGE) return false;
  const all = [...group.accesses, access];
  const widest = all.reduce((a, b) => (b.bytes > a.bytes ? b : a));
  // The widest access's alignment must imply the others'.
  if (all.some((a) => Math.abs(a.offset - widest.offset) % a.bytes !== 0)) return false;
  group.accesses.push(access);
  group.minimum = minimum;
  group.range = end - minimum;
  group.alignment = widest.bytes;
  group.alignmentDelta = widest.offset - minimum;
  return true;
}

/** Bits of a sector map. */
export const SECTOR_READ = 1;
export const SECTOR_WRITTEN = 2;
/** Whether its line is in the cache model's sample, so that each access is recorded. */
export const SECTOR_SAMPLED = 4;
/** Whether an atomic touched it. */
export const SECTOR_ATOMIC = 8;

/** A byte (as its distance from the checked address) whose sector is marked. */
export interface SectorMark {
  offset: number;
  bits: number;
}

/** Bytes whose sectors together are the sectors of the group's accesses. */
export function sectorMarks(group: AccessGroup): SectorMark[] {
  const marks = new Map<number, number>();
  for (const isStore of [false, true]) {
    const bits = isStore ? SECTOR_WRITTEN : SECTOR_READ;
    for (const offset of markedBytes(group, isStore)) marks.set(offset, (marks.get(offset) ?? 0) | bits);
  }
  return [...marks].map(([offset, bits]) => ({ offset, bits }));
}

/** One byte in each sector of each contiguous span of accesses, for any position of sector boundaries. */
function markedBytes(group: AccessGroup, isStore: boolean): number[] {
  const accesses = group.accesses.filter((access) => access.isStore === isStore);
  const spans: { start: number; end: number; isAligned: boolean }[] = [];
  for (const { offset, bytes } of accesses.toSorted((a, b) => a.offset - b.offset)) {
    const [start, end] = [offset - group.minimum, offset - group.minimum + bytes];
    const last = spans.at(-1);
    if (last && start === last.start && end === last.end) continue;
    if (last && start <= last.end) {
      last.end = Math.max(last.end, end);
      last.isAligned = false;
    } else spans.push({ start, end, isAligned: true });
  }
  return spans.flatMap(({ start, end, isAligned }) => {
    // A single access is aligned to its size, so it lies in one sector.
    if (isAligned && end - start <= SECTOR_BYTES) return [start];
    const bytes: number[] = [];
    for (let at = start; at < end - 1; at += SECTOR_BYTES) bytes.push(at);
    return [...bytes, end - 1];
  });
}
