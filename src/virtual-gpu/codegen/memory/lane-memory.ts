import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { spaceOf, typeOf, vectorLength } from '../../../ptx/instruction-parts.ts';
import { definitionsAndUses, memoryActionOf, runsAs } from '../../../ptx/instructions/properties.ts';
import { elementsOf } from '../../../ptx/operands.ts';
import { sizeOfPtxType } from '../../../ptx/types.ts';
import {
  BOUNDS,
  CONSTANTS,
  LAUNCH,
  PARAMETERS,
  PATTERN,
  PATTERN_PHASE,
  SCRATCH,
  SHARED,
  WARP,
  WINDOW,
  WRITE_FLAGS,
  WRITE_PAGE_BYTES,
} from '../../layout.ts';
import { unsupported } from '../../unsupported.ts';
import type { Local, MemoryIndex } from '../../wasm/function-builder.ts';
import type { LaneContext } from '../lane/context.ts';
import type { OperandContext, PendingInstruction, SegmentEmitter } from '../lane/segment-emitter.ts';
import {
  type Access,
  type AccessGroup,
  type AccessSpace,
  joinGroup,
  SECTOR_SAMPLED,
  sectorMarks,
} from './access-groups.ts';
import { emitLoad, emitStore, type Transfer } from './transfers.ts';

/** A group during emission, with the locals its checked addresses are in. */
interface PlannedGroup {
  group: AccessGroup;
  base: PtxOperand | null;
  baseLocal: Local | undefined;
  /** wasm address of each lane's checked address (all four the same local for a uniform group). */
  laneAddresses: Local[] | undefined;
  /** i32 local: bytes between neighbouring lanes' addresses if that is one step for the whole chunk, else −1. */
  step: Local | undefined;
}

/** Where each space begins in its wasm memory. `local` is added per lane. */
const SPACE_ORIGIN: Record<AccessSpace, { memory: MemoryIndex; origin: number }> = {
  global: { memory: 1, origin: 0 },
  shared: { memory: 0, origin: SHARED },
  const: { memory: 0, origin: CONSTANTS },
  param: { memory: 0, origin: PARAMETERS },
  local: { memory: 0, origin: 0 },
};

/** True when a group has plain 16- or 32-bit loads, which four lanes can share. */
const gathersSingles = (group: AccessGroup): boolean =>
  group.accesses.some((access) => !access.isStore && (access.bytes === 2 || access.bytes === 4));

/** Addresses of the counted spaces go through the pattern tables. */
const COUNTED: ReadonlySet<AccessSpace> = new Set(['global', 'shared']);

/** The write map, and the read map of counted launches. */
const WRITES: MemoryIndex = 2;
const READS: MemoryIndex = 3;

/** What is marked of a transfer. */
type MarkedTransfer = Pick<Transfer, 'addresses' | 'uniform' | 'offset'>;

const STORE_BY_BYTES: Readonly<Record<number, string>> = { 1: 'i32.store8', 2: 'i32.store16', 4: 'i32.store' };

/** Loads and stores of one segment: grouping, one bounds and alignment check per group, transfers, counting. */
export class LaneMemory {
  #segment: SegmentEmitter;
  #groupOf = new Map<PtxInstruction, PlannedGroup>();
  #planned: PlannedGroup[] = [];

  constructor(segment: SegmentEmitter) {
    this.#segment = segment;
  }

  /** Assigns every access of the segment to a group. */
  plan(pending: readonly PendingInstruction[]): void {
    const open = new Map<string, PlannedGroup>();
    const definitions = new Map<string, number>();
    for (const item of pending) {
      const { instruction } = item;
      if (runsAs(instruction) === 'access') this.#assign(item, open, definitions);
      for (const register of definitionsAndUses(instruction).definitions)
        definitions.set(register, (definitions.get(register) ?? 0) + 1);
    }
  }

  #assign(item: PendingInstruction, open: Map<string, PlannedGroup>, definitions: Map<string, number>): void {
    const { instruction, uniforms } = item;
    const isStore = memoryActionOf(instruction) === 'store';
    const address = instruction.operands[isStore ? 0 : instruction.operands.length - 1]!;
    if (address.kind !== 'address') throw unsupported(instruction, 'has no address operand');
    const space = this.#spaceOf(instruction, address.base);
    const base = this.#normalise(address, instruction);
    const baseLocal = base.register === undefined ? undefined : uniforms.get(base.register);
    const bytes = sizeOfPtxType(typeOf(instruction)) * vectorLength(instruction);
    // How many parts of a warp pay for a wide request depends on which lanes are active: counted by pattern.
    const dependsOnMask = this.#segment.kernel.counting && this.#segment.masked && space === 'shared' && bytes > 4;
    const uniform = (base.register === undefined || baseLocal !== undefined) && !instruction.guard && !dependsOnMask;
    const access: Access = {
      instruction,
      isStore,
      offset: base.offset,
      bytes,
    };
    const version = base.register === undefined ? '' : `${baseLocal ?? `v${definitions.get(base.register) ?? 0}`}`;
    // Each variable in device memory is a buffer of its own, with bounds of its own.
    const variable = space === 'global' && address.base?.kind === 'symbol' ? address.base.name : '';
    const key = `${space}|${base.register ?? `#${variable}`}|${version}`;
    const current = instruction.guard ? undefined : open.get(key);
    if (current && joinGroup(current.group, access)) {
      this.#groupOf.set(instruction, current);
      return;
    }
    const planned: PlannedGroup = {
      group: this.#newGroup(space, access, uniform),
      base: base.register === undefined ? null : { kind: 'register', name: base.register },
      baseLocal: uniform ? baseLocal : undefined,
      laneAddresses: undefined,
      step: undefined,
    };
    this.#planned.push(planned);
    this.#groupOf.set(instruction, planned);
    if (!instruction.guard) open.set(key, planned);
  }

  /** A generic access through a register is left to the warp operations; symbols say their space. */
  #spaceOf(instruction: PtxInstruction, base: PtxOperand | null): AccessSpace {
    const space = spaceOf(instruction);
    if (space !== 'generic') return space;
    const symbol = base?.kind === 'symbol' ? this.#segment.kernel.symbols.get(base.name) : undefined;
    if (!symbol) throw unsupported(instruction, 'through a generic address reached the vector path');
    return symbol.space;
  }

  /** Base register (none for a constant address) and offset, symbols resolved. */
  #normalise(
    address: PtxOperand & { kind: 'address' },
    instruction: PtxInstruction,
  ): { register: string | undefined; offset: number } {
    const { base, offset } = address;
    if (base === null) return { register: undefined, offset };
    if (base.kind === 'register') return { register: base.name, offset };
    if (base.kind === 'symbol') {
      const symbol = this.#segment.kernel.symbols.get(base.name);
      if (!symbol) throw unsupported(instruction, `names ${base.name}, which has no address`);
      // Device memory's symbols: the window is implied by the space.
      return { register: undefined, offset: Number(symbol.value & 0xffffffffn) + base.offset + offset };
    }
    throw unsupported(instruction, `has a ${base.kind} as address base`);
  }

  #newGroup(space: AccessSpace, access: Access, uniform: boolean): AccessGroup {
    const { kernel } = this.#segment;
    const isRecorded = !uniform && COUNTED.has(space) && (kernel.counting || kernel.watching);
    const group: AccessGroup = {
      index: kernel.groups.length,
      space,
      accesses: [access],
      minimum: access.offset,
      range: access.bytes,
      alignment: access.bytes,
      alignmentDelta: 0,
      uniform,
      block: this.#segment.blockIndex,
      bounds: kernel.allocateTable(BOUNDS.bytes),
      pattern: isRecorded ? kernel.allocateTable(kernel.counting ? PATTERN.bytes : PATTERN.ways) : 0,
      origins: kernel.origins.of(
        access.instruction.operands[access.isStore ? 0 : access.instruction.operands.length - 1]!,
      ),
      guarded: access.instruction.guard !== undefined,
      masked: this.#segment.masked,
    };
    kernel.groups.push(group);
    return group;
  }

  /** Checks of groups with one address for the warp, once before the chunk loop. */
  emitUniformChecks(): void {
    for (const planned of this.#planned) if (planned.group.uniform) this.#emitUniformCheck(planned);
  }

  #emitUniformCheck(planned: PlannedGroup): void {
    const { b, kernel, locals } = this.#segment;
    const { group } = planned;
    const address = b.local('i32');
    const ok = b.local('i32');
    const wide = planned.base?.kind === 'register' && kernel.kindOf(planned.base.name) === 'double-word';
    if (planned.baseLocal === undefined) b.i32(group.minimum);
    else {
      b.get(planned.baseLocal);
      if (wide) b.op('i32.wrap_i64');
      b.i32(group.minimum).op('i32.add');
    }
    b.set(address);
    b.get(address)
      .i32(0)
      .memory('i32.load', group.bounds + BOUNDS.start)
      .op('i32.sub');
    b.i32(0)
      .memory('i32.load', group.bounds + BOUNDS.count)
      .op('i32.lt_u')
      .set(ok);
    if (group.alignment > 1) {
      b.get(address)
        .i32(group.alignmentDelta)
        .op('i32.add')
        .i32(group.alignment - 1)
        .op('i32.and')
        .op('i32.eqz');
      b.get(ok).op('i32.and').set(ok);
    }
    if (group.space === 'global' && planned.baseLocal !== undefined) {
      b.get(planned.baseLocal).i64(32n).op('i64.shr_u').op('i32.wrap_i64').i32(WINDOW.global).op('i32.eq');
      b.get(ok).op('i32.and').set(ok);
    }
    b.get(ok).op('i32.eqz');
    b.if(() => {
      b.i32(SCRATCH).get(address).op('i32x4.splat').memory('v128.store', 0);
      b.i32(SCRATCH);
      if (group.space === 'global' && planned.baseLocal !== undefined)
        b.get(planned.baseLocal).i64(32n).op('i64.shr_u').op('i32.wrap_i64').op('i32x4.splat');
      else b.i32x4(group.space === 'global' ? WINDOW.global : 0);
      b.memory('v128.store', 16);
      b.i32(SCRATCH).i32x4(-1).memory('v128.store', 32);
      b.i32(group.index).i32(-1).get(locals.warp).call(kernel.imports.boundsMiss);
    });
    if (kernel.counting && group.space === 'global') this.#markRange(group, () => b.get(address));
    if (group.space !== 'local') planned.laneAddresses = [address, address, address, address];
    else planned.laneAddresses = undefined;
    planned.baseLocal = address;
  }

  /** Emits one load or store within the chunk loop. */
  emitAccess(context: LaneContext, pending: PendingInstruction): void {
    const { instruction } = pending;
    const planned = this.#groupOf.get(instruction)!;
    const { group } = planned;
    const addresses = this.#laneAddresses(planned, context as OperandContext);
    const { memory, origin } = SPACE_ORIGIN[group.space];
    const access = group.accesses.find((a) => a.instruction === instruction)!;
    const transfer = {
      context,
      addresses,
      uniform: addresses[0] === addresses[1],
      offset: origin + access.offset - group.minimum,
      memory,
      type: typeOf(instruction),
      count: vectorLength(instruction),
      mask: this.#segment.activeMask,
      step: planned.step,
    };
    if (!access.isStore) {
      if (group.space === 'global' && this.#segment.kernel.counting) this.#markRead(transfer, access.bytes);
      emitLoad(transfer);
      return;
    }
    emitStore(transfer, elementsOf(instruction.operands[1]!).length);
    if (group.space === 'global') this.#markWritten(transfer, access.bytes);
  }

  /** Marks the bytes in the read map. Lanes that are off mark address 0, where no buffer is. */
  #markRead(transfer: MarkedTransfer, bytes: number): void {
    for (const address of this.#ownAddresses(transfer)) this.#mark(address, transfer.offset, bytes, READS);
  }

  /** Marks the stored bytes, and their page, in the write map. Lanes that are off mark address 0, where no buffer is. */
  #markWritten(transfer: MarkedTransfer, bytes: number): void {
    const { b } = this.#segment;
    const { offset } = transfer;
    for (const address of this.#ownAddresses(transfer)) {
      this.#mark(address, offset, bytes, WRITES);
      b.get(address);
      if (offset > 0) b.i32(offset).op('i32.add');
      b.i32(Math.log2(WRITE_PAGE_BYTES)).op('i32.shr_u').i32(1).memory('i32.store8', WRITE_FLAGS, WRITES);
    }
  }

  #ownAddresses({ addresses, uniform }: MarkedTransfer): readonly Local[] {
    return uniform ? addresses.slice(0, 1) : addresses;
  }

  #mark(address: Local, offset: number, bytes: number, map: MemoryIndex): void {
    const { b } = this.#segment;
    b.get(address);
    if (bytes === 16) b.i32x4(-1).memory('v128.store', offset, map);
    else if (bytes === 8) b.i64(-1n).memory('i64.store', offset, map);
    else b.i32(-1).memory(STORE_BY_BYTES[bytes]!, offset, map);
  }

  #laneAddresses(planned: PlannedGroup, context: OperandContext): Local[] {
    if (planned.laneAddresses) return planned.laneAddresses;
    const { b } = this.#segment;
    const checked = b.local('v128');
    if (planned.group.uniform) b.get(planned.baseLocal!).op('i32x4.splat').set(checked);
    else this.#emitLaneCheck(planned, checked, context);
    const mask = this.#segment.activeMask;
    // Inactive lanes read the null page, or lane-local memory at 0.
    if (mask !== undefined) b.get(checked).get(mask).op('v128.and').set(checked);
    if (planned.group.space === 'local') this.#addLocalBase(checked);
    if (gathersSingles(planned.group)) planned.step = this.#emitStep(checked);
    planned.laneAddresses = [0, 1, 2, 3].map((lane) => {
      const address = b.local('i32');
      b.get(checked).lane('i32x4.extract_lane', lane).set(address);
      return address;
    });
    return planned.laneAddresses;
  }

  /** Neighbouring lanes mostly read neighbouring elements: found out once, then one load serves four lanes. */
  #emitStep(checked: Local): Local {
    const { b } = this.#segment;
    const step = b.local('i32');
    const steps = b.local('v128');
    b.get(checked).i32x4(0).shuffle32([1, 2, 3, 4]);
    b.get(checked).op('i32x4.sub').set(steps);
    b.get(steps).lane('i32x4.extract_lane', 0).i32(-1);
    // The last difference has no neighbour: compare the first three.
    b.get(steps).get(steps).get(steps).shuffle32([0, 0, 0, 0]).op('i32x4.eq').op('i32x4.bitmask');
    b.i32(7).op('i32.and').i32(7).op('i32.eq').op('select').set(step);
    return step;
  }

  #addLocalBase(checked: Local): void {
    const { b, locals } = this.#segment;
    b.get(locals.chunk).i32(2).op('i32.shr_u').op('i32x4.splat').i32x4(0, 1, 2, 3).op('i32x4.add');
    b.i32(0).memory('v128.load32_splat', LAUNCH.localBytes).op('i32x4.mul');
    b.get(locals.warp).memory('v128.load32_splat', WARP.localBase).op('i32x4.add');
    b.get(checked).op('i32x4.add').set(checked);
  }

  /** Leaves base + minimum of the four lanes in `checked`; calls out when one is out of bounds or misaligned. */
  #emitLaneCheck(planned: PlannedGroup, checked: Local, context: OperandContext): void {
    const { b, kernel, locals } = this.#segment;
    const { group } = planned;
    const base = planned.base;
    const wide = base?.kind === 'register' && kernel.kindOf(base.name) === 'double-word';
    const high = wide && group.space === 'global' ? b.local('v128') : undefined;
    if (base === null) b.i32x4(0);
    else if (wide) {
      const [first, second] = [b.local('v128'), b.local('v128')];
      this.#segment.pushPart(base, 0, context);
      b.set(first);
      this.#segment.pushPart(base, 1, context);
      b.set(second);
      if (high !== undefined) b.get(first).get(second).shuffle32([1, 3, 5, 7]).set(high);
      b.get(first).get(second).shuffle32([0, 2, 4, 6]);
    } else this.#segment.pushWord(base, context);
    if (group.minimum !== 0) b.i32x4(group.minimum).op('i32x4.add');
    b.set(checked);
    b.get(checked)
      .i32(0)
      .memory('v128.load32_splat', group.bounds + BOUNDS.start)
      .op('i32x4.sub');
    b.i32(0)
      .memory('v128.load32_splat', group.bounds + BOUNDS.count)
      .op('i32x4.lt_u');
    if (group.alignment > 1) {
      b.get(checked);
      if (group.alignmentDelta % group.alignment !== 0) b.i32x4(group.alignmentDelta).op('i32x4.add');
      b.i32x4(group.alignment - 1)
        .op('v128.and')
        .i32x4(0)
        .op('i32x4.eq')
        .op('v128.and');
    }
    if (high !== undefined) b.get(high).i32x4(WINDOW.global).op('i32x4.eq').op('v128.and');
    const mask = this.#segment.activeMask;
    if (mask !== undefined) b.get(mask).op('v128.not').op('v128.or');
    b.op('i32x4.all_true').op('i32.eqz');
    b.if(() => {
      b.i32(SCRATCH).get(checked).memory('v128.store', 0);
      b.i32(SCRATCH);
      if (high !== undefined) b.get(high);
      else b.i32x4(group.space === 'global' ? WINDOW.global : 0);
      b.memory('v128.store', 16);
      b.i32(SCRATCH);
      if (mask !== undefined) b.get(mask);
      else b.i32x4(-1);
      b.memory('v128.store', 32);
      b.i32(group.index).get(locals.chunk).get(locals.warp).call(kernel.imports.boundsMiss);
    });
    if (group.pattern !== 0) this.#recordAddresses(group, checked, mask);
  }

  #recordAddresses(group: AccessGroup, checked: Local, mask: Local | undefined): void {
    const { b, locals } = this.#segment;
    b.get(locals.chunk)
      .get(checked)
      .memory('v128.store', group.pattern + PATTERN.addresses);
    if (mask !== undefined)
      b.get(locals.chunk)
        .get(mask)
        .memory('v128.store', group.pattern + PATTERN.mask);
    if (group.space === 'global' && this.#segment.kernel.counting) this.#markSectors(group, checked, mask);
  }

  #markSectors(group: AccessGroup, checked: Local, mask: Local | undefined): void {
    const { b } = this.#segment;
    for (let lane = 0; lane < 4; lane++) {
      const mark = () => this.#markRange(group, () => b.get(checked).lane('i32x4.extract_lane', lane));
      if (mask === undefined) mark();
      else {
        b.get(mask).lane('i32x4.extract_lane', lane);
        b.if(mark);
      }
    }
  }

  /** Sets a byte per 32-byte sector that the group's accesses touch: bit 0 for reads, bit 1 for writes.
   * Notes those whose line is sampled. */
  #markRange(group: AccessGroup, pushAddress: () => void): void {
    const { b } = this.#segment;
    const [address, marks] = [b.local('i32'), b.local('i32')];
    for (const { offset, bits } of sectorMarks(group)) {
      pushAddress();
      b.i32(offset).op('i32.add').i32(5).op('i32.shr_u');
      b.i32(0).memory('i32.load', LAUNCH.sectorMap).op('i32.add').tee(address);
      b.get(address).memory('i32.load8_u', 0).i32(bits).op('i32.or').tee(marks).memory('i32.store8', 0);
      b.get(marks).i32(SECTOR_SAMPLED).op('i32.and');
      b.if(() => {
        b.get(address).i32(0).memory('i32.load', LAUNCH.sectorMap).op('i32.sub').i32(bits);
        b.call(this.#segment.kernel.runtime.recordAccess);
      });
    }
  }

  /** After the chunk loop: accounts for each group's addresses. */
  emitAccounts(): void {
    if (this.#segment.kernel.watching) this.#emitWatches();
    if (this.#segment.kernel.counting) this.#emitCounts();
  }

  #emitWatches(): void {
    const { b, kernel, locals, masked } = this.#segment;
    for (const { group, baseLocal } of this.#planned) {
      if (!COUNTED.has(group.space)) continue;
      b.i32(group.index);
      if (group.uniform) b.get(baseLocal!);
      b.get(locals.warp).i32(masked ? 1 : 0);
      b.call(group.uniform ? kernel.imports.watchUniform : kernel.imports.watchGroup);
    }
  }

  #emitCounts(): void {
    const { b, kernel, locals, masked } = this.#segment;
    for (const { group } of this.#planned) {
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
}
