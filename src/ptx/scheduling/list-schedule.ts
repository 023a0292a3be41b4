import type { InstructionClass } from '../../core/vocabulary.ts';
import { instructionClass } from '../instructions/properties.ts';
import { type Dependence, findDependences } from './dependences.ts';
import type { Step } from './lives.ts';

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
 * The steps of a region in an order that covers long latencies: of the next instructions whose operands are ready, the one
 * with the longest way to the end of the region goes first, so loads move up.
 */
export const listSchedule = (steps: readonly Step[]): Step[] => new ListSchedule(steps).run();

class ListSchedule {
  readonly #steps: readonly Step[];
  readonly #successors: readonly (readonly Dependence[])[];
  readonly #waitsFor: Int32Array;
  /** Clocks from a step to the end of the region. */
  readonly #distance: Float64Array;
  readonly #readyAt: Float64Array;
  readonly #isDone: Uint8Array;
  #first = 0;
  #clock = 0;

  constructor(steps: readonly Step[]) {
    const { successors, predecessorCounts } = findDependences(steps);
    this.#steps = steps;
    this.#successors = successors;
    this.#waitsFor = predecessorCounts;
    this.#readyAt = new Float64Array(steps.length);
    this.#isDone = new Uint8Array(steps.length);
    this.#distance = new Float64Array(steps.length);
    for (let index = steps.length - 1; index >= 0; index--) {
      const latency = latencyOf(steps[index]!);
      this.#distance[index] = successors[index]!.reduce(
        (longest, { step, takesResult }) => Math.max(longest, this.#distance[step]! + (takesResult ? latency : 1)),
        latency,
      );
    }
  }

  run(): Step[] {
    return this.#steps.map(() => this.#place(this.#next()));
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

  #place(index: number): Step {
    const step = this.#steps[index]!;
    this.#isDone[index] = 1;
    this.#clock = Math.max(this.#clock + 1, this.#readyAt[index]!);
    const latency = latencyOf(step);
    for (const { step: next, takesResult } of this.#successors[index]!) {
      this.#waitsFor[next]! -= 1;
      this.#readyAt[next] = Math.max(this.#readyAt[next]!, this.#clock + (takesResult ? latency : 1));
    }
    return step;
  }
}
