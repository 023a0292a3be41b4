/**
 * Code for counting and watching of accesses: addresses for patterns and the race detector, and marks by sector and byte.
 */
import { SECTOR_BYTES } from '../../../core/gpu-sizes.ts';
import { LAUNCH, PATTERN, PATTERN_PHASE, WRITE_FLAGS, WRITE_PAGE_BYTES } from '../../layout.ts';
import type { FunctionBuilder, Local, MemoryIndex } from '../../wasm/function-builder.ts';
import type { BlockFrame } from '../block-frame.ts';
import { HOW } from '../watch/active-lanes.ts';
import { type AccessGroup, SECTOR_SAMPLED, type SectorMark, sectorMarks } from './access-groups.ts';
import type { PlannedGroup } from './plan.ts';
import type { Transfer } from './transfers.ts';

/** Notes the chunk's checked addresses, and their sectors when counted. */
export function recordAddresses(frame: BlockFrame, group: AccessGroup, checked: Local, mask: Local | undefined): void {
  const { b, locals, kernel } = frame;
  b.get(locals.chunk, checked).memory('v128.store', group.pattern + PATTERN.addresses);
  if (mask !== undefined) b.get(locals.chunk, mask).memory('v128.store', group.pattern + PATTERN.mask);
  if (group.space === 'global' && kernel.counting) markLanesSectors(frame, group, checked, mask);
}

function markLanesSectors(frame: BlockFrame, group: AccessGroup, checked: Local, mask: Local | undefined): void {
  const { b } = frame;
  const [map, marks] = [pushSectorMap(b), sectorMarks(group)];
  const markLanes = () => {
    for (let lane = 0; lane < 4; lane++) {
      const mark = () => markSectors(frame, marks, map, () => b.get(checked).lane('i32x4.extract_lane', lane));
      if (mask === undefined) mark();
      else {
        b.get(mask).lane('i32x4.extract_lane', lane);
        b.if(mark);
      }
    }
  };
  const phases = [...new Set(marks.map(({ offset }) => offset % SECTOR_BYTES))];
  if (mask !== undefined || phases.length > MOST_PHASES) {
    markLanes();
    return;
  }
  b.block(() => {
    pushShareSectors(b, checked, phases);
    b.if(() => {
      pushMarked(b, marks, map, () => b.get(checked).lane('i32x4.extract_lane', 0));
      b.i32(SECTOR_SAMPLED).op('i32.and', 'i32.eqz').brIf(1);
    });
    markLanes();
  });
}

/** Of places in their sectors that marks of one group have, if they are looked at together. */
const MOST_PHASES = 2;

/** Pushes whether the four lanes touch the same sectors, as neighbours mostly do. Marks of one phase have it in common. */
function pushShareSectors(b: FunctionBuilder, checked: Local, phases: readonly number[]): void {
  const sectors = b.local('v128');
  phases.forEach((phase, i) => {
    b.get(checked).i32x4(phase).op('i32x4.add').i32(SECTOR_SHIFT).op('i32x4.shr_u').tee(sectors);
    b.get(sectors, sectors).shuffle32([0, 0, 0, 0]).op('i32x4.eq');
    if (i > 0) b.op('v128.and');
  });
  b.op('i32x4.all_true');
}

/** Marks sectors, and pushes the bits that they have together. Nothing is recorded. */
function pushMarked(b: FunctionBuilder, sectors: readonly SectorMark[], map: Local, pushAddress: () => void): void {
  sectors.forEach((mark, i) => {
    markSector(b, mark, map, pushAddress);
    if (i > 0) b.op('i32.or');
  });
}

/** Marks one sector, and pushes its bits. Returns the local with the byte's address. */
function markSector(b: FunctionBuilder, { offset, bits }: SectorMark, map: Local, pushAddress: () => void): Local {
  const [address, marks] = b.locals('i32', 2);
  pushAddress();
  b.add(offset).i32(SECTOR_SHIFT).op('i32.shr_u').get(map).op('i32.add').tee(address);
  b.get(address).memory('i32.load8_u', 0).i32(bits).op('i32.or').tee(marks).memory('i32.store8', 0);
  b.get(marks);
  return address;
}

/** Binary logarithm of a sector's bytes. */
const SECTOR_SHIFT = 5;

/** A local with the address of the sector map. */
function pushSectorMap(b: FunctionBuilder): Local {
  const map = b.loadAt(LAUNCH.sectorMap).pop('i32');
  return map;
}

/** Marks the sectors of a group with one address for the warp. */
export function markUniformSectors(frame: BlockFrame, group: AccessGroup, address: Local): void {
  markSectors(frame, sectorMarks(group), pushSectorMap(frame.b), () => frame.b.get(address));
}

/**
 * Sets a byte per 32-byte sector that the group's accesses touch: bit 0 for reads, bit 1 for writes. Records sectors of
 * sampled lines.
 */
function markSectors(
  { b, kernel }: BlockFrame,
  sectors: readonly SectorMark[],
  map: Local,
  pushAddress: () => void,
): void {
  for (const mark of sectors) {
    const address = markSector(b, mark, map, pushAddress);
    b.i32(SECTOR_SAMPLED).op('i32.and');
    b.if(() => b.get(address, map).op('i32.sub').i32(mark.bits).call(kernel.runtime.recordAccess));
  }
}

/** Memories with a byte for each byte of device memory: 1 if it was written, or read by a counted launch. */
const WRITES: MemoryIndex = 2;
const READS: MemoryIndex = 3;

/** What is marked of a transfer. */
type MarkedTransfer = Pick<Transfer, 'addresses' | 'uniform' | 'offset'>;

const STORE_BY_BYTES: Readonly<Record<number, string>> = { 1: 'i32.store8', 2: 'i32.store16', 4: 'i32.store' };

/** Where the four lanes of a chunk, or all of the warp, find a group. */
export interface LaneAddresses {
  /** wasm address of each lane's checked address; one, if all have the same. */
  readonly lanes: readonly Local[];
  /** i32 local: bytes between neighbouring lanes' addresses if that is one step for the whole chunk, else −1. */
  readonly step: Local | undefined;
}

/** Marks what a group loads, all at once, in the read map. Inactive lanes mark address 0, which no buffer contains. */
export function markRead(b: FunctionBuilder, group: AccessGroup, { lanes, step }: LaneAddresses): void {
  const pieces = loadedPieces(group);
  const markLanes = () => {
    for (const { offset, bytes } of pieces) for (const address of lanes) markBytes(b, address, offset, bytes, READS);
  };
  const [bytes, ...others] = new Set(pieces.map((piece) => piece.bytes));
  if (step === undefined || bytes === undefined || others.length > 0 || bytes * lanes.length > WIDEST_STORE) {
    markLanes();
    return;
  }
  b.get(step).i32(bytes).op('i32.eq');
  b.if(() => {
    for (const { offset } of pieces) markBytes(b, lanes[0]!, offset, bytes * lanes.length, READS);
  }, markLanes);
}

/** Bytes that one instruction stores. */
const WIDEST_STORE = 16;

/** The bytes that a group loads, as distances from its checked address, in pieces that one instruction can mark. */
function loadedPieces({ accesses, minimum }: AccessGroup): { offset: number; bytes: number }[] {
  const spans: { start: number; end: number }[] = [];
  const loads = accesses.filter((access) => !access.isStore);
  for (const { offset, bytes } of loads.toSorted((one, other) => one.offset - other.offset)) {
    const [start, end] = [offset - minimum, offset - minimum + bytes];
    const last = spans.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else spans.push({ start, end });
  }
  return spans.flatMap(({ start, end }) => {
    const pieces: { offset: number; bytes: number }[] = [];
    for (let at = start; at < end; at += pieces.at(-1)!.bytes)
      pieces.push({ offset: at, bytes: [WIDEST_STORE, 8, 4, 2, 1].find((bytes) => at + bytes <= end)! });
    return pieces;
  });
}

/** Marks the stored bytes, and their page, in the write map. Inactive lanes mark address 0, which no buffer contains. */
export function markWritten(b: FunctionBuilder, transfer: MarkedTransfer, bytes: number): void {
  const { offset } = transfer;
  for (const address of ownAddresses(transfer)) {
    markBytes(b, address, offset, bytes, WRITES);
    b.get(address);
    if (offset > 0) b.add(offset);
    b.i32(Math.log2(WRITE_PAGE_BYTES)).op('i32.shr_u').i32(1).memory('i32.store8', WRITE_FLAGS, WRITES);
  }
}

const ownAddresses = ({ addresses, uniform }: MarkedTransfer): readonly Local[] =>
  uniform ? addresses.slice(0, 1) : addresses;

function markBytes(b: FunctionBuilder, address: Local, offset: number, bytes: number, map: MemoryIndex): void {
  b.get(address);
  if (bytes === 16) b.i32x4(-1).memory('v128.store', offset, map);
  else if (bytes === 8) b.i64(-1n).memory('i64.store', offset, map);
  else b.i32(-1).memory(STORE_BY_BYTES[bytes]!, offset, map);
}

/** Where a group with one address has it is known, too. */
type NotedGroup = Pick<PlannedGroup, 'group'> & Partial<PlannedGroup>;

/** After the chunk loop: hands each group's addresses to the race detector. */
export function emitWatches(frame: BlockFrame, planned: readonly NotedGroup[]): void {
  const { watch } = frame.kernel;
  for (const each of planned) {
    const { space } = each.group;
    if (space === 'shared' || space === 'global') emitWatch(frame, each, watch![space]);
  }
}

function emitWatch({ b, locals, masked }: BlockFrame, { group, baseLocal }: NotedGroup, watch: number): void {
  const how =
    (masked ? HOW.masked : 0) | (group.guarded && !group.uniform ? HOW.guarded : 0) | (group.uniform ? HOW.uniform : 0);
  b.i32(group.index);
  if (group.uniform) b.get(baseLocal!);
  else b.i32(group.pattern);
  b.get(locals.warp).i32(how).call(watch);
}

/** After the chunk loop: counts each group by the pattern of its addresses. */
export function emitCounts({ b, kernel, locals, masked }: BlockFrame, planned: readonly NotedGroup[]): void {
  for (const { group } of planned) {
    if (group.pattern === 0) continue;
    if (masked || group.guarded)
      b.i32(group.index)
        .get(locals.warp)
        .i32(masked ? 1 : 0)
        .call(kernel.imports.patternMiss);
    else {
      const { mask, wayShift, wayMask } = PATTERN_PHASE[group.space === 'global' ? 'global' : 'shared'];
      b.i32(group.pattern).i32(group.index).get(locals.warp).i32(mask).i32(wayShift).i32(wayMask);
      b.call(kernel.runtime.countPattern);
    }
  }
}
