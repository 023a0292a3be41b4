import type { PtxInstruction } from '../ast.ts';
import { spaceOf } from '../instruction-parts.ts';
import { controlOf, definitionsAndUses, memoryActionOf, synchronisationOf } from '../instructions/properties.ts';
import { sizeOfPtxType } from '../types.ts';
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

/** Order that registers, memory and barriers demand. Loads may change places with each other, not with stores that may meet them. */
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

/** Bytes at a register's value, as long as nothing writes the register. */
interface MemoryPlace {
  readonly base: string;
  readonly start: number;
  readonly end: number;
}

interface MemoryAccess {
  readonly index: number;
  readonly isRead: boolean;
  /** Undefined: anywhere in its space. */
  readonly place: MemoryPlace | undefined;
}

const mayMeet = (a: MemoryPlace | undefined, b: MemoryPlace | undefined): boolean =>
  !a || !b || a.base !== b.base || (a.start < b.end && b.start < a.end);

/** Nothing may pass: it orders memory, or ends the region. ptxas moves no access past an atomic, whatever its space. */
const isFence = (instruction: PtxInstruction): boolean =>
  controlOf(instruction) !== 'next' ||
  !PASSABLE.has(synchronisationOf(instruction)) ||
  memoryActionOf(instruction) === 'atomic';

class MemoryOrder {
  readonly #order: Order;
  readonly #writes = new Map<string, number>();
  #fence: number | undefined;
  #sinceFence: number[] = [];
  #accesses = new Map<string, MemoryAccess[]>();

  constructor(order: Order) {
    this.#order = order;
  }

  add(instruction: PtxInstruction, index: number): void {
    this.#order.precede(this.#fence, index);
    if (isFence(instruction)) {
      for (const earlier of this.#sinceFence) this.#order.precede(earlier, index);
      this.#fence = index;
      this.#sinceFence = [];
      this.#accesses = new Map();
    } else {
      this.#sinceFence.push(index);
      const isRead = READS.has(memoryActionOf(instruction));
      for (const space of spacesOf(instruction))
        this.#access(space, { index, isRead, place: this.#placeOf(instruction) });
    }
    for (const name of definitionsAndUses(instruction).definitions) this.#writes.set(name, index);
  }

  #access(space: string, access: MemoryAccess): void {
    const earlier = this.#accesses.get(space) ?? [];
    for (const other of earlier)
      if (!(access.isRead && other.isRead) && mayMeet(access.place, other.place))
        this.#order.precede(other.index, access.index);
    this.#accesses.set(space, earlier);
    earlier.push(access);
  }

  #placeOf(instruction: PtxInstruction): MemoryPlace | undefined {
    if (!['load', 'store'].includes(memoryActionOf(instruction))) return undefined;
    const address = instruction.operands.find(({ kind }) => kind === 'address');
    if (address?.kind !== 'address' || address.base?.kind !== 'register') return undefined;
    const { name } = address.base;
    const bytes = bytesOf(instruction);
    if (bytes === 0) return undefined;
    return { base: `${name} ${this.#writes.get(name)}`, start: address.offset, end: address.offset + bytes };
  }
}

/** Bytes that a load or store of plain values moves per lane; 0 for others. */
function bytesOf({ modifiers }: PtxInstruction): number {
  const elements = modifiers.find((modifier) => /^v[248]$/.test(modifier));
  return sizeOfPtxType(modifiers.at(-1) ?? '') * Number(elements?.slice(1) ?? 1);
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
