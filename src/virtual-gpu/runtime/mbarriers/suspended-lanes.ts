import type { PtxInstruction } from '../../../ptx/ast.ts';
import { ALL_LANES, LANES, PC, WARP } from '../../layout.ts';
import type { CtaState, Poll } from '../cta-state.ts';
import { atSource } from '../fault.ts';
import type { PrivateMemory } from '../memories.ts';

/** Rounds in which all that ran polled in vain, after which nobody is expected to stop. */
const ROUNDS_IN_VAIN = 2000;
/** So many waits are described. */
const MOST_DESCRIBED = 3;
const NO_WARPS: ReadonlySet<number> = new Set();

/**
 * Lanes that wait for mbarriers. A `try_wait` that fails suspends them, as the ISA allows. Its time limit never ends, unless
 * nobody else can run; then it has ended once.
 */
export class SuspendedLanes {
  readonly #cta: CtaState;
  readonly #memory: PrivateMemory;
  #suspended: Poll[] = [];
  /** Failed waits that did not suspend their lanes, since something changed. */
  #inVain: Poll[] = [];
  #rounds = 0;
  #changes = 0;
  /** When suspended lanes were last looked at, in changes. */
  #looked = -1;
  /** Whether all time limits have ended since something changed. */
  #hasEnded = false;

  constructor(cta: CtaState, memory: PrivateMemory) {
    this.#cta = cta;
    this.#memory = memory;
  }

  reset(): void {
    this.#suspended = [];
    this.#inVain = [];
    this.#rounds = 0;
    this.#hasEnded = false;
    this.#changes = this.#cta.barriers.changes;
    this.#looked = -1;
  }

  /** Takes over the polls of the warp at address `warp`, which gave way. Returns whether none of its lanes can run. */
  suspend(warp: number): boolean {
    const polls = this.#cta.polls.get(warp);
    if (!polls) return false;
    this.#cta.polls.delete(warp);
    this.#inVain = polls;
    const { i32 } = this.#memory;
    const isConverged = i32[(warp + WARP.converged) >> 2] !== 0;
    const suspending = polls.filter(({ suspends }) => suspends);
    if (isConverged) {
      if (suspending.reduce((bits, { lanes }) => bits | bitsOf(lanes), 0) !== -1) return false;
      this.#suspended.push(...suspending);
      return true;
    }
    for (const poll of suspending)
      for (const lane of poll.lanes) {
        const at = (warp + WARP.programCounters) / 4 + lane;
        this.#suspended.push({ ...poll, lanes: [lane], counter: i32[at]! });
        i32[at] = PC.polling;
      }
    return this.#isAllBusy(warp);
  }

  #isAllBusy(warp: number): boolean {
    const first = (warp + WARP.programCounters) / 4;
    const counters = this.#memory.i32.subarray(first, first + LANES);
    return counters.every((counter) => counter >= PC.waiting);
  }

  /**
   * Ends the suspension of lanes whose phase is complete. Returns the addresses of their warps.
   *
   * @param readsOlder whether a read got an older value since the last time, and so gets another one next.
   */
  resume(readsOlder: boolean): ReadonlySet<number> {
    const { barriers } = this.#cta;
    const isMoving = barriers.changes !== this.#changes || readsOlder;
    this.#changes = barriers.changes;
    this.#rounds = isMoving || this.#inVain.length === 0 ? 0 : this.#rounds + 1;
    if (isMoving) this.#hasEnded = false;
    if (this.#suspended.length === 0) return NO_WARPS;
    for (const barrier of new Set(this.#suspended.map((poll) => poll.barrier))) this.#cta.land(barrier.address);
    if (barriers.changes === this.#looked) return NO_WARPS;
    this.#looked = barriers.changes;
    // A converged warp goes on when all of its lanes can.
    const isHeld = new Set(
      this.#suspended.filter((s) => s.counter === undefined && !s.isOver()).map(({ warp }) => warp),
    );
    return this.#wake((s) => (s.counter === undefined ? !isHeld.has(s.warp) : s.isOver()));
  }

  /** Ends all suspensions, if nothing has changed since the last one; at most once until something does. */
  endTimeLimits(): ReadonlySet<number> {
    if (this.#hasEnded) return new Set();
    this.#hasEnded = true;
    return this.#wake(() => true);
  }

  #wake(isOver: (poll: Poll) => boolean): ReadonlySet<number> {
    const { i32 } = this.#memory;
    const woken = new Set(this.#suspended.filter(isOver));
    if (woken.size > 0) this.#suspended = this.#suspended.filter((poll) => !woken.has(poll));
    for (const { warp, lanes, counter } of woken)
      if (counter !== undefined) i32[(warp + WARP.programCounters) / 4 + lanes[0]!] = counter;
    return new Set(Array.from(woken, ({ warp }) => warp));
  }

  /** Whether everybody who runs has long polled in vain. */
  get isStuck(): boolean {
    return this.#rounds > ROUNDS_IN_VAIN;
  }

  /** Waits for phases that are not complete, one for each mbarrier. */
  get open(): readonly Poll[] {
    const polls = [...this.#suspended, ...this.#inVain].filter(({ isOver }) => !isOver());
    return [...new Map(polls.map((poll) => [poll.barrier, poll])).values()];
  }

  /** Who waits for what; undefined if nobody does. */
  describe(
    threadName: (warp: number, lane: number) => string,
  ): { text: string; instruction: PtxInstruction } | undefined {
    const waits = this.open;
    const [first] = waits;
    if (!first) return undefined;
    const parts = waits
      .slice(0, MOST_DESCRIBED)
      .map(
        (wait) =>
          `thread ${threadName(wait.warp, wait.lanes[0]!)} waits${atSource(wait.instruction.source)} for ${lackOf(wait)}`,
      );
    const more = waits.length - parts.length;
    const others = more > 0 ? `; ${more} more mbarriers are waited for` : '';
    return {
      text: `no thread can go on: ${parts.join('; ')}${others}`,
      instruction: first.instruction,
    };
  }
}

/** A bit for each. */
const bitsOf = (lanes: readonly number[]): number =>
  lanes === ALL_LANES ? -1 : lanes.reduce((bits, lane) => bits | (1 << lane), 0);

/** `phase 2 of the mbarrier at shared address 1024, which lacks 1 of 2 arrivals and 4096 bytes of copies`. */
export function lackOf({ barrier: { phase, address, pending, expected, bytes } }: Poll): string {
  const lacks = [
    ...(pending > 0 ? [`${pending} of ${expected} arrivals`] : []),
    ...(bytes > 0 ? [`${bytes} bytes of copies`] : []),
    ...(bytes < 0 ? [`the announcement of ${-bytes} bytes that have come`] : []),
  ];
  return `phase ${phase} of the mbarrier at shared address ${address}, which lacks ${lacks.join(' and ')}`;
}
