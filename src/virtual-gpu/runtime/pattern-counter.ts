import type { AccessGroup } from '../codegen/access-groups.ts';
import { LANES, PATTERN, WARP } from '../layout.ts';
import { countSectors, countWavefronts, leastWavefronts, SECTOR_BYTES } from './access-costs.ts';
import type { PrivateMemory } from './memories.ts';

/** Sums for one access of a group. `units` are sectors (device memory) or wavefronts (shared). */
export interface AccessCounts {
  requests: number;
  lanes: number;
  units: number;
  conflicts: number;
}

interface AccessCost {
  units: number;
  conflicts: number;
}

/** What one execution of a group with a given address pattern adds. */
interface PatternCost {
  /** Differences to the first active lane, and the mask, that this is the cost of. */
  key: Int32Array;
  lanes: number;
  costs: AccessCost[];
}

const emptyCounts = (): AccessCounts => ({ requests: 0, lanes: 0, units: 0, conflicts: 0 });

/**
 * Counts requests, sectors and wavefronts exactly. The cost of a request depends only on the lanes' address
 * differences and on the address modulo a sector, so each such pattern is worked out once and remembered;
 * compiled code counts repetitions of the last one by itself.
 */
export class PatternCounter {
  #memory: PrivateMemory;
  #groups: readonly AccessGroup[];
  #counts: AccessCounts[][];
  #known: Map<number, PatternCost[]>[];
  /** The pattern whose repetitions compiled code is counting, by group. */
  #current: (PatternCost | undefined)[];
  #key = new Int32Array(LANES + 2);

  constructor(memory: PrivateMemory, groups: readonly AccessGroup[]) {
    this.#memory = memory;
    this.#groups = groups;
    this.#counts = groups.map((group) => group.accesses.map(emptyCounts));
    this.#known = groups.map(() => new Map());
    this.#current = groups.map(() => undefined);
    for (const group of groups)
      if (group.pattern !== 0) memory.u8.fill(0, group.pattern, group.pattern + PATTERN.bytes);
  }

  /** One execution whose pattern is not the last one. `masked`: the warp's mask says which lanes take part. */
  miss(groupIndex: number, warp: number, masked: boolean): void {
    const group = this.#groups[groupIndex]!;
    const cost = this.#lookUp(group, warp, masked);
    if (masked || group.guarded) {
      this.#add(groupIndex, cost, 1);
      return;
    }
    this.#flush(groupIndex);
    this.#current[groupIndex] = cost;
    const { i32 } = this.#memory;
    const at = group.pattern >> 2;
    const addresses = at + PATTERN.addresses / 4;
    const first = i32[addresses]!;
    for (let lane = 0; lane < LANES; lane++) i32[at + PATTERN.deltas / 4 + lane] = (i32[addresses + lane]! - first) | 0;
    i32[at + PATTERN.phase / 4] = first & (SECTOR_BYTES - 1);
    i32[at + PATTERN.valid / 4] = 1;
    i32[at + PATTERN.hits / 4] = 1;
  }

  /** Sums per group and access. */
  finish(): AccessCounts[][] {
    this.#groups.forEach((_, index) => {
      this.#flush(index);
    });
    return this.#counts;
  }

  #flush(groupIndex: number): void {
    const current = this.#current[groupIndex];
    if (!current) return;
    const hits = (this.#groups[groupIndex]!.pattern + PATTERN.hits) >> 2;
    this.#add(groupIndex, current, this.#memory.i32[hits]!);
    this.#memory.i32[hits] = 0;
  }

  #add(groupIndex: number, cost: PatternCost, times: number): void {
    if (cost.lanes === 0) return;
    this.#counts[groupIndex]!.forEach((counts, i) => {
      counts.requests += times;
      counts.lanes += times * cost.lanes;
      counts.units += times * cost.costs[i]!.units;
      counts.conflicts += times * cost.costs[i]!.conflicts;
    });
  }

  /** Finds or works out the cost of the addresses the group has just recorded. */
  #lookUp(group: AccessGroup, warp: number, masked: boolean): PatternCost {
    const { i32 } = this.#memory;
    const addresses = (group.pattern + PATTERN.addresses) >> 2;
    const ownMask = group.guarded ? (group.pattern + PATTERN.mask) >> 2 : undefined;
    const warpMask = masked ? (warp + WARP.mask) >> 2 : undefined;
    let bits = 0;
    let first: number | undefined;
    let hash = 0;
    for (let lane = 0; lane < LANES; lane++) {
      const active =
        (warpMask === undefined || i32[warpMask + lane] !== 0) && (ownMask === undefined || i32[ownMask + lane] !== 0);
      const address = i32[addresses + lane]!;
      if (active) {
        bits |= 1 << lane;
        first ??= address;
      }
      const delta = active ? (address - first!) | 0 : 0;
      this.#key[lane] = delta;
      hash = (Math.imul(hash, 31) + delta) | 0;
    }
    const phase = (first ?? 0) & (SECTOR_BYTES - 1);
    this.#key[LANES] = bits;
    this.#key[LANES + 1] = phase;
    hash = (Math.imul(hash, 31) + bits) ^ phase;
    const known = this.#known[group.index]!;
    const candidates = known.get(hash);
    const match = candidates?.find((candidate) => candidate.key.every((value, i) => value === this.#key[i]));
    if (match) return match;
    const cost = this.#workOut(group, bits, phase);
    if (candidates) candidates.push(cost);
    else known.set(hash, [cost]);
    return cost;
  }

  #workOut(group: AccessGroup, bits: number, phase: number): PatternCost {
    const lanes: number[] = [];
    for (let lane = 0; lane < LANES; lane++) if ((bits >>> lane) & 1) lanes.push(lane);
    // A bias keeps addresses positive without changing sectors or banks.
    const bias = 2 ** 33 + phase;
    const costs = group.accesses.map((access): AccessCost => {
      const addresses = lanes.map((lane) => bias + this.#key[lane]! + access.offset - group.minimum);
      if (group.space === 'global') return { units: countSectors(addresses, access.bytes), conflicts: 0 };
      const units = countWavefronts(addresses, lanes, access.bytes);
      return { units, conflicts: units - leastWavefronts(addresses, access.bytes) };
    });
    return { key: this.#key.slice(), lanes: lanes.length, costs };
  }
}
