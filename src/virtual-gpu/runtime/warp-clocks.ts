import { LAUNCH } from '../layout.ts';
import type { PrivateMemory } from './memories.ts';

/**
 * When the warps of a CTA do what they do, in warp instructions since the CTA began, if each executed one at a time and waited only for other
 * warps: who waits at a barrier goes on when the last one has arrived there. So the latest of them is the length of the CTA's critical path,
 * in whatever order a simulator runs its warps. Only counted code keeps the time within a slice.
 */
export class WarpClocks {
  readonly #memory: PrivateMemory;
  readonly #times: Float64Array;
  /** The warp that runs, and the budget of its slice. */
  #running = 0;
  #budget: number | undefined;
  constructor(memory: PrivateMemory, warps: number) {
    this.#memory = memory;
    this.#times = new Float64Array(warps);
  }

  reset(): void {
    this.#times.fill(0);
    this.#budget = undefined;
  }

  /** A warp gets a slice of so many instructions. */
  beginSlice(warp: number, budget: number): void {
    this.#running = warp;
    this.#budget = budget;
  }

  /** Returns when the slice began, if it is reckoned back from its end. */
  endSlice(executed: number): number {
    const began = this.#times[this.#running]!;
    this.#times[this.#running] = began + executed;
    this.#budget = undefined;
    return began;
  }

  /** Of the warp that runs: when its current block began. */
  get now(): number {
    const done = this.#budget === undefined ? 0 : this.#budget - this.#memory.i32[LAUNCH.budget >> 2]!;
    return this.#times[this.#running]! + done;
  }

  /** Between slices. */
  timeOf(warp: number): number {
    return this.#times[warp]!;
  }

  /** The warp that runs has waited for something that was there at this time. */
  waitUntil(time: number): void {
    this.#times[this.#running]! += Math.max(0, time - this.now);
  }

  /** These warps wait for each other, and for what came at `since`. */
  meet(warps: readonly number[], since = 0): void {
    let latest = since;
    for (const warp of warps) latest = Math.max(latest, this.#times[warp]!);
    for (const warp of warps) this.#times[warp] = latest;
  }

  get latest(): number {
    return this.#times.reduce((latest, time) => Math.max(latest, time), 0);
  }
}
