import { type GridClock, later, NOTHING_BEFORE, WarpClocks } from './clocks.ts';
import { ClusterShadow } from './cluster-shadow.ts';
import type { Accessor, LaneSurroundings } from './global-shadow.ts';
import type { OlderValues } from './older-values.ts';
import { BLOCK } from './shadow-layout.ts';
import type { ShadowMemory } from './shadow-memory.ts';
import { SharedShadow } from './shared-shadow.ts';

/** A warp whose lanes are compared, too. */
export type LaneAccessor = Accessor & { lanes: LaneSurroundings };

/** What the race detector knows of a CTA that runs, beyond device memory. */
export class WatchedCta {
  linear = 0;
  /** Each warp's clock now, at its last fence, and at the last one that other CTAs know of, too: `__threadfence()`, not `__threadfence_block()`. */
  readonly clocks: WarpClocks;
  readonly fenced: WarpClocks;
  readonly fencedForAll: WarpClocks;
  readonly shared: SharedShadow;
  /** The same beside what is sent to it, in a launch with clusters. */
  readonly across: ClusterShadow | undefined;
  readonly older: OlderValues;
  /** What whoever reads an address of shared memory takes over, by address. */
  readonly releases = new Map<number, GridClock>();
  /** Clocks of arrivals without waiting, by barrier number. */
  readonly arrived = new Map<number, GridClock>();
  /** What whoever waits at an mbarrier takes over, by its address. */
  readonly mbarriers = new Map<number, GridClock>();
  /** Time of the last `fence.proxy.async` of any thread. */
  proxyFence = 0;
  /** Its warps, with the times of their last accesses: one object for each, since there are millions of accesses. */
  readonly accessors: readonly Accessor[];
  readonly laneAccessors: readonly LaneAccessor[];

  /** @param unitBytes the kernel's smallest access to shared memory. */
  constructor(
    warps: number,
    shared: Uint8Array,
    unitBytes: number,
    place: { shadow: ShadowMemory; block: number },
    older: OlderValues,
    hasClusters: boolean,
  ) {
    const rows = new Int32Array(place.shadow.memory.buffer, place.block + BLOCK.rows, warps * warps);
    this.clocks = new WarpClocks(warps, rows);
    this.fenced = new WarpClocks(warps);
    this.fencedForAll = new WarpClocks(warps);
    this.shared = new SharedShadow(warps, shared, unitBytes, rows, place);
    this.across = hasClusters ? new ClusterShadow(warps, shared.length, unitBytes, this.shared) : undefined;
    this.older = older;
    const accessor = (_: unknown, warp: number): Accessor => ({ cta: 0, warp, time: 0, clocks: this.clocks });
    this.accessors = Array.from({ length: warps }, accessor);
    this.laneAccessors = this.accessors.map((one) => ({ ...one, lanes: { met: 0, execution: 0, otherLane: 0 } }));
  }

  /** Now, of a warp. */
  timeOf(warp: number): number {
    return this.clocks.rows[warp * (this.accessors.length + 1)]!;
  }

  /** All times of the CTA lie after `time`. */
  begin(linear: number, time: number): void {
    this.linear = linear;
    for (const one of this.accessors) one.cta = linear;
    for (const one of this.laneAccessors) one.cta = linear;
    this.shared.begin(time);
    this.across?.begin(linear);
    this.older.forget();
    empty(this.releases);
    empty(this.arrived);
    empty(this.mbarriers);
    this.proxyFence = time;
    this.clocks.reset();
    this.fenced.reset();
    this.fencedForAll.reset();
  }
}

/** V8 makes a new table to clear even what is empty, and launches may have thousands of CTAs. */
function empty(map: Map<number, GridClock>): void {
  if (map.size > 0) map.clear();
}

/** What the cluster's barrier orders: work before an arrival that releases, with work behind the wait. */
export class ClusterClock {
  #pending: GridClock = NOTHING_BEFORE;
  /** Of the last phase that is complete. */
  completed: GridClock = NOTHING_BEFORE;

  forget(): void {
    this.#pending = NOTHING_BEFORE;
    this.completed = NOTHING_BEFORE;
  }

  arrive(own: GridClock | undefined): void {
    if (own) this.#pending = later(this.#pending, own);
  }

  complete(): void {
    this.completed = this.#pending;
    this.#pending = NOTHING_BEFORE;
  }
}
