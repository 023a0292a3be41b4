import { rememberedAt } from '../../core/once-for.ts';
import type { PtxInstruction } from '../../ptx/ast.ts';
import { mulberry32 } from '../../stats/random.ts';
import { type Mbarrier, Mbarriers } from './mbarriers/mbarriers.ts';
import type { SharedPlace } from './memories.ts';
import { allPending, nothingPending, type PendingGroups } from './pending-groups.ts';
import { RegisterPool } from './register-pool.ts';
import { type Moment, START, type WarpClocks } from './warp-clocks.ts';
import type { PiecesByDescriptor } from './warpgroups/pieces-by-descriptor.ts';

/** Lanes of a warp that wait for a phase of an mbarrier. */
export interface Poll {
  readonly instruction: PtxInstruction;
  /** Address of the warp's state. */
  readonly warp: number;
  readonly lanes: readonly number[];
  readonly barrier: Mbarrier;
  readonly isOver: () => boolean;
  /** `try_wait` suspends the thread; `test_wait` never does. */
  readonly suspends: boolean;
  /** Where the warp had diverged: the program counter of its one lane. */
  readonly counter?: number;
}

/** Who sent something. */
export interface Sender {
  readonly instruction: PtxInstruction;
  /** Linear index. */
  readonly cta: number;
  readonly thread: number;
}

/** Something that reports to an mbarrier, whenever that is: here when somebody asks. */
interface Landing {
  readonly sentAt: Moment;
  land(): void;
  /** Of what must not come after the CTA's end. */
  readonly sender: Sender | undefined;
}

/** A copy out of shared memory, which reads and writes when its thread waits for it. */
export interface OutgoingCopy {
  read(): void;
  readonly instruction: PtxInstruction;
}

interface Product {
  readonly instruction: PtxInstruction;
  /** Its warp has waited for it. */
  finish(): void;
}

/** Products of wgmma that a warp has not waited for. */
export interface Products extends PendingGroups<Product> {
  isFenced: boolean;
}

/** A thread between `barrier.cluster.arrive` and `.wait`. */
export const CLUSTER_PHASE = { outside: 0, arrived: 1, complete: 2 } as const;

/** A CTA of the cluster, as the others reach it. */
export interface Neighbour {
  readonly state: CtaState;
  readonly shared: SharedPlace;
  /** By thread: a {@link CLUSTER_PHASE}. */
  readonly clusterPhases: Uint8Array;
  readonly hasEnded: boolean;
}

/** What the threads of a running CTA share beyond memory: mbarriers, copies on their way, registers. */
export class CtaState {
  /** In its cluster. */
  readonly rank: number;
  readonly barriers: Mbarriers;
  #landings = new Map<number, Landing[]>();
  readonly #outgoing = new Map<number, PendingGroups<OutgoingCopy>>();
  readonly #products = new Map<number, Products>();
  /** Addresses of the operands of wgmma, by descriptor and shape: the same for every CTA of a launch. */
  readonly pieces = new Map<string, PiecesByDescriptor>();
  readonly registers = new RegisterPool();
  /** By warp: what its lanes wait for since its last slice. */
  readonly polls = new Map<number, Poll[]>();
  #lot: (() => number) | undefined;

  /** Clocks of the CTA that runs, be it another one of the cluster; undefined where nobody counts. */
  readonly #running: () => WarpClocks | undefined;
  /** While something arrives: when it was sent. */
  #sentAt: Moment | undefined;

  constructor(rank: number, shared: () => SharedPlace, running: () => WarpClocks | undefined) {
    this.rank = rank;
    this.#running = running;
    this.barriers = new Mbarriers(shared, () => this.now);
  }

  /**
   * A CTA begins.
   * @param registersAtStart of a thread, where the code says.
   * @param landingSeed chooses the copies that land at once; with 0 none does.
   */
  reset(registersAtStart: number | undefined, landingSeed: number): void {
    this.#lot = landingSeed === 0 ? undefined : mulberry32(landingSeed);
    this.#products.clear();
    this.registers.reset(registersAtStart);
    this.barriers.forget();
    this.#landings.clear();
    this.#sentAt = undefined;
    this.#outgoing.clear();
    this.polls.clear();
  }

  /** When what happens now happens; the start where nobody counts. */
  get now(): Moment {
    return this.#sentAt ?? this.#running()?.now ?? START;
  }

  /** The warp that runs has found a phase of an mbarrier of its own CTA complete. */
  passed({ completedAt }: Mbarrier): void {
    this.#running()?.waitUntil(completedAt);
  }

  /**
   * Whether a copy that is issued now lands at once, and not when somebody waits for it. On a GPU it may land at any time between; the
   * two ends show what depends on that. Which copies do follows from the seed and from how many came before.
   */
  landsAtOnce(): boolean {
    return this.#lot !== undefined && this.#lot() < 0.5;
  }

  /**
   * A copy that will complete on the mbarrier at `address`.
   * @param sender of what must not come after the CTA's end.
   */
  send(address: number, land: () => void, sender?: Sender): void {
    const landing: Landing = { land, sender, sentAt: this.now };
    const before = this.#landings.get(address);
    if (before) before.push(landing);
    else this.#landings.set(address, [landing]);
  }

  /** What is on its way to an mbarrier arrives, because somebody waits there. */
  land(address: number): void {
    const landings = this.#landings.get(address);
    if (!landings) return;
    this.#landings.delete(address);
    for (const { land, sentAt } of landings) {
      this.#sentAt = sentAt;
      land();
    }
    this.#sentAt = undefined;
  }

  productsOf(warp: number): Products {
    return rememberedAt(this.#products, warp, () => ({ isFenced: false, ...nothingPending<Product>() }));
  }

  /** Adds to what the warp at an address waits for. */
  poll(poll: Poll): void {
    rememberedAt(this.polls, poll.warp, (): Poll[] => []).push(poll);
  }

  outgoingOf(thread: number): PendingGroups<OutgoingCopy> {
    return rememberedAt(this.#outgoing, thread, nothingPending<OutgoingCopy>);
  }

  /** Who sent the first of what is still on its way to shared memory. */
  senderOfUnlanded(): Sender | undefined {
    return [...this.#landings.values()].flat().find(({ sender }) => sender)?.sender;
  }

  /** The first copy out of shared memory for which no thread has waited, and its thread. */
  unfinishedCopy(): { thread: number; copy: OutgoingCopy } | undefined {
    for (const [thread, outgoing] of this.#outgoing) {
      const [copy] = allPending(outgoing);
      if (copy) return { thread, copy };
    }
    return undefined;
  }
}
