/** Bounds and alignment: one check for all accesses of a group. If it fails, the bounds checker decides. */
import { BOUNDS, SCRATCH, WINDOW } from '../../layout.ts';
import type { Local } from '../../wasm/function-builder.ts';
import type { BlockFrame } from '../block-frame.ts';
import type { PendingInstruction, Segment } from '../lane/context.ts';
import type { AccessGroup } from './access-groups.ts';
import { dropOwnRank, dropOwnRanks } from './own-rank.ts';
import type { PlannedGroup } from './plan.ts';

const hasWideBase = ({ kernel }: BlockFrame, { base }: PlannedGroup): boolean =>
  base?.kind === 'register' && kernel.kindOf(base.name) === 'double-word';

/** Whether addresses of the group hold the rank of the CTA. */
const holdsRank = ({ kernel }: BlockFrame, { group, base, baseLocal }: PlannedGroup): boolean =>
  kernel.namesCtas && group.space === 'shared' && (base !== null || baseLocal !== undefined);

/**
 * Checks the address that all lanes of a warp use, before the chunk loop.
 * @returns local with base + minimum.
 */
export function emitUniformCheck(frame: BlockFrame, planned: PlannedGroup): Local {
  const { b } = frame;
  const { group, baseLocal } = planned;
  const [address, ok] = b.locals('i32', 2);
  pushUniformAddress(frame, planned);
  b.set(address);
  if (holdsRank(frame, planned)) dropOwnRank(b, address);
  b.get(address)
    .loadAt(group.bounds + BOUNDS.start)
    .op('i32.sub');
  b.loadAt(group.bounds + BOUNDS.count)
    .op('i32.lt_u')
    .set(ok);
  if (group.alignment > 1) {
    b.get(address)
      .add(group.alignmentDelta)
      .i32(group.alignment - 1)
      .op('i32.and', 'i32.eqz');
    b.get(ok).op('i32.and').set(ok);
  }
  const pushHigh =
    group.space === 'global' && baseLocal !== undefined
      ? () => b.get(baseLocal).i64(32n).op('i64.shr_u', 'i32.wrap_i64')
      : undefined;
  if (pushHigh) pushHigh().i32(WINDOW.global).op('i32.eq').get(ok).op('i32.and').set(ok);
  b.get(ok).op('i32.eqz');
  b.if(() =>
    reportMiss(frame, group, () => b.get(address).op('i32x4.splat'), pushHigh && (() => pushHigh().op('i32x4.splat'))),
  );
  return address;
}

function pushUniformAddress(frame: BlockFrame, planned: PlannedGroup): void {
  const { b } = frame;
  const { group, baseLocal } = planned;
  if (baseLocal === undefined) {
    b.i32(group.minimum);
    return;
  }
  b.get(baseLocal);
  if (hasWideBase(frame, planned)) b.op('i32.wrap_i64');
  b.add(group.minimum);
}

/** Leaves the lanes' addresses, their upper halves and the lanes that take part where the bounds checker finds them. */
function reportMiss(
  { b, kernel, locals }: BlockFrame,
  group: AccessGroup,
  pushAddresses: () => unknown,
  pushHighs: (() => unknown) | undefined,
  mask?: Local,
  chunk?: Local,
): void {
  b.i32(SCRATCH);
  pushAddresses();
  b.memory('v128.store', 0).i32(SCRATCH);
  if (pushHighs) pushHighs();
  else b.i32x4(group.space === 'global' ? WINDOW.global : 0);
  b.memory('v128.store', 16).i32(SCRATCH);
  if (mask !== undefined) b.get(mask);
  else b.i32x4(-1);
  b.memory('v128.store', 32).i32(group.index);
  if (chunk !== undefined) b.get(chunk);
  else b.i32(-1);
  b.get(locals.warp).call(kernel.imports.boundsMiss);
}

/** Leaves base + minimum of the four lanes in `checked`; calls out if one is out of bounds or misaligned. */
export function emitLaneCheck(
  segment: Segment,
  planned: PlannedGroup,
  checked: Local,
  pending: PendingInstruction,
): void {
  const { b } = segment.frame;
  const { group } = planned;
  const high = pushLaneAddresses(segment, planned, pending);
  if (group.minimum !== 0) b.i32x4(group.minimum).op('i32x4.add');
  b.set(checked);
  if (holdsRank(segment.frame, planned)) dropOwnRanks(b, checked);
  pushIsInBounds(segment.frame, group, checked);
  if (high !== undefined) b.get(high).i32x4(WINDOW.global).op('i32x4.eq', 'v128.and');
  const mask = segment.activeMask;
  if (mask !== undefined) b.get(mask).op('v128.not', 'v128.or');
  b.op('i32x4.all_true', 'i32.eqz');
  const pushHigh = high === undefined ? undefined : () => b.get(high);
  b.if(() => reportMiss(segment.frame, group, () => b.get(checked), pushHigh, mask, segment.frame.locals.chunk));
}

/** Pushes the lanes' base addresses. For pointers to device memory, returns a local with the upper halves. */
function pushLaneAddresses(segment: Segment, planned: PlannedGroup, pending: PendingInstruction): Local | undefined {
  const { frame } = segment;
  const { b } = frame;
  const { base, group } = planned;
  if (base === null) {
    b.i32x4(0);
    return undefined;
  }
  if (!hasWideBase(frame, planned)) {
    segment.pushWord(base, pending);
    return undefined;
  }
  const high = group.space === 'global' ? b.local('v128') : undefined;
  const [first, second] = b.locals('v128', 2);
  segment.pushPart(base, 0, pending);
  b.set(first);
  segment.pushPart(base, 1, pending);
  b.set(second);
  if (high !== undefined) b.get(first, second).shuffle32([1, 3, 5, 7]).set(high);
  b.get(first, second).shuffle32([0, 2, 4, 6]);
  return high;
}

/** Pushes a mask of the lanes that are within bounds and aligned. */
function pushIsInBounds({ b }: BlockFrame, group: AccessGroup, checked: Local): void {
  b.get(checked)
    .i32(0)
    .memory('v128.load32_splat', group.bounds + BOUNDS.start)
    .op('i32x4.sub');
  b.i32(0)
    .memory('v128.load32_splat', group.bounds + BOUNDS.count)
    .op('i32x4.lt_u');
  if (group.alignment <= 1) return;
  b.get(checked);
  if (group.alignmentDelta % group.alignment !== 0) b.i32x4(group.alignmentDelta).op('i32x4.add');
  b.i32x4(group.alignment - 1)
    .op('v128.and')
    .i32x4(0)
    .op('i32x4.eq', 'v128.and');
}
