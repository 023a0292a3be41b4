import { listSchedule } from './list-schedule.ts';
import type { LiveRegion, Step } from './lives.ts';

/** Most registers alive at once if long latencies are covered. */
export function peakWhenScheduled(region: LiveRegion, widths: readonly number[]): number {
  const registers = new LiveRegisters(region, widths);
  for (const step of listSchedule(region.steps)) registers.run(step);
  return registers.peak;
}

/** Registers that are alive while a region runs in some order. */
class LiveRegisters {
  peak: number;
  readonly #widths: readonly number[];
  readonly #liveOut: ReadonlySet<number>;
  readonly #live: Set<number>;
  readonly #readsLeft = new Map<number, number>();
  readonly #writesLeft = new Map<number, number>();
  #count = 0;

  constructor({ steps, liveIn, liveOut }: LiveRegion, widths: readonly number[]) {
    this.#widths = widths;
    this.#liveOut = liveOut;
    this.#live = new Set(liveIn);
    for (const place of liveIn) this.#count += widths[place]!;
    this.peak = this.#count;
    for (const { reads, writes } of steps) {
      for (const place of reads) this.#readsLeft.set(place, (this.#readsLeft.get(place) ?? 0) + 1);
      for (const place of writes) this.#writesLeft.set(place, (this.#writesLeft.get(place) ?? 0) + 1);
    }
  }

  run({ reads, writes, scratch }: Step): void {
    for (const place of reads) this.#readsLeft.set(place, this.#readsLeft.get(place)! - 1);
    for (const place of writes) this.#writesLeft.set(place, this.#writesLeft.get(place)! - 1);
    for (const place of reads) if (!writes.includes(place)) this.#endIfLast(place);
    for (const place of writes) {
      if (this.#live.has(place)) continue;
      this.#live.add(place);
      this.#count += this.#widths[place]!;
    }
    this.peak = Math.max(this.peak, this.#count + scratch);
    for (const place of writes) this.#endIfLast(place);
  }

  /** A value that is written again, or not needed afterwards, ends with its last read. */
  #endIfLast(place: number): void {
    if ((this.#readsLeft.get(place) ?? 0) > 0) return;
    if ((this.#writesLeft.get(place) ?? 0) === 0 && this.#liveOut.has(place)) return;
    if (this.#live.delete(place)) this.#count -= this.#widths[place]!;
  }
}
