import { type Origins, reachableBuffers } from '../../ptx/pointer-origins.ts';
import type { WarpSite } from '../codegen/kernel-context.ts';
import type { AccessGroup } from '../codegen/memory/access-groups.ts';
import {
  BOUNDS,
  CLUSTER_RANK_SHIFT,
  CONSTANT_BYTES,
  LANES,
  PARAMETER_BYTES,
  SCRATCH,
  WARP,
  WINDOW,
} from '../layout.ts';
import { type FaultPlace, KernelFault, outOfOwnCta } from './fault.ts';
import type { DeviceRange, PrivateMemory } from './memories.ts';

/** Sizes of the spaces other than device memory, for the current launch. */
export interface SpaceLimits {
  shared: number;
  local: number;
}

/** The buffers of a launch, and which of them each of the kernel's pointers belongs to. */
export interface DeviceBuffers {
  ranges: readonly DeviceRange[];
  /** Indices of ranges by name of the parameter or variable that gives their address. */
  byName: Readonly<Record<string, readonly number[]>>;
}

/**
 * Decides which addresses a kernel may access: through a pointer from a parameter, only that parameter's buffer. Compiled
 * code asks only if its fast check fails.
 */
export class BoundsChecker {
  #memory: PrivateMemory;
  #groups: readonly AccessGroup[];
  #buffers: DeviceBuffers;
  #limits: SpaceLimits;
  #groupRanges: (readonly DeviceRange[])[];
  #siteRanges: (readonly DeviceRange[])[];

  constructor(
    memory: PrivateMemory,
    image: { groups: readonly AccessGroup[]; warpSites: readonly WarpSite[] },
    buffers: DeviceBuffers,
    limits: SpaceLimits,
  ) {
    this.#memory = memory;
    this.#groups = image.groups;
    this.#buffers = buffers;
    this.#limits = limits;
    this.#groupRanges = image.groups.map((group) => (group.space === 'global' ? this.#reachable(group.origins) : []));
    this.#siteRanges = image.warpSites.map((site) => this.#reachable(site.origins));
    for (const group of image.groups) this.#initialise(group);
  }

  #reachable(origins: Origins): readonly DeviceRange[] {
    const { ranges, byName } = this.#buffers;
    const reachable = reachableBuffers(origins, (name) => byName[name] ?? []);
    return reachable ? [...reachable].map((index) => ranges[index]!) : ranges;
  }

  /** Device memory that a group of accesses may touch. */
  rangesOfGroup(group: number): readonly DeviceRange[] {
    return this.#groupRanges[group]!;
  }

  /** Device memory that a warp-level operation may touch. */
  rangesOfSite(site: number): readonly DeviceRange[] {
    return this.#siteRanges[site]!;
  }

  /** Nothing of device memory is in range until a group's first access; the other spaces are fixed. */
  #initialise(group: AccessGroup): void {
    const size = group.space === 'global' ? 0 : this.#spaceBytes(group.space);
    this.#setBounds(group, 0, size);
  }

  #spaceBytes(space: AccessGroup['space']): number {
    if (space === 'shared') return this.#limits.shared;
    if (space === 'local') return this.#limits.local;
    return space === 'const' ? CONSTANT_BYTES : PARAMETER_BYTES;
  }

  #setBounds(group: AccessGroup, start: number, bytes: number): void {
    this.#memory.u32[(group.bounds + BOUNDS.start) >> 2] = start;
    this.#memory.u32[(group.bounds + BOUNDS.count) >> 2] = Math.max(0, bytes - group.range + 1);
  }

  /**
   * The slow path: checks four lanes' addresses (left in the scratch area) access by access. Returns if all are valid;
   * groups in device memory then get the first lane's buffer as their new fast range.
   * @throws KernelFault for the first invalid access, in program order, of the lowest lane that has one.
   */
  miss(groupIndex: number, chunk: number, warp: number): void {
    const group = this.#groups[groupIndex]!;
    const at = SCRATCH >> 2;
    const { i32, u32 } = this.#memory;
    let found: DeviceRange | undefined;
    for (const access of group.accesses) {
      for (let lane = 0; lane < 4; lane++) {
        if (i32[at + 8 + lane] === 0) continue;
        // The window was checked on the base, before the offset was added, so a carry belongs to the address.
        const base = (BigInt(u32[at + 4 + lane]!) << 32n) | BigInt((u32[at + lane]! - group.minimum) >>> 0);
        const address = group.space === 'global' ? BigInt.asUintN(64, base + BigInt(access.offset)) : undefined;
        const low = (u32[at + lane]! + access.offset - group.minimum) >>> 0;
        const high = address === undefined ? 0 : Number(address >> 32n);
        const thread = chunk < 0 ? this.#firstLane(group, warp) : chunk / 4 + lane;
        const range = this.#check(group, access, low, high, thread);
        found ??= range;
      }
    }
    if (found && group.space === 'global') this.#setBounds(group, found.start, found.bytes);
  }

  /** An address common to the warp is the first active lane's. */
  #firstLane(group: AccessGroup, warp: number): number {
    if (!group.masked) return 0;
    let lane = 0;
    while (lane < LANES - 1 && this.#memory.i32[(warp + WARP.mask) / 4 + lane] === 0) lane++;
    return lane;
  }

  #check(
    group: AccessGroup,
    access: AccessGroup['accesses'][number],
    low: number,
    high: number,
    lane: number,
  ): DeviceRange | undefined {
    const where: FaultPlace & { address: bigint; accessBytes: number } = {
      instruction: access.instruction,
      lane,
      address: (BigInt(high) << 32n) | BigInt(low),
      accessBytes: access.bytes,
      space: group.space,
    };
    const verb = access.isStore ? 'write' : 'read';
    if (low % access.bytes !== 0)
      throw new KernelFault('misaligned', `misaligned ${access.bytes}-byte ${group.space} ${verb}`, where);
    if (group.space !== 'global') {
      if (low + access.bytes <= this.#spaceBytes(group.space)) return undefined;
      const named = low >>> CLUSTER_RANK_SHIFT;
      if (group.space === 'shared' && named > 0) throw outOfOwnCta(named, verb, where);
      throw new KernelFault(
        'out-of-bounds',
        `out-of-bounds ${group.space} ${verb}: ${access.bytes} bytes at ${low} of ${this.#spaceBytes(group.space)}`,
        where,
      );
    }
    return this.inDeviceMemory(this.#groupRanges[group.index]!, where, verb);
  }

  /**
   * The buffer among `reachable` that contains all of the bytes.
   * @throws KernelFault if none does.
   */
  inDeviceMemory(
    reachable: readonly DeviceRange[],
    where: FaultPlace & { address: bigint; accessBytes: number },
    verb: 'read' | 'write',
  ): DeviceRange {
    const { address, accessBytes } = where;
    const offset = Number(address & 0xffffffffn);
    const isDevice = Number(address >> 32n) === WINDOW.global;
    const holds = (r: DeviceRange) => offset >= r.start && offset + accessBytes <= r.start + r.bytes;
    const range = isDevice ? reachable.find(holds) : undefined;
    if (range) return range;
    const intended = isDevice ? nearestRange(offset, reachable) : undefined;
    throw new KernelFault('out-of-bounds', `out-of-bounds global ${verb}`, {
      ...where,
      buffer: intended
        ? { name: intended.name, offsetBytes: offset - intended.start, sizeBytes: intended.bytes }
        : undefined,
    });
  }

  get limits(): SpaceLimits {
    return this.#limits;
  }
}

/** The range that an offset lies in, or nearest to; the first of equals. */
export function nearestRange(offset: number, ranges: readonly DeviceRange[]): DeviceRange | undefined {
  const distance = (r: DeviceRange) => (offset < r.start ? r.start - offset : Math.max(0, offset - r.start - r.bytes));
  return ranges.reduce<DeviceRange | undefined>(
    (best, range) => (best === undefined || distance(range) < distance(best) ? range : best),
    undefined,
  );
}
