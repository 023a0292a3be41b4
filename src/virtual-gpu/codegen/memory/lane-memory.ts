import type { PtxInstruction } from '../../../ptx/ast.ts';
import { typeOf, vectorLength } from '../../../ptx/instruction-parts.ts';
import { elementsOf } from '../../../ptx/operands.ts';
import { CONSTANTS, LAUNCH, PARAMETERS, SHARED, WARP } from '../../layout.ts';
import type { Local, MemoryIndex } from '../../wasm/function-builder.ts';
import type { BlockFrame } from '../block-frame.ts';
import type { LaneContext, PendingInstruction, Segment } from '../lane/context.ts';
import type { AccessGroup, AccessSpace } from './access-groups.ts';
import {
  emitCounts,
  emitWatches,
  type LaneAddresses,
  markRead,
  markUniformSectors,
  markWritten,
  recordAddresses,
} from './accounts.ts';
import { emitLaneCheck, emitUniformCheck } from './checks.ts';
import { type AccessPlan, type PlannedGroup, planAccesses } from './plan.ts';
import { emitLoad, emitStore } from './transfers.ts';

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

const isStore = (group: AccessGroup, instruction: PtxInstruction): boolean =>
  group.accesses.some((access) => access.instruction === instruction && access.isStore);

/** Loads and stores of one segment: grouping, checks of addresses that are the same for the warp, counting. */
export class SegmentMemory {
  readonly plan: AccessPlan;
  readonly #frame: BlockFrame;

  constructor(frame: BlockFrame, pending: readonly PendingInstruction[]) {
    this.#frame = frame;
    this.plan = planAccesses(frame, pending);
  }

  /** Whether all lanes get the same from a load: one address, and no guard. */
  loadsOneValue(instruction: PtxInstruction): boolean {
    const group = this.plan.groupOf.get(instruction)?.group;
    return group?.uniform === true && group.space !== 'local' && !isStore(group, instruction);
  }

  /** Checks of groups with one address for the warp, once before the chunk loop. */
  emitUniformChecks(): void {
    const frame = this.#frame;
    for (const planned of this.plan.groups) {
      const { group } = planned;
      if (!group.uniform) continue;
      const address = emitUniformCheck(frame, planned);
      if (frame.kernel.counting && group.space === 'global') {
        markUniformSectors(frame, group, address);
        markRead(frame.b, group, { lanes: [address], step: undefined });
      }
      planned.baseLocal = address;
    }
  }

  /** After the chunk loop: accounts for each group's addresses. */
  emitAccounts(): void {
    const frame = this.#frame;
    if (frame.kernel.watching) emitWatches(frame, this.plan.groups);
    if (frame.kernel.counting) emitCounts(frame, this.plan.groups);
  }
}

/** Loads and stores of one chunk: one bounds and alignment check per group, transfers. */
export class LaneMemory {
  #segment: Segment;
  #memory: SegmentMemory;
  #addresses = new Map<PlannedGroup, LaneAddresses>();

  constructor(segment: Segment, memory: SegmentMemory) {
    this.#segment = segment;
    this.#memory = memory;
  }

  /** Emits one load or store within the chunk loop. */
  emitAccess(context: LaneContext, pending: PendingInstruction): void {
    const { instruction } = pending;
    const { b } = this.#segment.frame;
    const planned = this.#memory.plan.groupOf.get(instruction)!;
    const { group } = planned;
    const { lanes, step } = this.#addressesOf(planned, pending);
    const { memory, origin } = SPACE_ORIGIN[group.space];
    const access = group.accesses.find((a) => a.instruction === instruction)!;
    const transfer = {
      context,
      addresses: lanes,
      uniform: lanes[0] === lanes[1],
      offset: origin + access.offset - group.minimum,
      memory,
      type: typeOf(instruction),
      count: vectorLength(instruction),
      mask: this.#segment.activeMask,
      step,
    };
    if (!access.isStore) {
      emitLoad(transfer);
      return;
    }
    emitStore(transfer, elementsOf(instruction.operands[1]!).length);
    if (group.space === 'global') markWritten(b, transfer, access.bytes);
  }

  #addressesOf(planned: PlannedGroup, pending: PendingInstruction): LaneAddresses {
    const known = this.#addresses.get(planned);
    if (known) return known;
    const { group, baseLocal } = planned;
    const isShared = group.uniform && group.space !== 'local';
    const addresses = isShared
      ? { lanes: [baseLocal!, baseLocal!, baseLocal!, baseLocal!], step: undefined }
      : this.#emitAddresses(planned, pending);
    this.#addresses.set(planned, addresses);
    return addresses;
  }

  #emitAddresses(planned: PlannedGroup, pending: PendingInstruction): LaneAddresses {
    const { b, kernel } = this.#segment.frame;
    const { group } = planned;
    const checked = b.local('v128');
    const mask = this.#segment.activeMask;
    if (group.uniform) b.get(planned.baseLocal!).op('i32x4.splat').set(checked);
    else {
      emitLaneCheck(this.#segment, planned, checked, pending);
      if (group.pattern !== 0) recordAddresses(this.#segment.frame, group, checked, mask);
    }
    // Inactive lanes read the null page, or lane-local memory at 0.
    if (mask !== undefined) b.get(checked, mask).op('v128.and').set(checked);
    if (group.space === 'local') this.#addLocalBase(checked);
    const step = gathersSingles(group) ? this.#emitStep(checked) : undefined;
    const lanes = [0, 1, 2, 3].map((lane) => {
      const address = b.get(checked).lane('i32x4.extract_lane', lane).pop('i32');
      return address;
    });
    if (group.space === 'global' && kernel.counting) markRead(b, group, { lanes, step });
    return { lanes, step };
  }

  /** Neighbouring lanes usually read neighbouring elements. This is tested once; then one load serves four lanes. */
  #emitStep(checked: Local): Local {
    const { b } = this.#segment.frame;
    const step = b.local('i32');
    const steps = b.local('v128');
    b.get(checked).i32x4(0).shuffle32([1, 2, 3, 4]);
    b.get(checked).op('i32x4.sub').set(steps);
    b.get(steps).lane('i32x4.extract_lane', 0).i32(-1);
    // The last difference has no neighbour: compare the first three.
    b.get(steps, steps, steps).shuffle32([0, 0, 0, 0]).op('i32x4.eq', 'i32x4.bitmask');
    b.i32(7).op('i32.and').i32(7).op('i32.eq', 'select').set(step);
    return step;
  }

  #addLocalBase(checked: Local): void {
    const { b, locals } = this.#segment.frame;
    b.get(locals.chunk).i32(2).op('i32.shr_u', 'i32x4.splat').i32x4(0, 1, 2, 3).op('i32x4.add');
    b.i32(0).memory('v128.load32_splat', LAUNCH.localBytes).op('i32x4.mul');
    b.get(locals.warp).memory('v128.load32_splat', WARP.localBase).op('i32x4.add');
    b.get(checked).op('i32x4.add').set(checked);
  }
}
