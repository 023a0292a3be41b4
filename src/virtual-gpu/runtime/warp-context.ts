import type { Dim3 } from '../../core/launch-plan.ts';
import { onceFor } from '../../core/once-for.ts';
import type { PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { isOfCluster } from '../../ptx/instruction-parts.ts';
import { elementsOf } from '../../ptx/operands.ts';
import { LANE_CONSTANTS, LANE_SPECIALS, UNIFORM_SPECIALS } from '../codegen/state/specials.ts';
import { OWN_SHARED } from '../codegen/state/symbols.ts';
import type { BlockPlace, RunnableImage } from '../kernel-image.ts';
import {
  ALL_LANES,
  CLUSTER_RANK_SHIFT,
  CONSTANT_BYTES,
  CONSTANTS,
  HELD_BACK,
  LANES,
  LAUNCH,
  OFFSET_IN_CTA,
  PARAMETER_BYTES,
  PARAMETERS,
  PC,
  SHARED,
  WARP,
  WINDOW,
} from '../layout.ts';
import type { TouchedPages } from '../paging/paged-memory.ts';
import type { BytesAt } from '../race-detector/older-values.ts';
import type { AccessWatcher } from '../race-detector/quiet-watcher.ts';
import { unsupported } from '../unsupported.ts';
import type { ArrivedThreads } from './barriers.ts';
import type { BoundsChecker } from './bounds.ts';
import { CHUNK_BYTES, chunkBitsOf, type ElementReduction, type Part, swizzled } from './bulk-copies/parts.ts';
import type { CopyPattern } from './copy-patterns.ts';
import type { CtaState, Neighbour, Sender } from './cta-state.ts';
import { type FaultKind, type FaultPlace, KernelFault, outOfOwnCta } from './fault.ts';
import type { CopyOperands, LaneCopier, PreparedCopy } from './lane-copier.ts';
import type { DeviceRange, PrivateMemory } from './memories.ts';
import type { PendingGroups } from './pending-groups.ts';
import type { PrintLog } from './printing/print-log.ts';
import type { Rubbish } from './private-contents.ts';
import type { ReadMap } from './read-map.ts';
import { type MemoryRequest, REQUEST_SPACES, type RequestKind } from './site-requests.ts';
import type { WriteMap } from './write-map.ts';

/** A 64-bit address in halves, which are much cheaper than a bigint. */
export interface Address {
  low: number;
  /** Of a generic address, its window. */
  high: number;
}

/** The halves of all lanes' addresses. */
export interface AddressHalves {
  readonly low: Uint32Array;
  readonly high: Uint32Array;
}

export const addressHalves = (): AddressHalves => ({ low: new Uint32Array(LANES), high: new Uint32Array(LANES) });

const TWO_TO_32 = 2 ** 32;

/** `address` + `bytes`, modulo 2^64. */
export function advance({ low, high }: Address, bytes: number): Address {
  const sum = low + bytes;
  const carry = Math.floor(sum / TWO_TO_32);
  return { low: sum - carry * TWO_TO_32, high: (high + carry) >>> 0 };
}

const ZERO: Address = { low: 0, high: 0 };

/** What lies at the place at hand: one object, since a wait reads thousands of times. */
const LATEST: { -readonly [Field in keyof BytesAt]: BytesAt[Field] } = {
  view: new DataView(new ArrayBuffer(0)),
  ...{ offset: 0, bytes: 0 },
};

/** Offset of a space's first byte in its view. */
export const originOf = (space: string): number => (space === 'shared' ? SHARED : 0);

/** A loop, since it is asked for every lane of a copy. */
function isWithin(ranges: readonly DeviceRange[], offset: number, bytes: number): boolean {
  for (const { start, bytes: length } of ranges) if (offset >= start && offset + bytes <= start + length) return true;
  return false;
}

/** By word of shared memory, of which no GPU has more: when {@link areApart} met it last. */
const metAt = new Int32Array(1 << 16);
let meetings = 0;

/** Whether the first words, addresses of what lanes copy to shared memory, are all different. */
function areApart(addresses: Uint32Array): boolean {
  meetings = (meetings + 1) | 0;
  for (let lane = 0; lane < LANES; lane++) {
    const word = addresses[lane]! >> 2;
    if (metAt[word] === meetings) return false;
    metAt[word] = meetings;
  }
  return true;
}

const asBigInt = ({ low, high }: Address): bigint => (BigInt(high) << 32n) | BigInt(low);

/** Where the bytes of a generic address are. */
export interface ResolvedAddress {
  view: DataView;
  offset: number;
  /** `cluster`: shared memory of another CTA. */
  space: 'global' | 'shared' | 'cluster' | 'local' | 'const' | 'param';
}

/** Lower half of an address in a space; that of shared memory may name the own CTA. */
const addressIn = ({ space }: { space: string }, { low }: Address): number =>
  space === 'shared' ? low & OFFSET_IN_CTA : low;

/** What one instruction copies. */
export interface PendingCopy {
  readonly issuedBy: WarpContext;
  /** That take part. */
  readonly lanes: readonly number[];
  /**
   * By lane, as {@link LaneCopier} takes them: places in shared memory, then those in device memory, then how many of `bytes` come from
   * there; zeros follow.
   */
  readonly words: Uint32Array;
  readonly bytes: number;
  /** All lanes take part, and each takes all of its bytes or none. */
  readonly isWhole: boolean;
  /** Bit per lane whose part is there. */
  landed: number;
}

/** Copies of one warp. */
export type PendingCopies = PendingGroups<PendingCopy>;

/** By lane: its number, as often as a warp has lanes. */
const LANE_ALONE = ALL_LANES.map((lane) => new Array<number>(LANES).fill(lane));

/** An instruction's operands with vectors flattened. Computed once, because an instruction executes a thousand times. */
export const operandsOf = onceFor(({ operands }: PtxInstruction): readonly PtxOperand[] =>
  operands.flatMap(elementsOf),
);

/** What all operations of a launch on one thread share. */
export interface OperationSurroundings {
  readonly image: RunnableImage;
  readonly memory: PrivateMemory;
  readonly device: DataView;
  readonly bounds: BoundsChecker;
  readonly cta: CtaState;
  /** The CTAs of the cluster, by rank: at least the own one. */
  readonly cluster: readonly Neighbour[];
  /** Launched as clusters, be they of one CTA each. */
  readonly hasClusters: boolean;
  readonly copier: () => LaneCopier;
  /** Arrivals at the CTA's barriers that nobody waits for. */
  readonly arrived: ArrivedThreads;
  /** Looks for races, where they are looked for. */
  readonly watcher: AccessWatcher | undefined;
  readonly rubbish: Rubbish;
  readonly printed: PrintLog;
  readonly writes: WriteMap;
  /** Of counted launches. */
  readonly reads: ReadMap | undefined;
  /** Of launches over buffers in pages. */
  readonly pages: Pages | undefined;
  /** Told of every request to memory that an operation makes. */
  readonly onRequest: ((site: number, warp: number, request: MemoryRequest) => void) | undefined;
  /** Told, where requests are counted, of copies that lie as others did, in place of their requests and reads. */
  readonly onCopy: ((site: number, pattern: CopyPattern, words: Uint32Array) => void) | undefined;
}

/** What a lane of a diverged warp does that does not run now. */
export type LanePlace =
  | { readonly kind: 'exited' | 'mbarrier' }
  /** Waits for other warps. */
  | { readonly kind: 'barrier'; readonly instruction: PtxInstruction | undefined }
  | ({ readonly kind: 'elsewhere' } & BlockPlace);

const NOWHERE: readonly DeviceRange[] = [];

/** Where pages of buffers lie. Worker threads of a device have it; a page in the browser, which has no such launches, need not load it. */
export interface Pages {
  /** Carries out {@link TRANSLATE}. @throws KernelFault as an access would. */
  translate(context: WarpContext): void;
  /** Copies of all pages that an access has touched, by buffer. */
  touched(): TouchedPages[];
}

/** One warp-level operation in progress: its lanes and their operands. */
export class WarpContext {
  readonly instruction: PtxInstruction;
  readonly warp: number;
  /** Participating lanes: active, and not disabled by the guard. */
  readonly lanes: readonly number[];
  /** Bit per lane of `lanes`. */
  readonly bits: number;
  /** The warp's cp.async copies. */
  readonly copies: PendingCopies;
  readonly #around: OperationSurroundings;
  // Fields, since V8 calls its runtime for a private getter: thousands of times for each tile.
  readonly #image: RunnableImage;
  readonly #memory: PrivateMemory;
  readonly #bounds: BoundsChecker;
  readonly #site: number | undefined;
  #operands: readonly PtxOperand[] | undefined;
  /** Device memory that the operation may touch. */
  readonly #reachable: readonly DeviceRange[];

  /** @param site of the operation; absent where a barrier's operands are read. */
  constructor(
    around: OperationSurroundings,
    instruction: PtxInstruction,
    warp: number,
    masked: boolean,
    copies: PendingCopies,
    site?: number,
  ) {
    this.#around = around;
    this.#image = around.image;
    this.#memory = around.memory;
    this.#bounds = around.bounds;
    this.#site = site;
    this.#reachable = site === undefined ? NOWHERE : around.bounds.rangesOfSite(site);
    this.copies = copies;
    this.instruction = instruction;
    this.warp = warp;
    if (masked || instruction.guard) [this.lanes, this.bits] = this.#activeLanes(masked);
    else [this.lanes, this.bits] = [ALL_LANES, 0xffffffff];
  }

  /** Looked up when they are asked for: most copies need none. */
  get operands(): readonly PtxOperand[] {
    this.#operands ??= operandsOf(this.instruction);
    return this.#operands;
  }

  get image(): RunnableImage {
    return this.#image;
  }

  get memory(): PrivateMemory {
    return this.#memory;
  }

  get arrived(): ArrivedThreads {
    return this.#around.arrived;
  }

  get watcher(): AccessWatcher | undefined {
    return this.#around.watcher;
  }

  get cta(): CtaState {
    return this.#around.cta;
  }

  /** Where the pages of buffers lie. Only code that was made for buffers in pages asks. */
  get pages(): Pages {
    return this.#around.pages!;
  }

  /** The CTAs of the cluster, by rank. */
  get cluster(): readonly Neighbour[] {
    return this.#around.cluster;
  }

  get ownCta(): Neighbour {
    return this.#around.cluster[this.cta.rank]!;
  }

  /** The CTA in whose shared memory an address lies, and where there. */
  inCluster({ low }: Address, space: string, lane: number): { cta: CtaState; address: number } {
    const rank = this.#rankIn(low, space);
    const cta = rank === this.cta.rank ? this.cta : this.neighbour(rank, lane).state;
    return { cta, address: low & OFFSET_IN_CTA };
  }

  /** Where in the own shared memory an address lies; undefined if it is another CTA's. */
  ownOffset({ low }: Address, space: string): number | undefined {
    return this.#rankIn(low, space) === this.cta.rank ? low & OFFSET_IN_CTA : undefined;
  }

  /** The rank that an address of shared memory holds. Instructions for the own CTA's alone take an offset, too. */
  #rankIn(low: number, space: string): number {
    const { rank } = this.cta;
    const named = low >>> CLUSTER_RANK_SHIFT;
    if (named !== 0 || rank === 0 || !this.#image.namesCtas) return named === 0 ? rank : named;
    return space === 'generic' || isOfCluster(this.instruction) ? 0 : rank;
  }

  /** The address of an offset in the own shared memory. */
  ownAddress(offset: number): Address {
    const rank = this.#image.namesCtas ? this.cta.rank : 0;
    return { low: offset + rank * 2 ** CLUSTER_RANK_SHIFT, high: 0 };
  }

  /** The CTA of this rank. @throws KernelFault where there is none. */
  neighbour(rank: number, lane: number): Neighbour {
    const { cluster } = this.#around;
    const found = cluster[rank];
    if (found) return found;
    const ranks = cluster.length === 1 ? 'only rank 0' : `ranks 0 to ${cluster.length - 1}`;
    throw this.fault('out-of-bounds', `names CTA ${rank} of a cluster that has ${ranks}`, lane);
  }

  /** As {@link neighbour}. @throws KernelFault if that CTA has exited, too. */
  liveNeighbour(rank: number, lane: number): Neighbour {
    const found = this.neighbour(rank, lane);
    if (!found.hasEnded) return found;
    throw this.fault(
      'out-of-bounds',
      `reaches the shared memory of CTA ${rank} of the cluster, which has exited: it must wait until the others are done with it,`,
      lane,
    );
  }

  /** For instructions that copy from CTA to CTA. @throws KernelFault in a launch without clusters: a GPU stops there. */
  requireCluster(): void {
    if (this.#around.hasClusters) return;
    throw this.fault(
      'out-of-bounds',
      `${this.instruction.text} sends to the shared memory of a cluster, but the launch has none:`,
      this.lanes[0],
    );
  }

  /** @param access what is known of the access that failed, if it was one. */
  fault(kind: FaultKind, message: string, lane: number | undefined, access?: FaultPlace): KernelFault {
    return new KernelFault(kind, message, { ...access, instruction: this.instruction, lane });
  }

  /** Number of the operation's site. */
  get site(): number {
    return this.#site!;
  }

  /** Whether somebody wants to know of requests to memory. */
  get listens(): boolean {
    return this.#site !== undefined && this.#around.onRequest !== undefined;
  }

  /** Who does what the instruction does in this lane. */
  senderAt(lane: number): Sender {
    return { instruction: this.instruction, cta: this.ctaNumber, thread: this.threadOf(lane) };
  }

  /** Number of a lane's thread in its CTA. */
  threadOf(lane: number): number {
    return this.#memory.i32[(this.warp + WARP.warpIndex) >> 2]! * LANES + lane;
  }

  /** Place of a lane's thread in its CTA. */
  coordinatesOf(lane: number): Dim3 {
    const at = (area: number): number => this.#memory.i32[(this.warp + area) / 4 + lane]!;
    return [at(WARP.threadX), at(WARP.threadY), at(WARP.threadZ)];
  }

  /** Where a lane is that the warp does not run now. */
  placeOfLane(lane: number): LanePlace {
    const counter = this.#memory.i32[(this.warp + WARP.programCounters) / 4 + lane]!;
    if (counter === PC.exited) return { kind: 'exited' };
    if (counter === PC.polling) return { kind: 'mbarrier' };
    const block = counter & PC.blockMask;
    if (counter >= PC.waiting) return { kind: 'barrier', instruction: this.#image.barriers.get(block) };
    return { kind: 'elsewhere', ...this.#image.places[block]! };
  }

  /** The lanes that run now try again later, since one that they wait for is not there yet. */
  holdBack(): void {
    this.#memory.i32[(this.warp + WARP.yields) >> 2] = HELD_BACK;
  }

  /** What the launch's threads print. */
  get printed(): PrintLog {
    return this.#around.printed;
  }

  /** Number of the CTA in its grid. */
  get ctaNumber(): number {
    const { i32 } = this.#memory;
    const at = (place: number): number => i32[place >> 2]!;
    return (at(LAUNCH.ctaZ) * at(LAUNCH.gridY) + at(LAUNCH.ctaY)) * at(LAUNCH.gridX) + at(LAUNCH.ctaX);
  }

  /** CTA and thread as CUDA writes them: `block: [0,0,0], thread: [31,0,0]`. */
  placeOf(lane: number): string {
    const { i32 } = this.#memory;
    const block = [LAUNCH.ctaX, LAUNCH.ctaY, LAUNCH.ctaZ].map((at) => i32[at >> 2]);
    return `block: [${block.join(',')}], thread: [${this.coordinatesOf(lane).join(',')}]`;
  }

  #activeLanes(masked: boolean): [lanes: number[], bits: number] {
    const lanes: number[] = [];
    let bits = 0;
    const mask = (this.warp + WARP.mask) >> 2;
    const { guard } = this.instruction;
    for (let lane = 0; lane < LANES; lane++) {
      if (masked && this.#memory.i32[mask + lane] === 0) continue;
      if (guard && this.predicate({ kind: 'register', name: guard.register }, lane) === guard.negated) continue;
      lanes.push(lane);
      bits |= 1 << lane;
    }
    return [lanes, bits >>> 0];
  }

  /** PTX target of the code, e.g. `sm_89`: tensor cores differ between generations. */
  get target(): string {
    return this.#image.target;
  }

  /** Bytes that nobody can know, for an address. */
  rubbish(address: number, bytes: number): Uint8Array {
    const result = new Uint8Array(bytes);
    this.#around.rubbish.fill(result, 0, bytes, address);
    return result;
  }

  /** Of a watched launch: a value that a strong read gives instead of the latest. */
  olderValue(
    place: ResolvedAddress,
    address: Address,
    bytes: number,
    lane: number,
    suits?: (contents: DataView) => boolean,
  ): DataView | undefined {
    const { space, view, offset } = place;
    return this.#olderValue(space, addressIn(place, address), lane, view, offset, bytes, suits);
  }

  #olderValue(
    space: string,
    address: number,
    lane: number,
    view: DataView,
    offset: number,
    bytes: number,
    suits?: (contents: DataView) => boolean,
  ): DataView | undefined {
    LATEST.view = view;
    LATEST.offset = offset;
    LATEST.bytes = bytes;
    return this.watcher!.olderValue(this.#site!, this.warp, space, address, lane, LATEST, suits);
  }

  /** The same for a strong read that {@link areDirect} has checked. */
  olderDirectValue(space: string, address: number, bytes: number, lane: number): DataView | undefined {
    return this.#olderValue(space, address, lane, this.viewOf(space), originOf(space) + address, bytes);
  }

  /** Where a strong read finds its value: at its place, or in a copy of what lay there earlier. */
  withOlderValue(place: ResolvedAddress, address: Address, bytes: number, lane: number): ResolvedAddress {
    const older = this.olderValue(place, address, bytes, lane);
    return older ? { ...place, view: older, offset: 0 } : place;
  }

  /** Of a watched launch: a lane is about to write by a strong access. */
  beforeStrongWrite(place: ResolvedAddress, address: Address, bytes: number): void {
    const { watcher } = this;
    if (!watcher?.remembers(place.space)) return;
    const { space, view, offset } = place;
    watcher.beforeWrite(space, addressIn(place, address), { view, offset, bytes });
  }

  /** Reports uncounted requests to the race detector. */
  watchRequest(accesses: Parameters<WarpContext['countRequest']>[0], bytes: number, kind: RequestKind): void {
    if (this.watcher) this.countRequest(accesses, bytes, kind);
  }

  /** Reports requests for counting: lanes grouped by the space their address was resolved to. */
  countRequest(
    accesses: readonly { lane: number; address: Address; space: string }[],
    bytes: number,
    kind: RequestKind,
  ): void {
    if (!this.listens) return;
    for (const space of REQUEST_SPACES) {
      const own = accesses.filter((access) => access.space === space);
      if (own.length === 0) continue;
      const addresses = own.map(({ address }) => addressIn({ space }, address));
      const request = { space, kind, addresses, lanes: own.map((access) => access.lane), bytes };
      this.#around.onRequest!(this.#site!, this.warp, request);
    }
  }

  /** As {@link countRequest}, where all lanes' addresses lie in one space. */
  countRequestIn(
    space: 'global' | 'shared',
    addresses: number[],
    lanes: readonly number[],
    bytes: number,
    kind: RequestKind,
  ): void {
    if (!this.listens || lanes.length === 0) return;
    this.#around.onRequest!(this.#site!, this.warp, { space, kind, addresses, lanes, bytes });
  }

  /** Counts a copy of all lanes that lies so. */
  countCopy(pattern: CopyPattern, words: Uint32Array): void {
    this.#around.onCopy!(this.#site!, pattern, words);
  }

  /** Whether somebody takes {@link countCopy}. */
  get countsCopies(): boolean {
    return this.#around.onCopy !== undefined;
  }

  /** Reports what one lane copies: pieces of device or shared memory, as many at a time as a warp has lanes. */
  countChunks(
    space: 'global' | 'shared',
    addresses: readonly number[],
    bytes: number,
    kind: RequestKind,
    lane: number,
  ): void {
    if (!this.listens) return;
    const all = this.watcher ? LANE_ALONE[lane]! : ALL_LANES;
    for (let first = 0; first < addresses.length; first += LANES) {
      const some = addresses.slice(first, first + LANES);
      this.countRequestIn(space, some, some.length === LANES ? all : all.slice(0, some.length), bytes, kind);
    }
  }

  /**
   * Lands copies of all lanes to shared memory, of what takes all of its bytes from device memory or none. False if someone watches and
   * several lanes copy to one place: who watches sees what each of them leaves there.
   */
  landAll(words: Uint32Array, bytes: number): boolean {
    const { watcher, copier } = this.#around;
    if (watcher && !areApart(words)) return false;
    copier().copy(words, bytes);
    watcher?.landed(this.#site!, this.warp, words);
    return true;
  }

  /** Lands a lane's copy to shared memory: `taken` of its bytes come from device memory, the others are zeros. */
  land(target: number, source: number, taken: number, bytes: number, lane: number): void {
    const { view } = this.#memory;
    const { device } = this.#around;
    const to = SHARED + target;
    let at = 0;
    for (; at + 4 <= taken; at += 4) view.setUint32(to + at, device.getUint32(source + at, true), true);
    for (; at < taken; at++) view.setUint8(to + at, device.getUint8(source + at));
    for (; at < bytes; at++) view.setUint8(to + at, 0);
    this.#around.watcher?.landed(this.#site!, this.warp, [target], lane);
  }

  /** Lands what this CTA's `lane` sent to the shared memory of the CTA that runs, which completes an mbarrier there. */
  receive(bytes: Uint8Array, target: number, mbarrier: number, lane: number): void {
    this.#memory.u8.set(bytes, SHARED + target);
    this.reportLanded(target, bytes.length, mbarrier, lane);
  }

  /** Tells the race detector so. */
  reportLanded(target: number, bytes: number, mbarrier: number, lane: number): void {
    const sender = { from: this.cta.rank, site: this.#site!, warp: this.warp, lane };
    this.#around.watcher?.landedFromOutside(sender, mbarrier, target, bytes);
  }

  /** Copies a part of a bulk copy to shared memory. */
  landPart({ global, shared, bytes }: Part, swizzleBytes: number, fill: Uint8Array): void {
    const { u8 } = this.#memory;
    if (global === undefined) {
      for (let i = 0; i < bytes; i++) u8[SHARED + swizzled(shared + i, swizzleBytes)] = fill[i % fill.length]!;
      return;
    }
    this.#around.reads?.mark(global, bytes);
    const { device, copier } = this.#around;
    if (((shared | bytes) & (CHUNK_BYTES - 1)) === 0) {
      copier().copyPart(global, shared, bytes, chunkBitsOf(swizzleBytes));
      return;
    }
    for (let i = 0; i < bytes; i++) u8[SHARED + swizzled(shared + i, swizzleBytes)] = device.getUint8(global + i);
  }

  /** Copies a part of a bulk copy from shared memory. */
  sendPart({ global, shared, bytes }: Part, swizzleBytes: number): void {
    if (global === undefined) return;
    const { u8 } = this.#memory;
    const { device, writes } = this.#around;
    writes.mark(global, bytes);
    for (let i = 0; i < bytes; i++) device.setUint8(global + i, u8[SHARED + swizzled(shared + i, swizzleBytes)]!);
  }

  /** Combines a part of a bulk copy from shared memory with what lies in device memory. */
  reducePart({ global, shared, bytes }: Part, swizzleBytes: number, { elementBytes, apply }: ElementReduction): void {
    if (global === undefined) return;
    const { device, writes, reads } = this.#around;
    reads?.mark(global, bytes);
    writes.mark(global, bytes);
    for (let i = 0; i < bytes; i += elementBytes)
      apply(device, global + i, this.#memory.view, SHARED + swizzled(shared + i, swizzleBytes));
  }

  /** Operand as an unsigned 32-bit number. */
  word(operand: PtxOperand, lane: number): number {
    switch (operand.kind) {
      case 'register': {
        const { offset, uniform } = this.#register(operand.name);
        return this.#memory.u32[(this.warp + offset) / 4 + (uniform ? 0 : lane)]!;
      }
      case 'immediate':
        return Number(BigInt.asUintN(32, operand.value));
      case 'special':
        return this.#special(operand.name, lane) >>> 0;
      case 'address':
        return this.address(operand, lane).low;
      default:
        throw unsupported(this.instruction, `has a ${operand.kind} operand the virtual GPU does not take`);
    }
  }

  /** Where the operands of a cp.async lie; null if one is not of the usual kind. To be asked once for each instruction of an image. */
  copyOperands(): CopyOperands | null {
    const [to, from, size, taken] = this.operands;
    if (to?.kind !== 'address' || from?.kind !== 'address' || size?.kind !== 'immediate') return null;
    if (to.base?.kind !== 'register' || from.base?.kind !== 'register') return null;
    if (taken && taken.kind !== 'register') return null;
    const [target, source] = [this.#register(to.base.name), this.#register(from.base.name)];
    const count = taken && this.#register(taken.name);
    if (target.uniform || source.uniform || count?.uniform) return null;
    if (target.kind !== 'word' || source.kind !== 'double-word') return null;
    return {
      ...{ target: target.offset, targetOffset: Number(to.offset) },
      ...{ source: source.offset, sourceOffset: Number(from.offset) },
      ...{ bytes: Number(size.value), taken: count?.offset, shape: this.#around.copier().placeForShape() },
    };
  }

  /**
   * What all lanes copy, where that is as {@link LaneCopier.prepare} says and may be touched.
   * What it returns holds until it is asked again.
   */
  prepareCopy(operands: CopyOperands): PreparedCopy | undefined {
    if (this.lanes.length !== LANES) return undefined;
    const copy = this.#around.copier().prepare(operands, this.warp, this.#bounds.limits.shared);
    if (!copy || !isWithin(this.#reachable, copy.least, copy.most - copy.least + operands.bytes)) return undefined;
    return copy;
  }

  get privateBytes(): Uint8Array {
    return this.#memory.u8;
  }

  get privateWords(): Uint32Array {
    return this.#memory.u32;
  }

  /** `count` operands of all lanes from operand `first` on, as unsigned 32-bit numbers: [operand][lane]. */
  words(first: number, count: number): Uint32Array {
    const words = new Uint32Array(count * LANES);
    for (let i = 0; i < count; i++) {
      const operand = this.operands[first + i]!;
      const slot = operand.kind === 'register' ? this.#register(operand.name) : undefined;
      if (slot && !slot.uniform) {
        // A loop, since a view for 32 numbers costs more than copying them.
        const from = this.#memory.u32;
        const start = (this.warp + slot.offset) / 4;
        for (let lane = 0; lane < LANES; lane++) words[i * LANES + lane] = from[start + lane]!;
      } else if (operand.kind === 'immediate') {
        words.fill(this.word(operand, 0), i * LANES, (i + 1) * LANES);
      } else {
        for (let lane = 0; lane < LANES; lane++) words[i * LANES + lane] = this.word(operand, lane);
      }
    }
    return words;
  }

  /** Operand as an unsigned 64-bit integer. */
  double(operand: PtxOperand, lane: number): bigint {
    if (operand.kind === 'immediate') return BigInt.asUintN(64, operand.value);
    if (operand.kind === 'address') return this.wholeAddress(operand, lane);
    if (operand.kind !== 'register') throw unsupported(this.instruction);
    const { offset, uniform, kind } = this.#register(operand.name);
    if (kind !== 'double-word') return BigInt(this.word(operand, lane));
    return this.#memory.view.getBigUint64(this.warp + offset + (uniform ? 0 : lane * 8), true);
  }

  /** As {@link double}, in halves. */
  halves(operand: PtxOperand, lane: number): Address {
    if (operand.kind !== 'register') {
      const value = this.double(operand, lane);
      return { low: Number(BigInt.asUintN(32, value)), high: Number(value >> 32n) };
    }
    const register = this.#register(operand.name);
    if (register.kind !== 'double-word') return { low: this.word(operand, lane), high: 0 };
    const { u32 } = this.#memory;
    const at = (this.warp + register.offset + (register.uniform ? 0 : lane * 8)) >> 2;
    return { low: u32[at]!, high: u32[at + 1]! };
  }

  /** As {@link word}, of all lanes that take part. */
  wordsInto(operand: PtxOperand, into: Uint32Array): void {
    const register = operand.kind === 'register' ? this.#register(operand.name) : undefined;
    const { u32 } = this.#memory;
    if (register && !register.uniform)
      for (const lane of this.lanes) into[lane] = u32[((this.warp + register.offset) >> 2) + lane]!;
    else if (register || operand.kind === 'immediate') into.fill(this.word(operand, 0));
    else for (const lane of this.lanes) into[lane] = this.word(operand, lane);
  }

  /** Predicate operand; a `!`-negated one inverted. */
  predicate(operand: PtxOperand, lane: number): boolean {
    if (operand.kind === 'immediate') return operand.value !== 0n;
    const isNegated = operand.kind === 'register' && operand.negated === true;
    return (this.word(operand, lane) !== 0) !== isNegated;
  }

  setWord(operand: PtxOperand, lane: number, value: number): void {
    if (operand.kind !== 'register') return;
    this.#memory.i32[(this.warp + this.#register(operand.name).offset) / 4 + lane] = value | 0;
  }

  /** Sets a register of all lanes to the values from `first` on. */
  setWords(operand: PtxOperand, values: Int32Array | Uint32Array, first = 0): void {
    if (operand.kind !== 'register') return;
    const to = this.#memory.i32;
    const start = (this.warp + this.#register(operand.name).offset) / 4;
    for (let lane = 0; lane < LANES; lane++) to[start + lane] = values[first + lane]!;
  }

  /** As {@link setDouble}, in halves. */
  setHalves(operand: PtxOperand, lane: number, low: number, high: number): void {
    if (operand.kind !== 'register') return;
    const at = (this.warp + this.#register(operand.name).offset + lane * 8) >> 2;
    this.#memory.u32[at] = low;
    this.#memory.u32[at + 1] = high;
  }

  /** Sets a 64-bit register of all lanes that take part. */
  setAddresses(operand: PtxOperand, { low, high }: AddressHalves): void {
    if (operand.kind !== 'register') return;
    const { u32 } = this.#memory;
    const first = (this.warp + this.#register(operand.name).offset) >> 2;
    for (const lane of this.lanes) {
      u32[first + lane * 2] = low[lane]!;
      u32[first + lane * 2 + 1] = high[lane]!;
    }
  }

  setDouble(operand: PtxOperand, lane: number, value: bigint): void {
    if (operand.kind !== 'register') return;
    const { offset } = this.#register(operand.name);
    this.#memory.view.setBigUint64(this.warp + offset + lane * 8, BigInt.asUintN(64, value), true);
  }

  /** Operand as an unsigned integer of up to 64 bits. */
  integer(operand: PtxOperand, lane: number): bigint {
    return operand.kind === 'immediate' || this.isDouble(operand)
      ? this.double(operand, lane)
      : BigInt(this.word(operand, lane));
  }

  /** Writes the low bits of `value`, as many as the register has; a predicate is set by any value but 0. */
  setInteger(operand: PtxOperand, lane: number, value: bigint): void {
    if (operand.kind !== 'register') return;
    const { kind, bits } = this.#register(operand.name);
    if (kind === 'predicate') this.setPredicate(operand, lane, value !== 0n);
    else if (kind === 'double-word') this.setDouble(operand, lane, value);
    else this.setWord(operand, lane, Number(BigInt.asUintN(bits, value)));
  }

  setPredicate(operand: PtxOperand, lane: number, value: boolean): void {
    this.setWord(operand, lane, value ? -1 : 0);
  }

  /** True for 64-bit registers. */
  isDouble(operand: PtxOperand): boolean {
    return operand.kind === 'register' && this.#register(operand.name).kind === 'double-word';
  }

  /** Generic or space-relative 64-bit address of an address operand. */
  address(operand: PtxOperand, lane: number): Address {
    if (operand.kind !== 'address') throw unsupported(this.instruction);
    const { base, offset } = operand;
    if (base === null) return advance(ZERO, Number(offset));
    if (base.kind === 'special' && base.name === OWN_SHARED.name) return advance(this.ownAddress(0), Number(offset));
    if (base.kind !== 'register') throw unsupported(this.instruction, 'names a symbol in a warp-level access');
    return advance(this.halves(base, lane), Number(offset));
  }

  /** As {@link address}, of all lanes that take part, into arrays that are used again: making some takes as long as filling them. */
  addresses(operand: PtxOperand, into: AddressHalves): AddressHalves {
    const { low, high } = into;
    const base = operand.kind === 'address' ? operand.base : null;
    const register = base?.kind === 'register' ? this.#register(base.name) : undefined;
    if (operand.kind !== 'address' || !register) {
      for (const lane of this.lanes) ({ low: low[lane], high: high[lane] } = this.address(operand, lane));
      return into;
    }
    const words = register.kind === 'double-word' ? 2 : 1;
    const { u32 } = this.#memory;
    const displacement = Number(operand.offset);
    const first = (this.warp + register.offset) >> 2;
    for (const lane of this.lanes) {
      const at = register.uniform ? first : first + lane * words;
      const sum = u32[at]! + displacement;
      low[lane] = sum; // Typed arrays keep it modulo 2^32.
      high[lane] = (words === 2 ? u32[at + 1]! : 0) + (sum >= TWO_TO_32 ? 1 : sum < 0 ? -1 : 0);
    }
    return into;
  }

  /** @throws as {@link resolve}, for a store to shared memory. */
  checkSharedStore(low: number, high: number, bytes: number, lane: number): void {
    if (low % bytes === 0 && low + bytes <= this.#bounds.limits.shared) return;
    this.resolve({ low, high }, 'shared', bytes, true, lane);
  }

  /** @throws as {@link resolve}, for a load from device memory, of which `readBytes` are read. */
  checkGlobalLoad(low: number, high: number, bytes: number, lane: number, readBytes: number): void {
    if (high === WINDOW.global && low % bytes === 0 && isWithin(this.#reachable, low, bytes))
      this.#around.reads?.mark(low, readBytes);
    else this.resolve({ low, high }, 'global', bytes, false, lane, readBytes);
  }

  /**
   * Whether all lanes that take part access, by aligned addresses, what the operation may touch of device memory or the own shared
   * memory: one look at the least and the largest address.
   */
  areDirect({ low, high }: AddressHalves, space: string, bytes: number): space is 'global' | 'shared' {
    const isGlobal = space === 'global';
    if (!isGlobal && space !== 'shared') return false;
    const first = low[this.lanes[0]!]!;
    let [least, most, bits] = [first, first, 0];
    for (const lane of this.lanes) {
      const address = low[lane]!;
      if (isGlobal && high[lane] !== WINDOW.global) return false;
      if (address < least) least = address;
      if (address > most) most = address;
      bits |= address;
    }
    if ((bits & (bytes - 1)) !== 0) return false;
    return isGlobal
      ? isWithin(this.#reachable, least, most - least + bytes)
      : most + bytes <= this.#bounds.limits.shared && this.#rankIn(least, space) === this.cta.rank;
  }

  /** Where loads from a space find their bytes. */
  viewOf(space: string): DataView {
    return space === 'global' ? this.#around.device : this.#memory.view;
  }

  /** Bytes of device memory that an atomic changes at addresses that {@link areDirect} has checked. */
  markChanged({ low }: AddressHalves, bytes: number): void {
    const { writes, reads } = this.#around;
    for (const lane of this.lanes) {
      writes.mark(low[lane]!, bytes);
      reads?.mark(low[lane]!, bytes);
    }
  }

  /** Bytes of device memory that were read. */
  markRead(low: number, bytes: number): void {
    this.#around.reads?.mark(low, bytes);
  }

  /** @throws as {@link resolve}, for a stretch of device memory that need not be aligned. */
  checkGlobalBytes(offset: number, bytes: number, lane: number, isStore: boolean): void {
    if (isWithin(this.#reachable, offset, bytes)) return;
    const address = asBigInt({ low: offset >>> 0, high: WINDOW.global });
    const place = { instruction: this.instruction, lane, address, accessBytes: bytes, space: 'global' };
    this.#bounds.inDeviceMemory(this.#reachable, place, isStore ? 'write' : 'read');
  }

  /** What lies at the address of a tensor map; nothing where none can lie. */
  tensorMapBytes(operand: PtxOperand, lane: number, bytes: number): Uint8Array {
    const { low, high } = this.address(operand, lane);
    const isParameter = high === WINDOW.parameter && low + bytes <= PARAMETER_BYTES;
    return isParameter ? this.#memory.u8.subarray(PARAMETERS + low, PARAMETERS + low + bytes) : new Uint8Array(bytes);
  }

  wholeAddress(operand: PtxOperand, lane: number): bigint {
    return asBigInt(this.address(operand, lane));
  }

  /**
   * Checks and resolves one lane's access in `space` (for `generic`, by the address's window).
   * @param readBytes number of its bytes that are read.
   * @throws KernelFault if it is out of bounds or misaligned.
   */
  resolve(
    address: Address,
    space: string,
    bytes: number,
    isStore: boolean,
    lane: number,
    readBytes = isStore ? 0 : bytes,
  ): ResolvedAddress {
    const { low, high } = address;
    const isGeneric = space === 'generic';
    const isOwn = space === 'shared' && this.ownOffset(address, space) !== undefined;
    const place = () => ({
      instruction: this.instruction,
      lane,
      // As compiled code says it: without the rank.
      address: asBigInt(isOwn ? { low: low & OFFSET_IN_CTA, high } : address),
      accessBytes: bytes,
      space,
    });
    const verb = isStore ? 'write' : 'read';
    if (low % bytes !== 0) throw new KernelFault('misaligned', `misaligned ${bytes}-byte ${space} ${verb}`, place());
    const outOfBounds = () => new KernelFault('out-of-bounds', `out-of-bounds ${space} ${verb}`, place());
    if (space === 'global' || (isGeneric && high === WINDOW.global)) {
      if (high !== WINDOW.global || !isWithin(this.#reachable, low, bytes))
        this.#bounds.inDeviceMemory(this.#reachable, place(), verb);
      if (isStore) this.#around.writes.mark(low, bytes);
      if (readBytes > 0) this.#around.reads?.mark(low, readBytes);
      return { view: this.#around.device, offset: low, space: 'global' };
    }
    const view = this.#memory.view;
    if (space === 'shared' || (isGeneric && high === WINDOW.shared)) {
      const rank = this.#rankIn(low, space);
      if (rank !== this.cta.rank) return this.#resolveInCluster(rank, low, bytes, verb, place());
      const offset = low & OFFSET_IN_CTA;
      if (offset + bytes > this.#bounds.limits.shared) throw outOfBounds();
      return { view, offset: SHARED + offset, space: 'shared' };
    }
    if (space === 'local' || (isGeneric && high === WINDOW.local)) {
      if (low + bytes > this.#bounds.limits.local) throw outOfBounds();
      const base = this.#memory.u32[(this.warp + WARP.localBase) >> 2]! + lane * this.#bounds.limits.local;
      return { view, offset: base + low, space: 'local' };
    }
    if (!isStore && isGeneric && high === WINDOW.constant && low + bytes <= CONSTANT_BYTES)
      return { view, offset: CONSTANTS + low, space: 'const' };
    if (!isStore && isGeneric && high === WINDOW.parameter && low + bytes <= PARAMETER_BYTES)
      return { view, offset: PARAMETERS + low, space: 'param' };
    throw outOfBounds();
  }

  /** The same for an address that names another CTA of the cluster. */
  #resolveInCluster(rank: number, low: number, bytes: number, verb: string, place: FaultPlace): ResolvedAddress {
    if (place.space === 'shared' && !isOfCluster(this.instruction)) throw outOfOwnCta(rank, verb, place);
    const offset = low & OFFSET_IN_CTA;
    if (offset + bytes > this.#bounds.limits.shared)
      throw new KernelFault('out-of-bounds', `out-of-bounds ${verb} in the shared memory of CTA ${rank}`, place);
    const { shared } = this.liveNeighbour(rank, place.lane!);
    return { view: shared.view, offset: shared.start + offset, space: 'cluster' };
  }

  /**
   * Finds the offsets in shared memory of the rows of `bytes` that these lanes read, and puts them where `rows` has them by lane. Checks
   * each like `resolve`, and counts the request.
   * @throws KernelFault if one is out of bounds or misaligned.
   */
  sharedRows(operand: PtxOperand, lanes: readonly number[], bytes: number, rows: Int32Array): void {
    const accesses = lanes.map((lane) => {
      const address = this.address(operand, lane);
      rows[lane] = this.resolve(address, 'shared', bytes, false, lane).offset - SHARED;
      return { lane, address, space: 'shared' };
    });
    this.countRequest(accesses, bytes, 'load');
  }

  /** A warp's private memory in halves. */
  get sharedHalves(): Uint16Array {
    return this.#memory.u16;
  }

  #register(name: string): { offset: number; kind: string; bits: number; uniform: boolean } {
    const register = this.#image.registers.get(name);
    if (!register) throw new Error(`register ${name} has no slot`);
    return register;
  }

  #special(name: string, lane: number): number {
    const constants = LANE_CONSTANTS.get(name);
    if (constants) return constants(lane);
    const stored = LANE_SPECIALS.get(name);
    if (stored !== undefined) return this.#memory.i32[(this.warp + stored) / 4 + lane]!;
    const uniform = UNIFORM_SPECIALS.get(name);
    if (uniform) return this.#memory.i32[((uniform.area === 'warp' ? this.warp : 0) + uniform.offset) / 4]!;
    throw unsupported(this.instruction, `reads ${name}, which is not implemented on the virtual GPU`);
  }
}
