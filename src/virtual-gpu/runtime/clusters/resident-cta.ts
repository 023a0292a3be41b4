import type { Dim3 } from '../../../core/launch-plan.ts';
import { LAUNCH, SHARED, WARPS } from '../../layout.ts';
import type { ArrivedThreads } from '../barriers.ts';
import { CLUSTER_PHASE, CtaState, type Neighbour } from '../cta-state.ts';
import { SuspendedLanes } from '../mbarriers/suspended-lanes.ts';
import type { PrivateMemory, SharedPlace } from '../memories.ts';
import { nothingPending } from '../pending-groups.ts';
import { OlderRounds, stateOf, VainRounds } from '../vain-rounds.ts';
import { START, WarpClocks } from '../warp-clocks.ts';
import type { PendingCopies } from '../warp-context.ts';

export type WarpState = 'ready' | 'waiting' | 'polling' | 'exited';

/** What the CTAs of a launch have in common. */
export interface CtaExtents {
  readonly warps: number;
  readonly threads: number;
  readonly sharedBytes: number;
  /** End of the warps' states and their local memory. */
  readonly warpsEnd: number;
  readonly isCounted: boolean;
}

/** Where a CTA lies. */
export interface CtaPlace {
  readonly linear: number;
  readonly cta: Dim3;
  /** Of its cluster, and its place there. */
  readonly cluster: Dim3;
  readonly within: Dim3;
  readonly sm: number;
}

/**
 * A CTA that runs, and what it has beyond its memory. CTAs of a cluster, of a cooperative grid, and those that wait for others, take turns: the memory of one is where
 * compiled code expects it, that of the others is kept here.
 */
export class ResidentCta implements Neighbour {
  /** Among those that run together. */
  readonly index: number;
  readonly #memory: PrivateMemory;
  readonly #extents: CtaExtents;
  place!: CtaPlace;
  /** In which its warps run. */
  order: ArrayLike<number> = [];
  readonly states: WarpState[] = [];
  /** cp.async copies on their way, by warp. */
  readonly copies: PendingCopies[] = [];
  readonly arrived: ArrivedThreads = new Map();
  readonly state: CtaState;
  readonly suspended: SuspendedLanes;
  /** Of counted launches. */
  readonly clocks: WarpClocks | undefined;
  /** By thread. */
  readonly clusterPhases: Uint8Array;
  /** Whether every thread that has not exited has arrived at the cluster's barrier. */
  hasArrived = false;
  /** When the cluster last met. */
  metAt = START;
  /** Where it gives way because a warp would draw work next: when that warp came there, in its instructions. */
  drawsAt: number | undefined;
  readonly vain = new VainRounds();
  readonly olderRounds = new OlderRounds();
  instructions = 0;
  hasEnded = false;
  #isLive = true;
  #kept: { shared: Uint8Array; view: DataView; warps: Uint8Array } | undefined;

  /**
   * @param index among those that run together: the CTAs of a cluster, or of a cooperative grid.
   * @param rank in its cluster.
   * @param running clocks of the CTA that runs.
   */
  constructor(
    { index, rank }: { index: number; rank: number },
    memory: PrivateMemory,
    extents: CtaExtents,
    running: () => WarpClocks | undefined,
  ) {
    this.index = index;
    this.#memory = memory;
    this.#extents = extents;
    this.clocks = extents.isCounted ? new WarpClocks(memory, extents.warps) : undefined;
    this.state = new CtaState(rank, () => this.shared, running);
    this.suspended = new SuspendedLanes(this.state, memory);
    this.clusterPhases = new Uint8Array(extents.threads);
  }

  /**
   * Begins, in the memory that compiled code uses.
   * @param landingSeed chooses the copies that land at once; with 0 none does.
   */
  begin(
    place: CtaPlace,
    order: ArrayLike<number>,
    { registersAtStart, landingSeed }: { registersAtStart: number | undefined; landingSeed: number },
  ): void {
    this.place = place;
    this.order = order;
    for (let warp = 0; warp < this.#extents.warps; warp++) {
      this.states[warp] = 'ready';
      this.copies[warp] = nothingPending();
    }
    this.arrived.clear();
    this.state.reset(registersAtStart, landingSeed);
    this.suspended.reset();
    this.clocks?.reset();
    this.metAt = START;
    this.drawsAt = undefined;
    this.clusterPhases.fill(CLUSTER_PHASE.outside);
    this.hasArrived = false;
    this.vain.forget();
    this.olderRounds.forget();
    this.instructions = 0;
    this.hasEnded = false;
    this.#isLive = true;
    this.#writePlace();
  }

  /** Where its shared memory is now. */
  get shared(): SharedPlace {
    return this.#isLive ? { view: this.#memory.view, start: SHARED } : { view: this.#kept!.view, start: 0 };
  }

  /** Of its memory and registers. */
  get memoryState(): string {
    return stateOf(this.#isLive ? this.#live() : [this.#kept!.shared, this.#kept!.warps]);
  }

  /** Its memory makes room for another CTA's. */
  leave(): void {
    const [shared, warps] = this.#live();
    if (!this.#kept) {
      const copy = shared.slice();
      this.#kept = { shared: copy, view: new DataView(copy.buffer), warps: warps.slice() };
    } else {
      this.#kept.shared.set(shared);
      this.#kept.warps.set(warps);
    }
    this.#isLive = false;
  }

  /** Its memory is put back where compiled code expects it. */
  enter(): void {
    const [shared, warps] = this.#live();
    shared.set(this.#kept!.shared);
    warps.set(this.#kept!.warps);
    this.#isLive = true;
    this.#writePlace();
  }

  #live(): [shared: Uint8Array, warps: Uint8Array] {
    const { u8 } = this.#memory;
    const { sharedBytes, warpsEnd } = this.#extents;
    return [u8.subarray(SHARED, SHARED + sharedBytes), u8.subarray(WARPS, warpsEnd)];
  }

  #writePlace(): void {
    const { i32 } = this.#memory;
    const { cta, cluster, within, sm } = this.place;
    const write = (first: number, values: Dim3): void =>
      values.forEach((value, axis) => {
        i32[(first >> 2) + axis] = value;
      });
    write(LAUNCH.ctaX, cta);
    write(LAUNCH.clusterIndexX, cluster);
    write(LAUNCH.ctaInClusterX, within);
    i32[LAUNCH.clusterRank >> 2] = this.state.rank;
    i32[LAUNCH.smIndex >> 2] = sm;
  }
}
