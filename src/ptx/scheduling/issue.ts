import type { InstructionClass } from '../../core/vocabulary.ts';
import { machineCodeOf } from '../instructions/machine-code.ts';
import { instructionClass, synchronisationOf } from '../instructions/properties.ts';
import type { Step } from './lives.ts';

/**
 * Clocks until a result can be used on an H200 (hardware/specs/h200.ts), a global load from L2. Only to find what a schedule covers: the
 * time model has each device's latencies, and those that the launch's accesses make.
 */
const LATENCY: Readonly<Partial<Record<InstructionClass, number>>> = {
  'global-load': 300,
  atomic: 300,
  'local-load': 40,
  tensor: 34,
  'shared-load': 29,
  barrier: 28,
  shuffle: 26,
  special: 23,
  fp64: 16,
  vote: 12,
  control: 16,
  conversion: 10,
  predicate: 5,
  integer: 5,
  fp16: 5,
};
const SHORTEST = 4;

const classOf = (step: Step): InstructionClass => instructionClass(step.instruction) ?? 'move';
const latencyOf = (name: InstructionClass): number => LATENCY[name] ?? SHORTEST;

/** How one run of some code keeps a warp that has a scheduler to itself. */
export interface IssueTime {
  /** Machine instructions. */
  readonly issued: number;
  /** Latencies that the warp waits out, by the class whose result it waits for; a part of one that the schedule covers does not count. */
  readonly waits: ReadonlyMap<InstructionClass, number>;
}

/** When a value can be used, and what makes it. */
export interface Result {
  readonly at: number;
  readonly by: InstructionClass;
}

/** Results on their way, by place: `at` counts from the moment in question. */
export type Pending = ReadonlyMap<number, Result>;

/** A warp that issues instructions in order, each when its operands are there. */
class Warp {
  readonly #results: Map<number, Result>;
  /** When the instructions after the last barrier or branch can be issued. */
  #next: Result | undefined;
  #clock = 0;
  #issued = 0;
  #waits = new Map<InstructionClass, number>();

  constructor(pending: Pending = new Map()) {
    this.#results = new Map(pending);
  }

  run(steps: readonly Step[]): IssueTime {
    this.#issued = 0;
    this.#waits = new Map();
    for (const step of steps) this.#issue(step);
    return { issued: this.#issued, waits: this.#waits };
  }

  /** Waits for a barrier or branch at the end. @returns which of the values that others need later are not there yet. */
  end(places: ReadonlySet<number>): Pending {
    this.#waitFor([]);
    return new Map(
      [...places].flatMap((place) => {
        const result = this.#results.get(place);
        return result && result.at > this.#clock ? [[place, { at: result.at - this.#clock, by: result.by }]] : [];
      }),
    );
  }

  #issue(step: Step): void {
    const { instructions, extraClocks } = machineCodeOf(step.instruction);
    const name = classOf(step);
    this.#waitFor(step.reads);
    const ready = this.#clock + latencyOf(name) + extraClocks;
    this.#clock += instructions;
    this.#issued += instructions;
    for (const place of step.writes) this.#results.set(place, { at: ready, by: name });
    if (name === 'barrier' || synchronisationOf(step.instruction) === 'cta')
      this.#next = { at: this.#clock + latencyOf('barrier'), by: 'barrier' };
    else if (name === 'control') this.#next = { at: this.#clock + latencyOf('control'), by: 'control' };
  }

  #waitFor(places: Iterable<number>): void {
    let last = this.#next;
    for (const place of places) {
      const result = this.#results.get(place);
      if (result && result.at > (last?.at ?? this.#clock)) last = result;
    }
    if (!last || last.at <= this.#clock) return;
    const latencies = (last.at - this.#clock) / latencyOf(last.by);
    this.#waits.set(last.by, (this.#waits.get(last.by) ?? 0) + latencies);
    this.#clock = last.at;
  }
}

/** Rounds after which those of a loop are alike. */
const ROUNDS = 3;

/** One round of a loop among many: what a round leaves unfinished covers the next one. */
export function issueOfRound(steps: readonly Step[]): IssueTime {
  const warp = new Warp();
  let last = warp.run(steps);
  for (let round = 1; round < ROUNDS; round++) last = warp.run(steps);
  return last;
}

/** One run of straight code. @param pending what the code before it has begun. */
export function issueOfRun(
  steps: readonly Step[],
  liveOut: ReadonlySet<number>,
  pending: Pending,
): { readonly time: IssueTime; readonly left: Pending } {
  const warp = new Warp(pending);
  const time = warp.run(steps);
  return { time, left: warp.end(liveOut) };
}

/** The same time, and the wait for one more result. */
export function andWait({ issued, waits }: IssueTime, { at, by }: Result): IssueTime {
  return { issued, waits: new Map(waits).set(by, (waits.get(by) ?? 0) + at / latencyOf(by)) };
}
