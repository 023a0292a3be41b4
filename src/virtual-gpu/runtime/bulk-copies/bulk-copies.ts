import type { DType } from '../../../core/dtype.ts';
import { onceFor } from '../../../core/once-for.ts';
import { numbersBelow } from '../../../core/values.ts';
import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { has } from '../../../ptx/instruction-parts.ts';
import { OFFSET_IN_CTA } from '../../layout.ts';
import { decodeTensorMap, TENSOR_MAP_BYTES, type TensorMap } from '../../tensor-map.ts';
import { unsupported } from '../../unsupported.ts';
import type { CtaState } from '../cta-state.ts';
import { atMbarrier, completeBytes, mbarrierBeside } from '../mbarriers/operations.ts';
import { closeGroup, endGroups, groupsLeftBy } from '../pending-groups.ts';
import type { RequestKind } from '../site-requests.ts';
import type { WarpContext } from '../warp-context.ts';
import { boxBytes, CHUNK_BYTES, type ElementReduction, type Part, partsOfBox } from './parts.ts';
import { bulkReduction, isTensorReduction, tensorReduction } from './reductions.ts';

/** One thread's copy between device memory and the shared memory of its CTA. */
interface BulkCopy {
  readonly context: WarpContext;
  readonly lane: number;
  readonly parts: readonly Part[];
  readonly bytes: number;
  /** Of the elements of a tensor. */
  readonly dtype?: DType;
  readonly swizzleBytes: number;
  /** What stands where the tensor does not. */
  readonly fill: Uint8Array;
}

const NOTHING = new Uint8Array(1);

/** Alignment of a tensor copy's place in shared memory. Source: PTX ISA, cp.async.bulk.tensor. */
const TENSOR_ALIGNMENT = 128;

const AXES: ReadonlyMap<string, number> = new Map(['1d', '2d', '3d', '4d', '5d'].map((name, i) => [name, i + 1]));
/** Forms that virtual GPUs do not run. */
const UNSUPPORTED = /^im2col|^cp_mask$|^cta_group|^tile::|^ignore_oob$/;

/** cp.async.bulk and cp.async.bulk.tensor; `undefined` for other instructions. Source: PTX ISA. */
export function bulkCopyStep(instruction: PtxInstruction): ((context: WarpContext) => void) | undefined {
  const { modifiers } = instruction;
  if (modifiers[0] === 'reduce') return bulkReductionStep(instruction);
  if (instruction.opcode !== 'cp' || modifiers[0] !== 'async' || modifiers[1] !== 'bulk') return undefined;
  if (has(instruction, 'commit_group')) return commit;
  if (has(instruction, 'wait_group')) return waitGroup;
  if (modifiers.some((modifier) => UNSUPPORTED.test(modifier))) return undefined;
  const spaces = modifiers.filter((modifier) => modifier === 'global' || modifier.startsWith('shared'));
  if (spaces.length !== 2) return undefined;
  if (spaces[1] === 'global') return copyIn;
  if (spaces[0] === 'shared::cluster') return copyAcross;
  return spaces[0] === 'global' && has(instruction, 'bulk_group') ? (context) => copyOut(context) : undefined;
}

/** cp.reduce.async.bulk to device memory. */
function bulkReductionStep(instruction: PtxInstruction): ((context: WarpContext) => void) | undefined {
  const { modifiers } = instruction;
  const isKnown = has(instruction, 'global') && has(instruction, 'bulk_group');
  if (!isKnown || modifiers.some((modifier) => UNSUPPORTED.test(modifier))) return undefined;
  if (isTensorReduction(instruction)) return (context) => copyOut(context, ofTensor);
  const reduction = bulkReduction(instruction);
  return reduction && ((context) => copyOut(context, () => reduction));
}

/** The map says what the elements are. @throws Error for a reduction that virtual GPUs lack. */
function ofTensor({ context, dtype }: BulkCopy): ElementReduction {
  const { instruction } = context;
  const reduction = tensorReduction(instruction, dtype!);
  if (reduction) return reduction;
  throw unsupported(instruction, `through a tensor map of ${dtype} is not implemented on the virtual GPU`);
}

/**
 * From device to shared memory. It lands when somebody waits at its mbarrier, not before; nor is the source read earlier. In a seeded
 * order, some copies to the own CTA land at once.
 */
function copyIn(context: WarpContext): void {
  const { instruction, operands, lanes } = context;
  const isTensor = has(instruction, 'tensor');
  const [destination, source] = operands as [PtxOperand, PtxOperand];
  const barrierOperand = operands[isTensor ? 2 : 3];
  if (!barrierOperand) throw unsupported(instruction);
  const maskOperand = has(instruction, 'multicast::cluster') ? operands[isTensor ? 3 : 4] : undefined;
  for (const lane of lanes) {
    const { cta, address: shared } = sharedStart(context, destination, lane, isTensor);
    const copy = isTensor
      ? tensorCopy(context, lane, source, shared, false)
      : plainCopy(context, lane, { global: globalStart(context, source, lane), shared }, operands[2]!);
    const barrier = mbarrierBeside(context, barrierOperand, lane, cta);
    checkShared(copy, shared, true);
    for (const part of copy.parts) checkGlobal(copy, part, false);
    report(copy, 'load', 'global');
    const targets = maskOperand ? chosen(context, context.word(maskOperand, lane), lane) : [cta];
    for (const target of targets) landLater(copy, target, barrier);
  }
}

/** The copy will land in the shared memory of `target`, and complete the mbarrier there. */
function landLater(copy: BulkCopy, target: CtaState, barrier: number): void {
  const { context, lane } = copy;
  const isOwn = target === context.cta;
  if (isOwn || !context.watcher) report(copy, 'store', 'shared');
  atMbarrier(context, lane, barrier, () => void target.barriers.at(barrier));
  const land = (): void => {
    for (const part of copy.parts) context.landPart(part, copy.swizzleBytes, copy.fill);
    if (isOwn) {
      context.watcher?.landed(context.site, context.warp, chunksOf(copy), lane);
      context.watcher?.released(barrier, context.warp, target.rank);
    } else for (const chunk of chunksOf(copy)) context.reportLanded(chunk, CHUNK_BYTES, barrier, lane);
    completeBytes(context, lane, target, barrier, copy.bytes);
  };
  if (isOwn && target.landsAtOnce()) land();
  else target.send(barrier, land, context.senderAt(lane));
}

/** The CTAs of a cluster that a multicast names, a bit each. */
function chosen(context: WarpContext, mask: number, lane: number): CtaState[] {
  const ranks = numbersBelow(16).filter((rank) => ((mask >>> rank) & 1) !== 0);
  return ranks.map((rank) => context.liveNeighbour(rank, lane).state);
}

/** From the own shared memory to that of a CTA of the cluster. */
function copyAcross(context: WarpContext): void {
  const { instruction, operands, lanes } = context;
  const [destination, source, size, barrierOperand] = operands as PtxOperand[];
  if (!destination || !source || !size || !barrierOperand) throw unsupported(instruction);
  context.requireCluster();
  for (const lane of lanes) {
    const to = sharedStart(context, destination, lane, false);
    const from = sharedStart(context, source, lane, false).address;
    const copy = plainCopy(context, lane, { global: undefined, shared: from }, size);
    const barrier = mbarrierBeside(context, barrierOperand, lane, to.cta);
    checkShared(copy, from, false);
    checkShared(copy, to.address, true);
    report(copy, 'load', 'shared');
    const { ownCta } = context;
    const land = (): void => {
      if (ownCta.hasEnded)
        throw context.fault(
          'race',
          'the CTA ends while a bulk copy may still read its shared memory: nothing waits for',
          lane,
        );
      const { view, start } = ownCta.shared;
      context.receive(new Uint8Array(view.buffer, start + from, copy.bytes).slice(), to.address, barrier, lane);
      completeBytes(context, lane, to.cta, barrier, copy.bytes);
    };
    to.cta.send(barrier, land, context.senderAt(lane));
  }
}

/**
 * From shared to device memory. It reads and writes when its thread waits for it, not before; in a seeded order, some do at once.
 * @param reductionOf what to do with the elements that lie there.
 */
function copyOut(context: WarpContext, reductionOf?: (copy: BulkCopy) => ElementReduction): void {
  const { instruction, operands, lanes } = context;
  const isTensor = has(instruction, 'tensor');
  const [destination, source] = operands as [PtxOperand, PtxOperand];
  for (const lane of lanes) {
    const shared = sharedStart(context, source, lane, isTensor).address;
    const copy = isTensor
      ? tensorCopy(context, lane, destination, shared, true)
      : plainCopy(context, lane, { global: globalStart(context, destination, lane), shared }, operands[2]!);
    const reduction = reductionOf?.(copy);
    checkShared(copy, shared, false);
    for (const part of copy.parts) checkGlobal(copy, part, true);
    const read = (): void => {
      for (const part of copy.parts) {
        if (reduction) context.reducePart(part, copy.swizzleBytes, reduction);
        else context.sendPart(part, copy.swizzleBytes);
      }
      report(copy, 'load', 'shared');
      report(copy, reduction ? 'atomic' : 'store', 'global');
    };
    const { cta } = context;
    const isDone = cta.landsAtOnce();
    if (isDone) read();
    cta.outgoingOf(context.threadOf(lane)).open.push({ read: isDone ? () => {} : read, instruction });
  }
}

function commit(context: WarpContext): void {
  for (const lane of context.lanes) closeGroup(context.cta.outgoingOf(context.threadOf(lane)));
}

/** With `.read` the destination may still lack the bytes; here it never does. */
function waitGroup(context: WarpContext): void {
  const left = groupsLeftBy(context.instruction);
  for (const lane of context.lanes)
    endGroups(context.cta.outgoingOf(context.threadOf(lane)), left, (copy) => copy.read());
}

/** Where a copy begins in the shared memory of the CTA, or of another one of the cluster. */
function sharedStart(
  context: WarpContext,
  operand: PtxOperand,
  lane: number,
  isTensor: boolean,
): { cta: CtaState; address: number } {
  const place = context.inCluster(context.address(operand, lane), 'shared', lane);
  const alignment = isTensor ? TENSOR_ALIGNMENT : CHUNK_BYTES;
  if (place.address % alignment === 0) return place;
  throw context.fault(
    'misaligned',
    `a bulk copy at shared address ${place.address}, not a multiple of ${alignment}`,
    lane,
    { address: BigInt(place.address), accessBytes: alignment, space: 'shared' },
  );
}

function globalStart(context: WarpContext, operand: PtxOperand, lane: number): number {
  return context.resolve(context.address(operand, lane), 'global', CHUNK_BYTES, false, lane, 0).offset;
}

function plainCopy(
  context: WarpContext,
  lane: number,
  places: { global: number | undefined; shared: number },
  size: PtxOperand,
): BulkCopy {
  const bytes = context.word(size, lane);
  if (bytes % CHUNK_BYTES !== 0)
    throw context.fault('misaligned', `a bulk copy of ${bytes} bytes, not a multiple of ${CHUNK_BYTES}`, lane);
  return { context, lane, bytes, swizzleBytes: 0, fill: NOTHING, parts: bytes > 0 ? [{ ...places, bytes }] : [] };
}

function tensorCopy(
  context: WarpContext,
  lane: number,
  operand: PtxOperand,
  shared: number,
  isStore: boolean,
): BulkCopy {
  const map = tensorMapAt(context, operand, lane);
  const coordinates = operand.kind === 'address' ? (operand.coordinates ?? []) : [];
  const axes = context.instruction.modifiers.map((m) => AXES.get(m)).find((count) => count !== undefined);
  if (coordinates.length !== axes) throw unsupported(context.instruction, `takes ${axes} coordinates`);
  if (map.dimensions.length !== axes)
    throw context.fault('tensor-map', `a copy of ${axes} axes through a tensor map of ${map.dimensions.length}`, lane);
  const at = coordinates.map((coordinate) => context.word(coordinate, lane) | 0);
  const [first = 0] = at;
  if ((first * map.itemBytes) % CHUNK_BYTES !== 0)
    throw context.fault(
      'misaligned',
      `a box that begins at element ${first} of the innermost axis, which is byte ${first * map.itemBytes} of a row: not a multiple of ${CHUNK_BYTES}`,
      lane,
    );
  if (isStore) checkStore(context, lane, at);
  return {
    ...{ context, lane, bytes: boxBytes(map), dtype: map.dtype, swizzleBytes: map.swizzleBytes, fill: map.fill },
    parts: partsOfBox(map, at, shared),
  };
}

/**
 * A box may reach beyond a tensor, but one that goes out may not begin before it. Sources: CUDA C++ Programming Guide, tensor memory
 * accelerator; the illegal instructions of docs/results/h200-interleaved-maps.json and h200-instructions.json.
 */
function checkStore(context: WarpContext, lane: number, at: readonly number[]): void {
  const axis = at.findIndex((coordinate) => coordinate < 0);
  if (axis >= 0)
    throw context.fault(
      'tensor-map',
      `a box that goes out from before its tensor: it begins at ${at[axis]} along axis ${axis}`,
      lane,
    );
}

const mapsOf = onceFor((_cta: object): { bytes: Uint8Array; map: TensorMap }[] => []);

/** @throws KernelFault if no tensor map lies there. */
function tensorMapAt(context: WarpContext, operand: PtxOperand, lane: number): TensorMap {
  const bytes = context.tensorMapBytes(operand, lane, TENSOR_MAP_BYTES);
  const known = mapsOf(context.cta);
  const same = known.find((one) => one.bytes.every((byte, i) => byte === bytes[i]));
  if (same) return same.map;
  const map = decodeTensorMap(bytes);
  if (!map)
    throw context.fault('tensor-map', 'no tensor map lies there: kernel.json declares one as an argument', lane, {
      address: context.wholeAddress(operand, lane),
      space: 'param',
      accessBytes: TENSOR_MAP_BYTES,
    });
  known.push({ bytes: bytes.slice(), map });
  return map;
}

/** The last byte counts: a copy may be larger than shared memory. */
function checkShared({ context, lane, bytes }: BulkCopy, shared: number, isStore: boolean): void {
  if (bytes === 0) return;
  for (const offset of [shared, Math.min(shared + bytes - 1, OFFSET_IN_CTA)])
    context.resolve(context.ownAddress(offset), 'shared', 1, isStore, lane, 0);
}

function checkGlobal({ context, lane }: BulkCopy, { global, bytes }: Part, isStore: boolean): void {
  if (global !== undefined) context.checkGlobalBytes(global, bytes, lane, isStore);
}

/** Addresses of all chunks in shared memory. */
function chunksOf({ parts }: BulkCopy): number[] {
  const last = parts.at(-1);
  return last ? chunksBetween(parts[0]!.shared, last.shared + last.bytes) : [];
}

function chunksBetween(first: number, end: number): number[] {
  const chunks: number[] = [];
  for (let at = first; at < end; at += CHUNK_BYTES) chunks.push(at);
  return chunks;
}

/** Tells who counts or watches, in pieces of as many chunks as a warp has lanes. */
function report(copy: BulkCopy, kind: RequestKind, space: 'global' | 'shared'): void {
  const { context, lane } = copy;
  if (!context.listens || context.watcher?.ignores(context.site, space)) return;
  const addresses = space === 'shared' ? chunksOf(copy) : copy.parts.flatMap(globalChunks);
  context.countChunks(space, addresses, CHUNK_BYTES, kind, lane);
}

const globalChunks = ({ global, bytes }: Part): number[] =>
  global === undefined ? [] : chunksBetween(global - (global % CHUNK_BYTES), global + bytes);
