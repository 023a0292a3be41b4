import type { Dim3 } from '../../core/launch-plan.ts';
import { has } from '../../ptx/instruction-parts.ts';
import { synchronisationOf } from '../../ptx/instructions/properties.ts';
import type { AccessGroup } from '../codegen/memory/access-groups.ts';
import type { RunnableImage } from '../kernel-image.ts';
import { ALL_LANES, CLUSTER_RANK_SHIFT, LANES, OFFSET_IN_CTA, PATTERN, SHARED, WARP, WARPS } from '../layout.ts';
import type { BoundsChecker } from '../runtime/bounds.ts';
import type { Neighbour } from '../runtime/cta-state.ts';
import type { DeviceRange, PrivateMemory } from '../runtime/memories.ts';
import type { MemoryRequest } from '../runtime/site-requests.ts';
import { AccessShapes, phasesOf, type ShapedAccess } from './access-shapes.ts';
import type { CellsOfOneWarp } from './cells-of-one-warp.ts';
import { type GridClock, later, type WarpClocks } from './clocks.ts';
import type { ClusterShadow } from './cluster-shadow.ts';
import { type Accessor, GlobalShadow, ownerOf } from './global-shadow.ts';
import { type BytesAt, type Moment, type OlderValue, OlderValues } from './older-values.ts';
import { RaceFaults, writeToInput } from './race-faults.ts';
import { ACCESS, blockBytes, cellsOf, DEVICE_HEAD, MOST_CELL_BYTES, SHADOW, strideOf } from './shadow-layout.ts';
import type { ShadowMemory } from './shadow-memory.ts';
import type { LaneAddresses } from './shared-shadow.ts';
import { smallestAccess, type WatchedAccess, watchedAccess, writesDeviceMemory } from './watched-access.ts';
import { ClusterClock, type LaneAccessor, WatchedCta } from './watched-cta.ts';

/** A launch whose accesses are watched. */
export interface WatchedLaunch {
  grid: Dim3;
  block: Dim3;
  warps: number;
  sharedBytes: number;
  /** Compare accesses of different CTAs, too; all of them then run on this thread, one after the other. */
  acrossCtas: boolean;
  /** All CTAs take turns. */
  isCooperative: boolean;
  /** The CTAs of the cluster that runs, by their rank; and how many may run together. */
  cluster: readonly Neighbour[];
  mostTogether: number;
  /** Launched as clusters, be they of one CTA each: only then something is sent to shared memory. */
  hasClusters: boolean;
  /** Those that run together are one cluster, not CTAs that wait for each other. */
  areCluster: boolean;
  bounds: BoundsChecker;
  device: Uint8Array;
  /** Every access is to be told. */
  leavesAll: boolean;
}

/** A read of shared memory that no thread of the CTA had written. */
export interface UninitialisedRead {
  access: WatchedAccess;
  address: number;
  /** Linear index of its CTA. */
  cta: number;
  thread: number;
}

/** A volatile or atomic read that gave a value older than the latest, as a GPU might. */
export interface OlderRead extends UninitialisedRead {
  space: Space;
}

/** `number` identifies an access in a shadow. */
interface NumberedAccess {
  readonly number: number;
  readonly access: WatchedAccess;
}

interface GroupAccess extends NumberedAccess {
  readonly offset: number;
  /** As in {@link Access}. */
  readonly quarter: number | undefined;
}

/** Compiled code that notes accesses of a group to shared memory, at the addresses of a pattern. */
export type WatchShared = (group: number, pattern: number, warp: number, how: number) => void;

type LanesOfRequest = Pick<MemoryRequest, 'addresses' | 'lanes'>;

/** A copy reads when it is issued, and writes when it lands. */
interface CopyParts {
  readonly read: WatchedAccess;
  readonly write: WatchedAccess;
}

/** A reduction writes as an atomic does. */
function partsOf(access: WatchedAccess): CopyParts {
  const isAtomic = access.isAtomic || access.instruction.modifiers[0] === 'reduce';
  return {
    read: { ...access, isWrite: false },
    write: { ...access, isRead: false, isAtomic, isStrong: access.isStrong || isAtomic },
  };
}

type Space = 'global' | 'shared';
type Released = Exclude<WatchedAccess['releases'], 'nothing'>;
const OTHER_SPACE: Readonly<Record<Space, Space>> = { global: 'shared', shared: 'global' };

/** Of blocks that may be needed: addresses have 32 bits. */
const MOST_BLOCKS_BYTES = 3 * 2 ** 30;

/** Times start again beyond it: a launch adds less than what is left. */
const LATEST_TIME = 2 ** 30;

/**
 * Finds two unordered accesses to one byte, of which at least one is a write. Ordered are: accesses of one thread; accesses of
 * one warp before and after an instruction with `.sync`; accesses before and after a barrier at which both warps meet; and
 * accesses before a fence that precedes an atomic, volatile or release store, with accesses after a read of that store. So the
 * detector finds a race in any execution order, if both accesses execute. Not races: two atomic or volatile accesses; a plain
 * read beside an atomic; writes that leave the value unchanged; what several lanes write to one place by one instruction.
 */
export class RaceDetector {
  readonly #image: RunnableImage;
  readonly #memory: PrivateMemory;
  /** Accesses of each group, and of each warp site; `number` identifies one in a shadow. */
  readonly #groups: GroupAccess[][];
  readonly #sites: ((NumberedAccess & { parts: CopyParts }) | undefined)[];
  readonly #accesses: WatchedAccess[] = [];
  readonly #faults = new RaceFaults(this.#accesses, () => ({ ...this.#launch, cta: this.#cta.linear }));
  /** Whether anything reads a value that strong writes leave, so that it might get an older one; and what such writes release. */
  readonly #hasValueReads: Record<Space, boolean>;
  readonly #hasAcquires: Record<Space, boolean>;
  /** Cells of device memory that compiled code notes. */
  readonly #cells: CellsOfOneWarp;
  /** By group: its list of accesses for compiled code. */
  readonly #lists: readonly number[];
  /** What compiled code notes; by group: its accesses, and where its reads or writes begin. */
  readonly #shadow: ShadowMemory;
  readonly #shapes: AccessShapes;
  readonly #shaped: readonly (readonly ShapedAccess[])[];
  readonly #phases: readonly (readonly number[])[];
  /** Warps and cells of the launch before; and the end of all blocks that were ever used. */
  #layout = '';
  #usedEnd = 0;
  #launch!: WatchedLaunch;
  #deviceView!: DataView;
  #watchShared!: WatchShared;
  /** By group and by site: whether the launch may both read and write the touched device memory. */
  #isTrackedGroup: boolean[] = [];
  #isTrackedSite: boolean[] = [];
  /** Inputs that a store might reach. */
  #readOnly: readonly DeviceRange[] = [];
  /** The CTAs that run together; and the one whose warps run. */
  #ctas: WatchedCta[] = [];
  #cta!: WatchedCta;
  readonly #cluster = new ClusterClock();
  #global: GlobalShadow;
  #olderGlobal!: OlderValues;
  /** Operations that JavaScript executes are counted; bits of the lanes of the one at hand that got an older value. */
  #operation = 0;
  #gotOlder = 0;
  /** The launch's first such read. */
  olderRead: OlderRead | undefined;
  /** What whoever reads an address takes over, by address. */
  #globalReleases = new Map<number, GridClock>();
  /** What readers of one CTA take over as well, in kernels in which something is released within a CTA alone. */
  readonly #releasesWithin = new Map<number, { readonly cta: number; readonly clock: GridClock }>();
  readonly #mayReleaseWithin: boolean;
  /** Of the group at hand; and one lane's alone. */
  readonly #together: LaneAddresses = laneAddresses();
  readonly #alone: LaneAddresses = { ...laneAddresses(), count: 1 };
  /** The first words of the shadow memory. */
  #header!: Int32Array;

  constructor(image: RunnableImage, memory: PrivateMemory, shadow: ShadowMemory, cells: CellsOfOneWarp) {
    this.#image = image;
    this.#memory = memory;
    this.#cells = cells;
    const number = (access: WatchedAccess): number => this.#accesses.push(access) - 1;
    this.#groups = image.groups.map((group) =>
      group.accesses.map(({ instruction, offset, quarter }) => {
        const access = { ...watchedAccess(instruction)!, space: group.space };
        return { number: number(access), offset: offset - group.minimum, access, quarter };
      }),
    );
    this.#sites = image.warpSites.map((site) => {
      const access = watchedAccess(site.instruction);
      return access && { number: number(access), access, parts: partsOf(access) };
    });
    const isAtomicForItself = new Set(
      this.#sites.flatMap((site, i) =>
        site?.access.isAtomic && !image.warpSites[i]!.isResultUsed ? [site.access] : [],
      ),
    );
    const reads = this.#accesses.filter(({ isStrong, isRead }) => isStrong && isRead);
    const inBoth = (holds: (space: Space) => boolean) => ({ global: holds('global'), shared: holds('shared') });
    const mayBeIn = (space: Space, access: WatchedAccess) => access.space !== OTHER_SPACE[space];
    this.#hasValueReads = inBoth((space) => reads.some((one) => mayBeIn(space, one) && !isAtomicForItself.has(one)));
    this.#hasAcquires = inBoth(
      (space) => mayRelease(image, this.#accesses) && reads.some((one) => mayBeIn(space, one)),
    );
    this.#mayReleaseWithin = mayReleaseWithin(image, this.#accesses);
    this.#global = new GlobalShadow(0, 4, false, false);
    this.#shadow = shadow;
    this.#shapes = new AccessShapes(shadow, image.sharedUnitBytes);
    this.#shaped = this.#groups.map((accesses) =>
      accesses.map(({ access: { bytes, isWrite }, ...rest }) => ({ ...rest, bytes, isWrite })),
    );
    this.#phases = this.#shaped.map(phasesOf);
    this.#lists = this.#writeLists();
  }

  /** Tells compiled code of the accesses of groups to device memory. Returns where, by group. */
  #writeLists(): number[] {
    const { i32, lists } = this.#shadow;
    let end = lists;
    return this.#groups.map((accesses) => {
      const list = end;
      i32[list >> 2] = accesses.length;
      end += ACCESS.list;
      for (const { number, offset, access } of accesses) {
        i32[(end + ACCESS.offset) >> 2] = offset;
        i32[(end + ACCESS.bytes) >> 2] = access.bytes;
        i32[(end + ACCESS.where) >> 2] = number * LANES;
        i32[(end + ACCESS.isWrite) >> 2] = access.isWrite ? 1 : 0;
        end += ACCESS.size;
      }
      return list;
    });
  }

  attach(watchShared: WatchShared): void {
    this.#watchShared = watchShared;
  }

  begin(launch: WatchedLaunch): void {
    this.#launch = launch;
    const { bounds } = launch;
    const written = new Set<DeviceRange>();
    const rangesOfGroup = (group: AccessGroup) => (group.space === 'global' ? bounds.rangesOfGroup(group.index) : []);
    for (const group of this.#image.groups)
      if (group.accesses.some(({ isStore }) => isStore)) for (const range of rangesOfGroup(group)) written.add(range);
    this.#sites.forEach((site, index) => {
      if (site && writesDeviceMemory(site.access)) for (const range of bounds.rangesOfSite(index)) written.add(range);
    });
    this.#readOnly = [...written].filter(({ isReadOnly }) => isReadOnly);
    this.#isTrackedGroup = this.#image.groups.map((group) => rangesOfGroup(group).some((range) => written.has(range)));
    this.#isTrackedSite = this.#sites.map((_, index) => bounds.rangesOfSite(index).some((range) => written.has(range)));
    this.#ctas = [];
    this.#deviceView = new DataView(launch.device.buffer, launch.device.byteOffset);
    this.olderRead = undefined;
    this.#globalReleases.clear();
    this.#releasesWithin.clear();
    this.#layOutShadow();
    this.#watchDevice();
    this.#olderGlobal = this.#newOlderValues();
  }

  /** Cells are as large as the launch's smallest access to device memory that it both reads and writes, up to a limit. */
  #watchDevice(): void {
    const { warps, acrossCtas, isCooperative, areCluster, device, leavesAll } = this.#launch;
    const tracked = [
      ...this.#groups.flatMap((accesses, group) => (this.#isTrackedGroup[group] ? accesses : [])).map((a) => a.access),
      ...this.#sites.map((site, index) => (this.#isTrackedSite[index] ? site?.access : undefined)),
    ];
    const unit = Math.min(smallestAccess('global', tracked), MOST_CELL_BYTES);
    const spare = this.#global.release(unit);
    const lone = leavesAll ? undefined : this.#cells;
    lone?.begin(device.length, unit, this.#now());
    this.#global = new GlobalShadow(warps, unit, acrossCtas, isCooperative || areCluster, spare, lone);
    this.#header[SHADOW.launchStart >> 2] = this.#now();
    this.#header[SHADOW.deviceShift >> 2] = Math.log2(unit);
    for (const { index, space } of this.#image.groups)
      if (space === 'global') this.#header[(SHADOW.heads >> 2) + index] = this.#headOf(index);
  }

  #headOf(group: number): number {
    if (this.#launch.leavesAll) return DEVICE_HEAD.leftToJavaScript;
    if (!this.#isTrackedGroup[group]) return DEVICE_HEAD.unwatched;
    const isUsual = this.#groups[group]!.every(
      ({ access: { isStrong, isNonCoherent, bytes } }) => !isStrong && !isNonCoherent && bytes <= 16,
    );
    return isUsual && this.#readOnly.length === 0 ? this.#lists[group]! : DEVICE_HEAD.leftToJavaScript;
  }

  /** Times go on from launch to launch, so that the shadow needs no clearing. */
  #layOutShadow(): void {
    const { warps, sharedBytes, mostTogether } = this.#launch;
    const cells = cellsOf(sharedBytes, this.#image.sharedUnitBytes);
    this.#shadow.reserve(this.#blockOf(mostTogether));
    this.#header = this.#shadow.i32.subarray(0, this.#shadow.lists >> 2);
    const layout = `${warps} ${cells}`;
    const { i32 } = this.#shadow;
    if (layout !== this.#layout || this.#now() > LATEST_TIME) {
      i32.fill(0, this.#shadow.blocks >> 2, this.#usedEnd >> 2);
      this.#cells.forget();
      this.#header[SHADOW.time >> 2] = 0;
    }
    this.#layout = layout;
    i32[SHADOW.warps >> 2] = warps;
    i32[SHADOW.stride >> 2] = strideOf(cells);
  }

  /** Address of a CTA's block. */
  #blockOf(index: number): number {
    return this.#shadow.blocks + index * this.#blockBytes(this.#launch);
  }

  #blockBytes({ warps, sharedBytes }: Pick<WatchedLaunch, 'warps' | 'sharedBytes'>): number {
    const unit = this.#image.sharedUnitBytes;
    return blockBytes(warps, cellsOf(sharedBytes, unit), unit);
  }

  /** How many CTAs of a launch can be watched together. */
  roomFor(launch: Pick<WatchedLaunch, 'warps' | 'sharedBytes'>): number {
    return Math.floor(MOST_BLOCKS_BYTES / this.#blockBytes(launch));
  }

  /** Has compiled code note accesses of the CTA that runs. */
  #useShadow(): void {
    const { leavesAll } = this.#launch;
    const { linear, shared, across } = this.#cta;
    this.#header[SHADOW.cta >> 2] = leavesAll || across?.hasForeign ? 0 : shared.block;
    this.#header[SHADOW.block >> 2] = shared.block;
    this.#header[SHADOW.owner >> 2] = ownerOf({ cta: linear, warp: 0 });
  }

  /** The latest time of any warp: compiled code, too, lets it pass. No getter, since V8 calls its runtime for a private one. */
  #now(): number {
    return this.#header[SHADOW.time >> 2]!;
  }

  #countExecution(): void {
    this.#header[SHADOW.execution >> 2]!++;
  }

  /** The launch's first read of shared memory that no thread of the CTA had written. */
  get uninitialisedRead(): UninitialisedRead | undefined {
    const reader = this.#ctas.find(({ shared }) => shared.unwritten);
    if (!reader) return undefined;
    const { address, warp, where } = reader.shared.unwritten!;
    const access = this.#accesses[Math.floor(where / LANES)]!;
    return { access, address, cta: reader.linear, thread: warp * LANES + (where % LANES) };
  }

  /** Whether several CTAs wrote to one place, without a check for races. */
  get crossed(): boolean {
    return this.#global.crossed;
  }

  /** @param index among those that run together: its rank in a cluster. */
  beginCta(linear: number, index: number): void {
    const { warps } = this.#launch;
    if (index === 0) this.#cluster.forget();
    else if (!this.#launch.areCluster) this.#takeTurns();
    this.#ctas[index] ??= this.#newCta(index);
    this.#cta = this.#ctas[index];
    this.#cta.begin(linear, this.#now());
    this.#useShadow();
    for (let warp = 0; warp < warps; warp++) this.#tick(warp);
  }

  /** A CTA begins before another has ended. */
  #takeTurns(): void {
    this.#global.takeTurns();
    this.#olderGlobal.takeTurns();
  }

  /** How many reads of device memory, and of the CTA's shared memory, got an older value. */
  get olderReads(): number {
    return this.#olderGlobal.given + this.#cta.older.given;
  }

  /** See {@link OlderValues.endPatience}. */
  endPatience(): void {
    this.#olderGlobal.endPatience();
    this.#cta.older.endPatience();
  }

  #newCta(index: number): WatchedCta {
    const { warps, sharedBytes, hasClusters } = this.#launch;
    const shared = this.#memory.u8.subarray(SHARED, SHARED + sharedBytes);
    const place = { shadow: this.#shadow, block: this.#blockOf(index) };
    this.#usedEnd = Math.max(this.#usedEnd, this.#blockOf(index + 1));
    return new WatchedCta(warps, shared, this.#image.sharedUnitBytes, place, this.#newOlderValues(), hasClusters);
  }

  #newOlderValues(): OlderValues {
    const { isCooperative, areCluster } = this.#launch;
    const isBefore = (moment: Moment, by: Accessor): boolean => this.#global.isBefore(moment, by);
    const looks = Math.max(0, ...this.#image.spinLoops.map((loop) => loop.looks));
    return new OlderValues(isBefore, looks, isCooperative, isCooperative || areCluster);
  }

  /** Another of the CTAs that run together has its turn. */
  enterCta(index: number): void {
    this.#cta = this.#ctas[index]!;
    this.#useShadow();
  }

  /** A warp arrives at the cluster's barrier, and perhaps releases what it did. */
  clusterArrive(warpAddress: number, releases: boolean): void {
    const warp = this.#warpOf(warpAddress);
    if (releases) this.#cluster.arrive(this.#cta.clocks.snapshot(warp, this.#cta.linear));
    this.#lanesOf(warp);
  }

  clusterComplete(): void {
    this.#cluster.complete();
  }

  /** A warp goes on behind the cluster's barrier. */
  clusterWait(warp: number): void {
    this.#cta.clocks.acquire(warp, this.#cta.linear, this.#cluster.completed);
    this.#lanesOf(warp);
  }

  /** Advances the time of `warp`: others have not seen its accesses from now on. */
  #tick(warp: number): void {
    this.#cta.clocks.tick(warp, ++this.#header[SHADOW.time >> 2]!);
    this.#cta.shared.clockChanged(warp);
  }

  /** Warps meet at a barrier. */
  barrier(id: number, warps: readonly number[]): void {
    const { arrived, clocks, fenced, fencedForAll, linear, shared } = this.#cta;
    fenced.join(warps, linear, undefined);
    fencedForAll.join(warps, linear, undefined);
    const now = this.#now();
    if (warps.length === this.#launch.warps && arrived.size === 0) {
      clocks.joinAll(now);
      shared.allMet(now);
      this.#header[SHADOW.time >> 2] = now + warps.length;
      return;
    }
    clocks.join(warps, linear, arrived.get(id));
    arrived.delete(id);
    shared.learned(warps, now);
    for (const warp of warps) this.#lanesOf(warp);
  }

  /** A warp arrives at a barrier and continues; `completes` if nobody waits for it. */
  arrive(id: number, warpAddress: number, completes: boolean): void {
    const warp = this.#warpOf(warpAddress);
    if (completes) this.#cta.arrived.delete(id);
    else {
      const own = this.#cta.clocks.snapshot(warp, this.#cta.linear)!;
      const before = this.#cta.arrived.get(id);
      this.#cta.arrived.set(id, before ? later(before, own) : own);
    }
    this.#lanesOf(warp);
  }

  /** Lanes of a warp meet: what they did before is ordered with what others do after. Compiled code sees to instructions with `.sync`. */
  #lanesOf(warp: number): void {
    const time = ++this.#header[SHADOW.time >> 2]!;
    this.#cta.clocks.tick(warp, time);
    this.#cta.shared.lanesMet(warp, time);
  }

  /** A thread arrives at an mbarrier of the CTA of this rank. Those that wait for each other have rank 0, each of them. */
  released(mbarrier: number, warpAddress: number, rank: number): void {
    const warp = this.#warpOf(warpAddress);
    const target = this.#launch.areCluster ? this.#ctas[rank]! : this.#cta;
    this.#releaseAt(mbarrier, target, this.#cta.clocks.snapshot(warp, this.#cta.linear));
    this.#lanesOf(warp);
  }

  #releaseAt(mbarrier: number, { mbarriers }: WatchedCta, own: GridClock | undefined): void {
    const before = mbarriers.get(mbarrier);
    if (own) mbarriers.set(mbarrier, before ? later(before, own) : own);
  }

  /** A phase of an mbarrier for which a thread waited is complete. */
  acquired(mbarrier: number, warpAddress: number): void {
    const warp = this.#warpOf(warpAddress);
    const released = this.#cta.mbarriers.get(mbarrier);
    if (released) this.#cta.clocks.acquire(warp, this.#cta.linear, released);
    this.#cta.shared.learned([warp], this.#now());
    this.#lanesOf(warp);
  }

  /** @param isForAll whether other CTAs know of it. */
  fence(warpAddress: number, isForAll: boolean): void {
    const warp = this.#warpOf(warpAddress);
    const { clocks, fenced, fencedForAll } = this.#cta;
    fenced.copyRow(warp, clocks);
    if (isForAll) fencedForAll.copyRow(warp, clocks);
    this.#tick(warp);
  }

  /** `fence.proxy.async`: what was written before is there for wgmma and bulk copies. */
  proxyFence(warpAddress: number): void {
    this.#cta.proxyFence = this.#now();
    this.#tick(this.#warpOf(warpAddress));
  }

  /**
   * One execution of a group whose lanes have recorded their addresses.
   * @param left what compiled code has not noted. Of shared memory: the first phase, or −1 if it knows no shape of the group that fits. Of
   *   device memory: the first access × 32 + the first lane.
   */
  group(groupIndex: number, warpAddress: number, masked: boolean, left: number): void {
    const group = this.#image.groups[groupIndex]!;
    if (group.space === 'global') {
      if (this.#isTrackedGroup[groupIndex]) this.#deviceGroup(group, warpAddress, masked, left);
      return;
    }
    this.#collectLanes(group, warpAddress, masked);
    if (left < 0) this.#rememberLanes(group, warpAddress, masked);
    const warp = this.#warpOf(warpAddress);
    for (const { number, offset, access, quarter } of this.#from(left, groupIndex)) {
      if (quarter !== undefined) this.#collectLanes(group, warpAddress, masked, quarter * 8, quarter * 8 + 8);
      if (!access.isWrite && this.#cta.shared.knowsReads(this.#together, offset, access.bytes, warp)) continue;
      this.#noteShared(this.#together, offset, access, number, warp);
    }
  }

  #deviceGroup(group: AccessGroup, warpAddress: number, masked: boolean, left: number): void {
    const warp = this.#warpOf(warpAddress);
    const [first, lane] = [Math.floor(left / LANES), left % LANES];
    this.#collectLanes(group, warpAddress, masked, lane);
    const accesses = this.#groups[group.index]!;
    for (let i = first; i < accesses.length; i++) {
      if (i === first + 1 && lane > 0) this.#collectLanes(group, warpAddress, masked);
      this.#noteGlobal(this.#together, accesses[i]!.offset, accesses[i]!, warp);
    }
  }

  #inputAt(address: number): DeviceRange | undefined {
    if (this.#readOnly.length === 0) return undefined;
    return this.#readOnly.find(({ start, bytes }) => address >= start && address < start + bytes);
  }

  /** A warp's accesses to device memory. @throws KernelFault when one of them races. */
  #noteGlobal(
    { addresses, lanes, otherLanes, count }: LaneAddresses,
    offset: number,
    { number, access }: NumberedAccess,
    warp: number,
  ): void {
    const { bytes, isStrong, isWrite, isNonCoherent } = access;
    const by = this.#laneAccessor(warp, 0);
    for (let i = 0; i < count; i++) {
      const address = (addresses[i]! + offset) >>> 0;
      const where = number * LANES + lanes[i]!;
      by.lanes.otherLane = otherLanes[i]!;
      const input = this.#inputAt(address);
      if (input) {
        // Nothing can race with a read of what nobody may write, and to list all who read an input costs the square of their number.
        if (isWrite) throw writeToInput(input, { space: 'global', address, access, lane: lanes[i]! });
        continue;
      }
      const stale = isNonCoherent ? this.#global.lastWriteOf(address, bytes) : undefined;
      if (stale) throw this.#faults.stale(stale, { space: 'global', address, access, lane: lanes[i]! });
      const racing = isWrite
        ? this.#global.write(address, bytes, where, isStrong, by, this.#launch.device)
        : this.#global.read(address, bytes, where, isStrong, by);
      if (racing) throw this.#faults.race(racing, { space: 'global', address, access, lane: lanes[i]! }, warp);
    }
  }

  /** The accesses of a group from a phase on. */
  #from(phase: number, group: number): GroupAccess[] {
    const accesses = this.#groups[group]!;
    return phase <= 0 ? accesses : accesses.slice(this.#phases[group]![phase]);
  }

  #rememberLanes({ index, pattern }: AccessGroup, warpAddress: number, masked: boolean): void {
    const { i32 } = this.#memory;
    const at = (pattern + PATTERN.addresses) >> 2;
    const recorded = i32.subarray(at, at + LANES);
    const bits = this.#activeBits(index, warpAddress, masked);
    this.#shapes.add(this.#shaped[index]!, { group: index, bits, lanes: this.#together, recorded });
  }

  #activeBits(group: number, warpAddress: number, masked: boolean): number {
    const { pattern, guarded } = this.#image.groups[group]!;
    const { i32 } = this.#memory;
    const masks = [...(masked ? [warpAddress + WARP.mask] : []), ...(guarded ? [pattern + PATTERN.mask] : [])];
    let bits = 0;
    for (let lane = 0; lane < LANES; lane++)
      if (masks.every((mask) => i32[(mask >> 2) + lane] !== 0)) bits |= 1 << lane;
    return bits;
  }

  /** Collects the group's active lanes from one on and their addresses, without equal neighbours. */
  #collectLanes(group: AccessGroup, warpAddress: number, masked: boolean, firstLane = 0, end = LANES): void {
    const { i32 } = this.#memory;
    const { addresses, lanes, otherLanes } = this.#together;
    const recorded = (group.pattern + PATTERN.addresses) >> 2;
    const ownMask = group.guarded ? (group.pattern + PATTERN.mask) >> 2 : -1;
    const warpMask = masked ? (warpAddress + WARP.mask) >> 2 : -1;
    const isOfMatrices = group.accesses[0]!.quarter !== undefined;
    let count = 0;
    for (let lane = firstLane; lane < end; lane++) {
      if (warpMask >= 0 && i32[warpMask + lane] === 0) continue;
      if (ownMask >= 0 && i32[ownMask + lane] === 0) continue;
      const address = i32[recorded + lane]!;
      // Rows of different matrices are read one after the other.
      if (count > 0 && address === addresses[count - 1] && !(isOfMatrices && lane % 8 === 0)) {
        otherLanes[count - 1] = lane;
        continue;
      }
      addresses[count] = address;
      otherLanes[count] = 0;
      lanes[count++] = lane;
    }
    this.#together.count = count;
  }

  /** @throws KernelFault when one of the lanes' accesses races. */
  #noteShared(lanes: LaneAddresses, offset: number, access: WatchedAccess, number: number, warp: number): void {
    const { bytes, isStrong, isAtomic, isWrite } = access;
    const noted = { bytes, warp, number, isStrong, isAtomic };
    const racing = isWrite
      ? this.#cta.shared.writes(lanes, offset, noted)
      : this.#cta.shared.reads(lanes, offset, noted);
    if (!racing) {
      if (this.#cta.across?.hasForeign) this.#noteOwn(lanes, offset, access, number, warp);
      return;
    }
    const address = (lanes.addresses[racing.index]! + offset) >>> 0;
    throw this.#faults.race(
      racing.earlier,
      { space: 'shared', address, access, lane: lanes.lanes[racing.index]! },
      warp,
    );
  }

  /** Compares accesses to the own shared memory with those of other CTAs. @throws KernelFault */
  #noteOwn(
    { addresses, lanes, count }: LaneAddresses,
    offset: number,
    access: WatchedAccess,
    number: number,
    warp: number,
  ): void {
    const { across, memory } = this.#placeOf(this.#cta);
    const by = this.#accessor(warp);
    for (let i = 0; i < count; i++) {
      const address = (addresses[i]! + offset) >>> 0;
      const racing = across.noteOwn(address, number * LANES + lanes[i]!, access, by, memory);
      if (racing) throw this.#faults.race(racing, { space: 'shared', address, access, lane: lanes[i]! }, warp);
    }
  }

  /** An access to the shared memory of a CTA of the cluster. @throws KernelFault */
  #noteAt(
    { across, memory, by }: { across: ClusterShadow; memory: Uint8Array; by: Accessor },
    address: number,
    { number, access }: NumberedAccess,
    lane: number,
  ): void {
    const racing = across.note(address, number * LANES + lane, access, by, memory);
    this.#useShadow();
    if (racing) throw this.#faults.race(racing, { space: 'shared', address, access, lane }, by.warp);
  }

  #placeOf(cta: WatchedCta): { across: ClusterShadow; memory: Uint8Array } {
    const { view, start } = this.#launch.cluster[this.#ctas.indexOf(cta)]!.shared;
    return { across: cta.across!, memory: new Uint8Array(view.buffer, start, this.#launch.sharedBytes) };
  }

  /** An access to another CTA's shared memory. */
  #noteRemote(
    address: number,
    { number, access }: NumberedAccess,
    warpAddress: number,
    lane: number,
    otherLane: number,
  ): void {
    const warp = this.#warpOf(warpAddress);
    const target = this.#ctas[address >>> CLUSTER_RANK_SHIFT]!;
    const offset = address & OFFSET_IN_CTA;
    const { isStrong, isRead, isWrite, releases } = access;
    const released = isStrong && isRead ? target.releases.get(offset) : undefined;
    if (released) this.#takeOver(warp, released);
    this.#noteAt(
      { ...this.#placeOf(target), by: this.#laneAccessor(warp, otherLane) },
      offset,
      { number, access },
      lane,
    );
    if (isWrite) target.shared.filled(offset, access.bytes);
    if (releases !== 'nothing') this.#releaseTo(target.releases, offset, warp, releases);
  }

  /**
   * What a warp of a CTA sent has reached the shared memory of the CTA that runs, and completes an mbarrier there.
   * @param from rank of the sender.
   */
  landedFromOutside(
    { from, site, warp: warpAddress, lane }: { from: number; site: number; warp: number; lane: number },
    mbarrier: number,
    address: number,
    bytes: number,
  ): void {
    const { number, access } = this.#sites[site]!;
    const [sender, receiver] = [this.#ctas[from]!, this.#cta];
    const warp = this.#warpOf(warpAddress);
    const write = { ...access, bytes, isRead: false, isWrite: true };
    this.#countExecution();
    const at = { ...this.#placeOf(receiver), by: this.#laneAccessor(warp, 0, sender) };
    this.#noteAt(at, address, { number, access: write }, lane);
    receiver.shared.filled(address, bytes);
    this.#releaseAt(mbarrier, receiver, sender.clocks.snapshot(warp, sender.linear));
  }

  /** The CTA that runs has ended. @throws KernelFault for accesses of others that may come later. */
  endCta(): void {
    const { warps } = this.#launch;
    const open = this.#cta.across?.openAtEnd(Array.from({ length: warps }, (_, warp) => this.#accessor(warp)));
    if (open) throw this.#faults.afterEnd(open);
  }

  /** One execution of a group with one address for all lanes. */
  uniformGroup(groupIndex: number, address: number, warpAddress: number, masked: boolean, phase: number): void {
    const group = this.#image.groups[groupIndex]!;
    if (group.space === 'global' && !this.#isTrackedGroup[groupIndex]) return;
    const [first = 0, other = 0] = masked ? this.#activeLanes(warpAddress) : [0, 1];
    if (phase < 0 && group.space === 'shared') {
      this.#alone.addresses[0] = address;
      this.#alone.lanes[0] = first;
      this.#alone.otherLanes[0] = other;
      const bits = this.#activeBits(groupIndex, warpAddress, masked);
      this.#shapes.add(this.#shaped[groupIndex]!, { group: groupIndex, bits, lanes: this.#alone, recorded: undefined });
    }
    for (const { number, offset, access } of this.#from(phase, groupIndex))
      this.#note(group.space as Space, (address + offset) >>> 0, number, access, warpAddress, first, other);
  }

  #activeLanes(warpAddress: number): number[] {
    const mask = (warpAddress + WARP.mask) >> 2;
    const lanes: number[] = [];
    for (let lane = 0; lane < LANES; lane++) if (this.#memory.i32[mask + lane] !== 0) lanes.push(lane);
    return lanes;
  }

  #olderOf(space: Space): OlderValues {
    return space === 'shared' ? this.#cta.older : this.#olderGlobal;
  }

  /** Whether {@link beforeWrite} wants to know of strong writes. */
  remembers(space: string): boolean {
    return (space === 'global' || space === 'shared') && this.#hasValueReads[space];
  }

  /** A lane is about to write by a strong access. */
  beforeWrite(space: string, address: number, latest: BytesAt): void {
    if (space === 'global' || space === 'shared') this.#olderOf(space).beforeWrite(address, latest);
  }

  /**
   * What a lane's strong read gives instead of the latest value; undefined if it gets that.
   * @param suits whether an older value can be given.
   */
  olderValue(
    site: number,
    warpAddress: number,
    space: string,
    address: number,
    lane: number,
    latest: BytesAt,
    suits?: (contents: DataView) => boolean,
  ): DataView | undefined {
    if ((space !== 'global' && space !== 'shared') || (space === 'global' && !this.#launch.acrossCtas))
      return undefined;
    const warp = this.#warpOf(warpAddress);
    const suitsHere = suits && ((older: OlderValue) => suits(given(older)));
    const older = this.#olderOf(space).read(address, latest, this.#accessor(warp), this.#operation, suitsHere);
    if (!older) return undefined;
    if (older.clock) this.#takeOver(warp, older.clock);
    this.#gotOlder |= 1 << lane;
    if (this.olderRead) return given(older);
    const { access } = this.#sites[site]!;
    this.olderRead = { access, space, address, cta: this.#cta.linear, thread: warp * LANES + lane };
    return given(older);
  }

  /** Whether requests of a site to a space are of no interest: it touches only device memory that the launch does not write. */
  ignores(site: number, space: Space): boolean {
    return space === 'global' && !this.#isTrackedSite[site];
  }

  /** One request that JavaScript executed. A copy to shared memory lands later. */
  request(site: number, warpAddress: number, request: MemoryRequest): void {
    this.#countExecution();
    const { space, kind, addresses, lanes } = request;
    const { number, access, parts } = this.#sites[site]!;
    if (space === 'shared' && kind === 'load' && !access.isStrong) {
      if (access.isAsync) this.#refuseUnfenced(addresses, lanes, access);
      this.#noteSharedReads(request, { number, access: parts.read }, this.#warpOf(warpAddress));
      return;
    }
    if (space === 'cluster') this.#noteRemotes(request, { number, access }, warpAddress);
    else if (space !== 'local' && !this.ignores(site, space)) {
      if (access.instruction.opcode === 'cp') this.#noteCopies(space, request, site, warpAddress);
      else if (this.#takesTurns(space, access)) this.#noteInTurns(space, request, { number, access }, warpAddress);
      else this.#noteAtOnce(space, request, { number, access }, this.#warpOf(warpAddress));
    }
    this.#operation++;
    this.#gotOlder = 0;
  }

  #noteRemotes({ addresses, lanes }: LanesOfRequest, { number, access }: NumberedAccess, warpAddress: number): void {
    for (const [i, address] of addresses.entries())
      if (access.isAtomic || address !== addresses[i - 1])
        this.#noteRemote(address, { number, access }, warpAddress, lanes[i]!, otherLaneAt(addresses, lanes, i));
  }

  /** Whether what a lane reads or leaves matters to the lanes after it. */
  #takesTurns(space: Space, { isStrong, isWrite }: WatchedAccess): boolean {
    return isStrong && (this.#hasAcquires[space] || (isWrite && this.#hasValueReads[space]));
  }

  /** Lanes that do the same count as one; of atomics at one address, the first, which meets others, and the last, which stays. */
  #isRepeated(access: WatchedAccess, addresses: readonly number[], i: number): boolean {
    const isRepeated = i > 0 && addresses[i] === addresses[i - 1];
    return access.isAtomic ? isRepeated && addresses[i] === addresses[i + 1] && this.#gotOlder === 0 : isRepeated;
  }

  #noteInTurns(
    space: Space,
    { addresses, lanes }: LanesOfRequest,
    { number, access }: NumberedAccess,
    warpAddress: number,
  ): void {
    for (let i = 0; i < addresses.length; i++) {
      if (this.#isRepeated(access, addresses, i)) continue;
      const other = access.isAtomic ? 0 : otherLaneAt(addresses, lanes, i);
      this.#note(space, addresses[i]!, number, access, warpAddress, lanes[i]!, other);
    }
  }

  #noteAtOnce(space: Space, request: LanesOfRequest, { number, access }: NumberedAccess, warp: number): void {
    this.#collectRequest(request, access);
    if (space === 'shared') this.#noteShared(this.#together, 0, access, number, warp);
    else this.#noteGlobal(this.#together, 0, { number, access }, warp);
  }

  #noteSharedReads(request: LanesOfRequest, { number, access }: NumberedAccess, warp: number): void {
    this.#collectRequest(request, access);
    if (this.#cta.shared.knowsReads(this.#together, 0, access.bytes, warp)) return;
    this.#noteShared(this.#together, 0, access, number, warp);
  }

  /** Collects the lanes of a request, as {@link #collectLanes} does those of a group. */
  #collectRequest({ addresses, lanes }: LanesOfRequest, access: WatchedAccess): void {
    const { addresses: own, lanes: numbers, otherLanes } = this.#together;
    const { isAtomic } = access;
    let count = 0;
    for (let i = 0; i < addresses.length; i++) {
      const address = addresses[i]!;
      if (isAtomic ? this.#isRepeated(access, addresses, i) : i > 0 && address === addresses[i - 1]) continue;
      own[count] = address;
      numbers[count] = lanes[i]!;
      otherLanes[count++] = isAtomic ? 0 : otherLaneAt(addresses, lanes, i);
    }
    this.#together.count = count;
  }

  /** @throws KernelFault for what a copy to shared memory, which lands later, would overwrite too early. */
  #noteCopies(space: Space, { kind, addresses, lanes }: MemoryRequest, site: number, warpAddress: number): void {
    const { number, access, parts } = this.#sites[site]!;
    const warp = this.#warpOf(warpAddress);
    if (kind === 'load') {
      this.#collectEach(addresses, 0, addresses.length, lanes);
      this.#noteGlobal(this.#together, 0, { number, access: parts.read }, warp);
      return;
    }
    for (const [i, address] of addresses.entries()) {
      if (space === 'global') {
        this.#note(space, address, number, parts.write, warpAddress, lanes[i]!);
        continue;
      }
      const racing = this.#cta.shared.overwritten(address, access.bytes, warp);
      if (racing) throw this.#faults.race(racing, { space, address, access, lane: lanes[i]! });
    }
  }

  /**
   * Wgmma and bulk copies read by another proxy. Any thread's fence since the write will do: the path on which it must lie is not
   * followed.
   * @throws KernelFault for a write by an ordinary store that no fence follows.
   */
  #refuseUnfenced(addresses: readonly number[], lanes: readonly number[], access: WatchedAccess): void {
    const isGeneric = (where: number): boolean =>
      this.#accesses[Math.floor(where / LANES)]!.instruction.opcode !== 'cp';
    const { shared, proxyFence } = this.#cta;
    const racing = shared.writtenSince(addresses, access.bytes, proxyFence, isGeneric);
    if (!racing) return;
    const { index, earlier } = racing;
    throw this.#faults.unfenced(earlier, {
      ...{ space: 'shared', address: addresses[index]!, access, lane: lanes[index]! },
    });
  }

  /**
   * Pieces of copies of an earlier request have reached shared memory.
   * @param lane that copied them all; undefined where each lane copied one.
   */
  landed(site: number, warpAddress: number, addresses: ArrayLike<number>, lane?: number): void {
    const { number, parts } = this.#sites[site]!;
    const { landing } = this.#image.warpSites[site]!;
    if (lane === undefined && landing !== undefined && this.#header[SHADOW.cta >> 2] !== 0) {
      const { pattern } = this.#image.groups[landing]!;
      for (let i = 0; i < LANES; i++) this.#memory.i32[((pattern + PATTERN.addresses) >> 2) + i] = addresses[i]!;
      this.#watchShared(landing, pattern, warpAddress, 0);
      return;
    }
    const lanes = lane === undefined ? ALL_LANES : new Array<number>(LANES).fill(lane);
    const count = lane === undefined ? LANES : addresses.length;
    // Lanes' parts are compared with those of other CTAs one by one.
    const most = lane === undefined && this.#cta.across?.hasForeign ? 1 : LANES;
    for (let first = 0; first < count; first += most) {
      this.#collectEach(addresses, first, Math.min(most, count - first), most === 1 ? [first] : lanes);
      this.#noteShared(this.#together, 0, parts.write, number, this.#warpOf(warpAddress));
    }
  }

  /** Collects accesses from one on, each for itself. */
  #collectEach(addresses: ArrayLike<number>, first: number, count: number, lanes: readonly number[]): void {
    const together = this.#together;
    together.count = count;
    together.otherLanes.fill(0);
    for (let i = 0; i < count; i++) {
      together.addresses[i] = addresses[first + i]!;
      together.lanes[i] = lanes[i]!;
    }
  }

  /** @param otherLane that did the same at this address; 0 if none did. */
  #note(
    space: Space,
    address: number,
    number: number,
    access: WatchedAccess,
    warpAddress: number,
    lane: number,
    otherLane = 0,
  ): void {
    const warp = this.#warpOf(warpAddress);
    const { isStrong, isRead, isWrite, bytes } = access;
    if (isStrong && isRead && this.#hasAcquires[space] && ((this.#gotOlder >>> lane) & 1) === 0)
      this.#acquire(space, address, warp);
    this.#alone.addresses[0] = address;
    this.#alone.lanes[0] = lane;
    this.#alone.otherLanes[0] = otherLane;
    if (space === 'shared') this.#noteShared(this.#alone, 0, access, number, warp);
    else this.#noteGlobal(this.#alone, 0, { number, access }, warp);
    if (access.releases !== 'nothing' && this.#hasAcquires[space]) {
      if (space === 'shared') this.#releaseTo(this.#cta.releases, address, warp, access.releases);
      else this.#releaseToDevice(address, warp, access.releases);
    }
    if (isStrong && isWrite && this.#hasValueReads[space]) {
      const releases = space === 'shared' ? this.#cta.releases : this.#globalReleases;
      const latest =
        space === 'shared'
          ? { view: this.#memory.view, offset: SHARED + address, bytes }
          : { view: this.#deviceView, offset: address, bytes };
      this.#olderOf(space).wrote(address, latest, this.#accessor(warp), releases.get(address));
    }
  }

  #accessor(warp: number, cta = this.#cta): Accessor {
    const accessor = cta.accessors[warp]!;
    accessor.time = cta.timeOf(warp);
    return accessor;
  }

  /** As {@link #accessor}, for an access that may race with those of other lanes of its warp. */
  #laneAccessor(warp: number, otherLane: number, cta = this.#cta): LaneAccessor {
    const accessor = cta.laneAccessors[warp]!;
    accessor.time = cta.timeOf(warp);
    const { lanes } = accessor;
    lanes.met = cta.shared.metForDevice(warp);
    lanes.execution = this.#header[SHADOW.execution >> 2]!;
    lanes.otherLane = otherLane;
    return accessor;
  }

  #acquire(space: Space, address: number, warp: number): void {
    const released = (space === 'shared' ? this.#cta.releases : this.#globalReleases).get(address);
    if (released) this.#takeOver(warp, released);
    const within = space === 'shared' ? undefined : this.#releasesWithin.get(address);
    if (within?.cta === this.#cta.linear) this.#takeOver(warp, within.clock);
  }

  /**
   * A warp has read what others released. What lanes of its own did before a fence and a flag comes before what follows, as if the
   * lanes had met there.
   */
  #takeOver(warp: number, released: GridClock): void {
    const { clocks, linear, shared } = this.#cta;
    clocks.acquire(warp, linear, released);
    shared.learned([warp], this.#now());
    shared.clockChanged(warp);
    const own = released.get(linear)?.[warp];
    if (own !== undefined) shared.lanesMetForDevice(warp, Math.max(shared.metForDevice(warp), own + 1));
  }

  #releaseTo(releases: Map<number, GridClock>, address: number, warp: number, what: Released): void {
    this.#releaseClock(releases, address, warp, what === 'fenced' ? this.#cta.fenced : this.#cta.clocks);
    if (what !== 'fenced') this.#tick(warp);
  }

  /** Readers of the same CTA take over more than others, where a fence or the access is for the CTA alone. */
  #releaseToDevice(address: number, warp: number, what: Released): void {
    const { clocks, fenced, fencedForAll, linear } = this.#cta;
    if (what !== 'everything within the CTA')
      this.#releaseClock(this.#globalReleases, address, warp, what === 'fenced' ? fencedForAll : clocks);
    if (this.#mayReleaseWithin && what !== 'everything') {
      const own = (what === 'fenced' ? fenced : clocks).snapshot(warp, linear);
      const before = this.#releasesWithin.get(address);
      if (own) {
        const clock = before?.cta === linear ? later(before.clock, own) : own;
        this.#releasesWithin.set(address, { cta: linear, clock });
      }
    }
    if (what !== 'fenced') this.#tick(warp);
  }

  #releaseClock(releases: Map<number, GridClock>, address: number, warp: number, clocks: WarpClocks): void {
    const own = clocks.snapshot(warp, this.#cta.linear);
    if (!own) return;
    const before = releases.get(address);
    releases.set(address, before ? later(before, own) : own);
  }

  #warpOf(address: number): number {
    return (address - WARPS) / this.#image.warpBytes;
  }
}

/** Whether a strong write of the kernel may release anything. */
const mayRelease = ({ warpSites }: RunnableImage, accesses: readonly WatchedAccess[]): boolean =>
  accesses.some(({ releases }) => releases.startsWith('everything')) ||
  warpSites.some(({ instruction }) => synchronisationOf(instruction) === 'memory');

/** Whether anything is released to the threads of a CTA alone. */
const mayReleaseWithin = ({ warpSites }: RunnableImage, accesses: readonly WatchedAccess[]): boolean =>
  accesses.some(({ releases }) => releases === 'everything within the CTA') ||
  warpSites.some(({ instruction }) => synchronisationOf(instruction) === 'memory' && has(instruction, 'cta'));

const laneAddresses = (): LaneAddresses => ({
  addresses: new Int32Array(LANES),
  lanes: new Uint8Array(LANES),
  otherLanes: new Uint8Array(LANES),
  count: 0,
});

/** The next lane, if it has the same address. */
const otherLaneAt = (addresses: readonly number[], lanes: readonly number[], i: number): number =>
  addresses[i + 1] === addresses[i] ? lanes[i + 1]! : 0;

/** An older value, until the next: no atomic and no element that may be older has more bytes. */
function given({ words }: OlderValue): DataView {
  for (let i = 0; i < words.length; i++) GIVEN.setInt32(i * 4, words[i]!, true);
  return GIVEN;
}
const GIVEN = new DataView(new ArrayBuffer(64));
