import type { PtxInstruction } from '../ast.ts';
import { spaceOf } from '../instruction-parts.ts';
import { controlOf, memoryActionOf, synchronisationOf } from '../instructions/properties.ts';
import type { Step } from './lives.ts';

/** What must come after a step. */
export interface Dependence {
  readonly step: number;
  /** It takes the result, so it waits for the latency; otherwise it only must not come before. */
  readonly takesResult: boolean;
}

/** By index of the step that comes first. */
export interface Dependences {
  readonly successors: readonly (readonly Dependence[])[];
  readonly predecessorCounts: Int32Array;
}

/** Order that registers, memory and barriers demand. Loads may change places with each other, not with stores of their space. */
export function findDependences(steps: readonly Step[]): Dependences {
  const order = new Order(steps.length);
  const registers = new RegisterOrder(order);
  const memory = new MemoryOrder(order);
  steps.forEach((step, index) => {
    registers.add(step, index);
    memory.add(step.instruction, index);
  });
  return { successors: order.successors, predecessorCounts: order.predecessorCounts };
}

class Order {
  readonly successors: Dependence[][];
  readonly predecessorCounts: Int32Array;

  constructor(count: number) {
    this.successors = Array.from({ length: count }, () => []);
    this.predecessorCounts = new Int32Array(count);
  }

  precede(first: number | undefined, then: number, takesResult = false): void {
    if (first === undefined || first === then) return;
    this.successors[first]!.push({ step: then, takesResult });
    this.predecessorCounts[then]! += 1;
  }
}

class RegisterOrder {
  readonly #order: Order;
  readonly #lastWriter = new Map<number, number>();
  readonly #readers = new Map<number, number[]>();

  constructor(order: Order) {
    this.#order = order;
  }

  add({ reads, writes }: Step, index: number): void {
    for (const place of reads) {
      this.#order.precede(this.#lastWriter.get(place), index, true);
      const readers = this.#readers.get(place);
      if (readers) readers.push(index);
      else this.#readers.set(place, [index]);
    }
    for (const place of writes) {
      this.#order.precede(this.#lastWriter.get(place), index);
      for (const reader of this.#readers.get(place) ?? []) this.#order.precede(reader, index);
      this.#lastWriter.set(place, index);
      this.#readers.set(place, []);
    }
  }
}

/** Nobody waits, or only the lanes of one warp: other memory accesses may pass. */
const PASSABLE: ReadonlySet<string> = new Set(['none', 'active-lanes', 'warp']);
const READS: ReadonlySet<string> = new Set(['load', 'matrix-load', 'matrix']);

class MemoryOrder {
  readonly #order: Order;
  #fence: number | undefined;
  #sinceFence: number[] = [];
  #lastWrite = new Map<string, number>();
  #reads = new Map<string, number[]>();

  constructor(order: Order) {
    this.#order = order;
  }

  add(instruction: PtxInstruction, index: number): void {
    this.#order.precede(this.#fence, index);
    if (controlOf(instruction) !== 'next' || !PASSABLE.has(synchronisationOf(instruction))) {
      for (const earlier of this.#sinceFence) this.#order.precede(earlier, index);
      this.#fence = index;
      this.#sinceFence = [];
      this.#lastWrite = new Map();
      this.#reads = new Map();
      return;
    }
    this.#sinceFence.push(index);
    for (const space of spacesOf(instruction)) this.#access(space, READS.has(memoryActionOf(instruction)), index);
  }

  #access(space: string, isRead: boolean, index: number): void {
    this.#order.precede(this.#lastWrite.get(space), index);
    const reads = this.#reads.get(space) ?? [];
    if (isRead) {
      this.#reads.set(space, [...reads, index]);
      return;
    }
    for (const read of reads) this.#order.precede(read, index);
    this.#lastWrite.set(space, index);
    this.#reads.set(space, []);
  }
}

/** State spaces that change, or are read while they may change. */
function spacesOf(instruction: PtxInstruction): readonly string[] {
  const action = memoryActionOf(instruction);
  if (action === 'none' || action === 'matrix') return [];
  if (action === 'copy') return ['global', 'shared'];
  const space = spaceOf(instruction);
  if (space === 'generic') return ['global', 'shared', 'local'];
  return space === 'param' || space === 'const' ? [] : [space];
}
