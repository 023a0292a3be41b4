import type { Access, AccessGroup } from '../codegen/memory/access-groups.ts';
import { LANES, PATTERN, PATTERN_PHASE, PATTERN_WAY, WARP, WAY_FOLDS } from '../layout.ts';
import { countSectors, fewestLines, sharedCost } from './access-costs.ts';
import type { PrivateMemory } from './memories.ts';

/** Sums for one access of a group. `units` are sectors (device memory) or wavefronts (shared). */
export interface AccessCounts {
  requests: number;
  lanes: number;
  units: number;
  conflicts: number;
  /** Wavefronts of loads as ptxas merges them. */
  merged: number;
  /** Lines of device memory that loads touch, the fewest where only the place in a sector is known. */
  lines: number;
}

interface AccessCost {
  lines: number;
  units: number;
  conflicts: number;
  merged: number;
}

/** The counts that one execution of a group with a given address pattern adds. */
interface PatternCost {
  /** The differences to the first active lane, and the mask, that have this cost. */
  key: Int32Array;
  lanes: number;
  costs: AccessCost[];
}

const wayAddress = (group: AccessGroup, way: number): number => group.pattern + PATTERN.ways + way * PATTERN.wayBytes;

function sameKey(a: Int32Array, b: Int32Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export const noCounts = (): AccessCounts => ({ requests: 0, lanes: 0, units: 0, conflicts: 0, merged: 0, lines: 0 });

/**
 * Counts requests, sectors and wavefronts exactly. The cost of a request depends only on the lanes' address differences and
 * on the address modulo a sector, so each such pattern is computed once and cached. Compiled code itself counts repetitions
 * of the last pattern.
 */
export class PatternCounter {
  #memory: PrivateMemory;
  #groups: readonly AccessGroup[];
  #counts: AccessCounts[][];
  #known: Map<number, PatternCost[]>[];
  /** The patterns whose repetitions compiled code is counting, by group and way. */
  #current: (PatternCost | undefined)[][];
  #key = new Int32Array(LANES + 2);

  constructor(memory: PrivateMemory, groups: readonly AccessGroup[]) {
    this.#memory = memory;
    this.#groups = groups;
    this.#counts = groups.map((group) => group.accesses.map(noCounts));
    this.#known = groups.map(() => new Map());
    this.#current = groups.map(() => new Array(PATTERN.wayCount).fill(undefined));
    for (const group of groups)
      if (group.pattern !== 0) memory.u8.fill(0, group.pattern, group.pattern + PATTERN.bytes);
  }

  /** One execution with a new pattern. `masked`: the warp's mask gives the active lanes. */
  miss(groupIndex: number, warp: number, masked: boolean): void {
    const group = this.#groups[groupIndex]!;
    const cost = this.#lookUp(group, warp, masked);
    if (masked || group.guarded) {
      this.#add(groupIndex, cost, 1);
      return;
    }
    const { i32 } = this.#memory;
    const addresses = (group.pattern + PATTERN.addresses) >> 2;
    const first = i32[addresses]!;
    const phase = PATTERN_PHASE[group.space === 'global' ? 'global' : 'shared'];
    const way = (WAY_FOLDS.reduce((bits, fold) => bits ^ (first >>> fold), first) >>> phase.wayShift) & phase.wayMask;
    this.#flush(groupIndex, way);
    this.#current[groupIndex]![way] = cost;
    const at = wayAddress(group, way);
    for (let lane = 0; lane < LANES; lane++)
      i32[(at + PATTERN_WAY.deltas) / 4 + lane] = (i32[addresses + lane]! - first) | 0;
    i32[(at + PATTERN_WAY.phase) >> 2] = first & phase.mask;
    i32[(at + PATTERN_WAY.valid) >> 2] = 1;
    i32[(at + PATTERN_WAY.hits) >> 2] = 1;
  }

  /** Sums per access, by group, of those with requests: there may be thousands that never run. */
  finish(): Map<number, AccessCounts[]> {
    this.#groups.forEach((_, index) => {
      for (let way = 0; way < PATTERN.wayCount; way++) this.#flush(index, way);
    });
    return new Map([...this.#counts.entries()].filter(([, [first]]) => first!.requests > 0));
  }

  #flush(groupIndex: number, way: number): void {
    const current = this.#current[groupIndex]![way];
    if (!current) return;
    const hits = (wayAddress(this.#groups[groupIndex]!, way) + PATTERN_WAY.hits) >> 2;
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
      counts.merged += times * cost.costs[i]!.merged;
      counts.lines += times * cost.costs[i]!.lines;
    });
  }

  /** The cost of the addresses that the group has just recorded, cached or computed. */
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
    const phase = (first ?? 0) & PATTERN_PHASE[group.space === 'global' ? 'global' : 'shared'].mask;
    this.#key[LANES] = bits;
    this.#key[LANES + 1] = phase;
    hash = (Math.imul(hash, 31) + bits) ^ phase;
    const known = this.#known[group.index]!;
    const candidates = known.get(hash);
    const match = candidates?.find((candidate) => sameKey(candidate.key, this.#key));
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
      const { bytes, quarter } = access;
      const own = quarter === undefined ? lanes : lanes.filter((lane) => lane >> 3 === quarter);
      const addresses = own.map((lane) => bias + this.#key[lane]! + access.offset - group.minimum);
      if (group.space === 'global')
        return { units: countSectors(addresses, bytes), lines: fewestLines(addresses, bytes), conflicts: 0, merged: 0 };
      const { wavefronts, conflicts } = sharedCost(addresses, own, bytes, access.isStore);
      return {
        units: wavefronts,
        lines: 0,
        conflicts,
        merged: mergedWavefronts(access, addresses, own) ?? wavefronts,
      };
    });
    return { key: this.#key.slice(), lanes: lanes.length, costs };
  }
}

/** Of a load that ptxas merges with its neighbours: of all of them if it is the first, else none. */
function mergedWavefronts(
  { mergedBytes }: Access,
  addresses: readonly number[],
  lanes: readonly number[],
): number | undefined {
  if (mergedBytes === undefined || mergedBytes === 0) return mergedBytes;
  // The first that is wanted may be the second of the wide load.
  const aligned = addresses.map((address) => address - (address % mergedBytes));
  return sharedCost(aligned, lanes, mergedBytes, false).wavefronts;
}
