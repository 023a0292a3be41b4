import type { InstructionClass } from '../../core/vocabulary.ts';
import { instructionClass } from '../instructions/properties.ts';
import { type Dependence, findDependences } from './dependences.ts';
import type { LiveRegion, Step } from './lives.ts';

/**
 * Clocks until a result can be used, as ptxas expects them. Rounded from the measured latencies of hardware/specs/: what counts
 * is which are long.
 */
const LATENCY: Readonly<Partial<Record<InstructionClass, number>>> = {
  'global-load': 200,
  atomic: 200,
  'local-load': 40,
  tensor: 32,
  'shared-load': 30,
  'constant-load': 30,
  shuffle: 25,
  special: 20,
  fp64: 20,
  barrier: 20,
  vote: 12,
  conversion: 8,
  predicate: 8,
  integer: 5,
  fp16: 5,
  fp32: 4,
};

/** How far ahead of the first instruction that is not placed ptxas looks for one to move up, in instructions. Set on the fit half. */
const WINDOW = 60;

const latencyOf = ({ instruction }: Step): number => LATENCY[instructionClass(instruction) ?? 'move'] ?? 1;

/**
 * Most registers alive at once if long latencies are covered: of the next instructions whose operands are ready, the one
 * with the longest way to the end of the region goes first, so loads move up.
 */
export function peakWhenScheduled(region: LiveRegion, widths: readonly number[]): number {
  return new ListSchedule(region, widths).run();
}

class ListSchedule {
  readonly #steps: readonly Step[];
  readonly #successors: readonly (readonly Dependence[])[];
  readonly #waitsFor: Int32Array;
  /** Clocks from a step to the end of the region. */
  readonly #distance: Float64Array;
  readonly #readyAt: Float64Array;
  readonly #isDone: Uint8Array;
  readonly #registers: LiveRegisters;
  #first = 0;
  #clock = 0;

  constructor(region: LiveRegion, widths: readonly number[]) {
    const { steps } = region;
    const { successors, predecessorCounts } = findDependences(steps);
    this.#steps = steps;
    this.#successors = successors;
    this.#waitsFor = predecessorCounts;
    this.#readyAt = new Float64Array(steps.length);
    this.#isDone = new Uint8Array(steps.length);
    this.#registers = new LiveRegisters(region, widths);
    this.#distance = new Float64Array(steps.length);
    for (let index = steps.length - 1; index >= 0; index--) {
      const latency = latencyOf(steps[index]!);
      this.#distance[index] = successors[index]!.reduce(
        (longest, { step, takesResult }) => Math.max(longest, this.#distance[step]! + (takesResult ? latency : 1)),
        latency,
      );
    }
  }

  run(): number {
    for (let placed = 0; placed < this.#steps.length; placed++) this.#place(this.#next());
    return this.#registers.peak;
  }

  #next(): number {
    while (this.#isDone[this.#first]) this.#first++;
    const end = Math.min(this.#steps.length, this.#first + WINDOW + 1);
    let best = this.#first;
    let highest = Number.NEGATIVE_INFINITY;
    for (let index = this.#first; index < end; index++) {
      if (this.#isDone[index] || this.#waitsFor[index]! > 0) continue;
      const score = this.#distance[index]! - 2 * Math.max(0, this.#readyAt[index]! - this.#clock);
      if (score <= highest) continue;
      highest = score;
      best = index;
    }
    return best;
  }

  #place(index: number): void {
    const step = this.#steps[index]!;
    this.#isDone[index] = 1;
    this.#clock = Math.max(this.#clock + 1, this.#readyAt[index]!);
    this.#registers.run(step);
    const latency = latencyOf(step);
    for (const { step: next, takesResult } of this.#successors[index]!) {
      this.#waitsFor[next]! -= 1;
      this.#readyAt[next] = Math.max(this.#readyAt[next]!, this.#clock + (takesResult ? latency : 1));
    }
  }
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
