import { LAUNCH } from '../layout.ts';
import type { PrivateMemory } from './memories.ts';

/** A time: warp instructions since the CTA began, along the longest way there, and how many of them few lanes executed. */
export interface Moment {
  readonly time: number;
  readonly narrow: number;
}

export const START: Moment = { time: 0, narrow: 0 };

export const laterOf = (a: Moment, b: Moment): Moment => (b.time > a.time ? b : a);

/**
 * When the warps of a CTA do what they do, if each executed one instruction at a time and waited only for other warps: who waits at a barrier
 * goes on when the last one has arrived there. So the latest of them is the length of the CTA's critical path, in whatever order a simulator
 * runs its warps. Only counted code keeps the time within a slice.
 */
export class WarpClocks {
  readonly #memory: PrivateMemory;
  readonly #moments: Moment[];
  /** The warp that runs, and the budget of its slice. */
  #running = 0;
  #budget: number | undefined;

  constructor(memory: PrivateMemory, warps: number) {
    this.#memory = memory;
    this.#moments = new Array(warps).fill(START);
  }

  reset(): void {
    this.#moments.fill(START);
    this.#budget = undefined;
  }

  /** A warp gets a slice of so many instructions. */
  beginSlice(warp: number, budget: number): void {
    this.#running = warp;
    this.#budget = budget;
    this.#memory.i32[LAUNCH.narrow >> 2] = 0;
  }

  /** Returns when the slice began, or later by as long as the warp waited in it. */
  endSlice(executed: number): number {
    const { time, narrow } = this.#moments[this.#running]!;
    this.#moments[this.#running] = { time: time + executed, narrow: narrow + this.#memory.i32[LAUNCH.narrow >> 2]! };
    this.#budget = undefined;
    return time;
  }

  /** Of the warp that runs: when its current block began. */
  get now(): Moment {
    const moment = this.#moments[this.#running]!;
    if (this.#budget === undefined) return moment;
    const { i32 } = this.#memory;
    const executed = this.#budget - i32[LAUNCH.budget >> 2]!;
    return { time: moment.time + executed, narrow: moment.narrow + i32[LAUNCH.narrow >> 2]! };
  }

  /** Between slices. */
  momentOf(warp: number): Moment {
    return this.#moments[warp]!;
  }

  /** The warp that runs has waited for something that was there at this moment. */
  waitUntil(moment: Moment): void {
    const { now } = this;
    if (moment.time <= now.time) return;
    const began = this.#moments[this.#running]!;
    this.#moments[this.#running] = {
      time: began.time + moment.time - now.time,
      narrow: began.narrow + moment.narrow - now.narrow,
    };
  }

  /** These warps wait for each other, and for what came at `since`. */
  meet(warps: readonly number[], since = START): void {
    const latest = warps.reduce((last, warp) => laterOf(last, this.#moments[warp]!), since);
    for (const warp of warps) this.#moments[warp] = latest;
  }

  get latest(): Moment {
    return this.#moments.reduce(laterOf);
  }
}
