import type { AccessGroup } from '../codegen/access-groups.ts';
import { BOUNDS, CONSTANT_BYTES, PARAMETER_BYTES, SCRATCH, WINDOW } from '../layout.ts';
import { KernelFault } from './fault.ts';
import type { DeviceRange, PrivateMemory } from './memories.ts';

/** Sizes of the spaces other than device memory, for the launch at hand. */
export interface SpaceLimits {
  shared: number;
  local: number;
}

/** Decides which addresses a kernel may touch. Compiled code asks only when its fast check fails. */
export class BoundsChecker {
  #memory: PrivateMemory;
  #groups: readonly AccessGroup[];
  #ranges: readonly DeviceRange[];
  #limits: SpaceLimits;

  constructor(
    memory: PrivateMemory,
    groups: readonly AccessGroup[],
    ranges: readonly DeviceRange[],
    limits: SpaceLimits,
  ) {
    this.#memory = memory;
    this.#groups = groups;
    this.#ranges = [...ranges].sort((a, b) => a.start - b.start);
    this.#limits = limits;
    for (const group of groups) this.#initialise(group);
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
   * The slow path: checks four lanes' addresses (left in the scratch area) access by access. Returns when all are
   * valid; device-memory groups then get the first lane's buffer as their new fast range.
   * @throws KernelFault for the first access, in program order, of the lowest lane that is not.
   */
  miss(groupIndex: number, chunk: number): void {
    const group = this.#groups[groupIndex]!;
    const at = SCRATCH >> 2;
    const { i32, u32 } = this.#memory;
    let found: DeviceRange | undefined;
    for (const access of group.accesses) {
      for (let lane = 0; lane < 4; lane++) {
        if (i32[at + 8 + lane] === 0) continue;
        const low = (u32[at + lane]! + access.offset - group.minimum) >>> 0;
        const high = u32[at + 4 + lane]!;
        const range = this.#check(group, access, low, high, chunk < 0 ? undefined : chunk / 4 + lane);
        found ??= range;
      }
    }
    if (found && group.space === 'global') this.#setBounds(group, found.start, found.bytes);
  }

  #check(
    group: AccessGroup,
    access: AccessGroup['accesses'][number],
    low: number,
    high: number,
    lane: number | undefined,
  ): DeviceRange | undefined {
    const where = {
      instruction: access.instruction,
      ...(lane === undefined ? {} : { lane }),
      address: (BigInt(high) << 32n) | BigInt(low),
      accessBytes: access.bytes,
      space: group.space,
    };
    const verb = access.isStore ? 'write' : 'read';
    if (low % access.bytes !== 0)
      throw new KernelFault('misaligned', `misaligned ${access.bytes}-byte ${group.space} ${verb}`, where);
    if (group.space !== 'global') {
      if (low + access.bytes <= this.#spaceBytes(group.space)) return undefined;
      throw new KernelFault(
        'out-of-bounds',
        `out-of-bounds ${group.space} ${verb}: ${access.bytes} bytes at ${low} of ${this.#spaceBytes(group.space)}`,
        where,
      );
    }
    const range = high === WINDOW.global ? this.find(low, access.bytes) : undefined;
    if (!range) throw new KernelFault('out-of-bounds', `out-of-bounds global ${verb}`, where);
    return range;
  }

  /** The buffer that holds all of the bytes, if any. */
  find(offset: number, bytes: number): DeviceRange | undefined {
    return this.#ranges.find((range) => offset >= range.start && offset + bytes <= range.start + range.bytes);
  }

  /** The buffer nearest to an address, for messages. */
  nearest(offset: number): DeviceRange | undefined {
    const distance = (r: DeviceRange) =>
      offset < r.start ? r.start - offset : Math.max(0, offset - (r.start + r.bytes));
    return this.#ranges.reduce<DeviceRange | undefined>(
      (best, range) => (best === undefined || distance(range) < distance(best) ? range : best),
      undefined,
    );
  }

  get limits(): SpaceLimits {
    return this.#limits;
  }
}
