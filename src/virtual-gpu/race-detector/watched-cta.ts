import { type GridClock, later, NOTHING_BEFORE, WarpClocks } from './clocks.ts';
import { ClusterShadow } from './cluster-shadow.ts';
import type { OlderValues } from './older-values.ts';
import type { ShadowMemory } from './shadow-memory.ts';
import { SharedShadow } from './shared-shadow.ts';

/** What the race detector knows of a CTA that runs, beyond device memory. */
export class WatchedCta {
  linear = 0;
  /** Each warp's clock now, and at its last fence. */
  readonly clocks: WarpClocks;
  readonly fenced: WarpClocks;
  /** By warp: when its lanes met last, as far as device memory and that of other CTAs are concerned. */
  readonly met: Int32Array;
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

  /** @param unitBytes the kernel's smallest access to shared memory. */
  constructor(
    warps: number,
    shared: Uint8Array,
    unitBytes: number,
    place: { shadow: ShadowMemory; block: number },
    older: OlderValues,
    hasClusters: boolean,
  ) {
    this.clocks = new WarpClocks(warps);
    this.fenced = new WarpClocks(warps);
    this.met = new Int32Array(warps);
    this.shared = new SharedShadow(warps, shared, unitBytes, this.clocks.rows, place);
    this.across = hasClusters ? new ClusterShadow(warps, unitBytes) : undefined;
    this.older = older;
  }

  /** Lanes of a warp have met at this time of its clock, as far as device memory and that of other CTAs are concerned. */
  lanesMet(warp: number, time: number): void {
    this.met[warp] = time;
    this.shared.lanesMetForDevice(warp, time);
  }

  /** All times of the CTA lie after `time`. */
  begin(linear: number, time: number): void {
    this.linear = linear;
    this.shared.begin(time);
    for (let warp = 0; warp < this.met.length; warp++) this.lanesMet(warp, time);
    this.across?.begin();
    this.older.forget();
    this.releases.clear();
    this.arrived.clear();
    this.mbarriers.clear();
    this.proxyFence = time;
    this.clocks.reset();
    this.fenced.reset();
  }
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
