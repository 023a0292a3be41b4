import type { PtxInstruction } from '../../ptx/ast.ts';
import type { RunnableImage } from '../kernel-image.ts';
import { LANES, PATTERN, WARP, WARPS } from '../layout.ts';
import type { PrivateMemory } from '../runtime/memories.ts';
import type { MemoryRequest } from '../runtime/site-requests.ts';
import { QuietWatcher } from './quiet-watcher.ts';
import { type WatchedAccess, watchedAccess, writesDeviceMemory } from './watched-access.ts';

/** Bytes of device memory. */
export interface WatchedPlace {
  readonly start: number;
  readonly bytes: number;
}

/** One store to a watched place. */
export interface WatchedWrite {
  readonly cta: number;
  readonly thread: number;
  readonly instruction: PtxInstruction;
}

/** The stores of a launch to a watched place: how many, the last, and the last before it by another thread. */
export interface WatchedWrites {
  readonly count: number;
  readonly last: WatchedWrite | undefined;
  readonly earlier: WatchedWrite | undefined;
}

/** Notes who stores to one place, in the order in which the launch runs. Looks for nothing else. */
export class WriteWatcher extends QuietWatcher {
  readonly #image: RunnableImage;
  readonly #memory: PrivateMemory;
  readonly #place: WatchedPlace;
  /** Stores of each group, and of each site, to device memory. */
  readonly #groups: readonly { offset: number; access: WatchedAccess }[][];
  readonly #sites: readonly (WatchedAccess | undefined)[];
  #count = 0;
  #last: WatchedWrite | undefined;
  #earlier: WatchedWrite | undefined;

  constructor(image: RunnableImage, memory: PrivateMemory, place: WatchedPlace) {
    super();
    this.#image = image;
    this.#memory = memory;
    this.#place = place;
    this.#groups = image.groups.map((group) =>
      group.space !== 'global'
        ? []
        : group.accesses.flatMap(({ instruction, offset }) => {
            const access = watchedAccess(instruction)!;
            return access.isWrite ? [{ offset: offset - group.minimum, access }] : [];
          }),
    );
    this.#sites = image.warpSites.map(({ instruction }) => {
      const access = watchedAccess(instruction);
      return access && writesDeviceMemory(access) ? access : undefined;
    });
  }

  get writes(): WatchedWrites {
    return { count: this.#count, last: this.#last, earlier: this.#earlier };
  }

  group(groupIndex: number, warpAddress: number, masked: boolean): void {
    const stores = this.#groups[groupIndex]!;
    if (stores.length === 0) return;
    const { pattern, guarded } = this.#image.groups[groupIndex]!;
    const { i32 } = this.#memory;
    const recorded = (pattern + PATTERN.addresses) >> 2;
    const ownMask = guarded ? (pattern + PATTERN.mask) >> 2 : -1;
    const warpMask = masked ? (warpAddress + WARP.mask) >> 2 : -1;
    for (const { offset, access } of stores) {
      for (let lane = 0; lane < LANES; lane++) {
        if (warpMask >= 0 && i32[warpMask + lane] === 0) continue;
        if (ownMask >= 0 && i32[ownMask + lane] === 0) continue;
        this.#note((i32[recorded + lane]! + offset) >>> 0, access, warpAddress, lane);
      }
    }
  }

  uniformGroup(groupIndex: number, address: number, warpAddress: number, masked: boolean): void {
    const mask = (warpAddress + WARP.mask) >> 2;
    const isActive = (lane: number): boolean => !masked || this.#memory.i32[mask + lane] !== 0;
    for (const { offset, access } of this.#groups[groupIndex]!)
      for (let lane = 0; lane < LANES; lane++)
        if (isActive(lane)) this.#note((address + offset) >>> 0, access, warpAddress, lane);
  }

  request(site: number, warpAddress: number, { space, kind, addresses, lanes }: MemoryRequest): void {
    const access = this.#sites[site];
    if (!access || space !== 'global' || kind === 'load') return;
    for (const [index, address] of addresses.entries()) this.#note(address, access, warpAddress, lanes[index]!);
  }

  #note(address: number, { bytes, instruction }: WatchedAccess, warpAddress: number, lane: number): void {
    const { start, bytes: size } = this.#place;
    if (address >= start + size || address + bytes <= start) return;
    const warp = (warpAddress - WARPS) / this.#image.warpBytes;
    const write = { cta: this.cta, thread: warp * LANES + lane, instruction };
    const last = this.#last;
    if (last && (last.cta !== write.cta || last.thread !== write.thread)) this.#earlier = last;
    this.#last = write;
    this.#count += 1;
  }
}
