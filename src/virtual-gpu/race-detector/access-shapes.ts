import { LANES } from '../layout.ts';
import { isKnownRead, readAfter, readBy } from './lanes-that-read.ts';
import { META, PHASE, PHASE_FLAGS, SHADOW, SHAPE, SHAPE_BYTES, STEP } from './shadow-layout.ts';
import type { ShadowMemory } from './shadow-memory.ts';
import type { LaneAddresses } from './shared-shadow.ts';

/** A plain access of a group to shared memory: its distance from the address that the group records. */
export interface ShapedAccess {
  readonly number: number;
  readonly offset: number;
  readonly bytes: number;
  readonly isWrite: boolean;
  /** As in {@link Access}. */
  readonly quarter: number | undefined;
}

/** One execution of a group. */
export interface GroupExecution {
  readonly group: number;
  /** Active lanes; and those with an address of their own, in the group's record. */
  readonly bits: number;
  readonly lanes: LaneAddresses;
  /** Address that each lane recorded; undefined where all have one. */
  readonly recorded: Int32Array | undefined;
}

/** What a phase leaves in a cell. */
interface Noted {
  where: number;
  otherLane: number;
}

/** Groups whose lanes lie differently each time stay with JavaScript. */
const SHAPES_PER_GROUP = 8;
const MOST_STEPS = 4096;
const CELLS_PER_STEP = 4;

/** The first access of each run of reads, or of writes. */
export const phasesOf = (accesses: readonly { isWrite: boolean }[]): number[] =>
  accesses.flatMap(({ isWrite }, i) => (i === 0 || accesses[i - 1]!.isWrite !== isWrite ? [i] : []));

/** Writes down how groups access shared memory, so that compiled code notes it when lanes lie to each other that way again. */
export class AccessShapes {
  readonly #shadow: ShadowMemory;
  readonly #shift: number;
  readonly #counts = new Map<number, number>();
  #end: number;

  /** @param unitBytes size of a cell. */
  constructor(shadow: ShadowMemory, unitBytes: number) {
    this.#shadow = shadow;
    this.#shift = Math.log2(unitBytes);
    this.#end = shadow.shapes;
  }

  /** Adds the shape of an execution, if it can have one. */
  add(accesses: readonly ShapedAccess[], execution: GroupExecution): void {
    const { group, bits } = execution;
    const count = this.#counts.get(group) ?? 0;
    if (count === SHAPES_PER_GROUP) return;
    this.#counts.set(group, count + 1);
    const starts = phasesOf(accesses);
    const phases = starts.map((start, i) => this.#phase(accesses.slice(start, starts[i + 1]), execution));
    if (phases.includes(undefined)) return;
    const words = (phases as number[][]).flat();
    const bytes = SHAPE.body + words.length * 4;
    if (this.#end + bytes > this.#shadow.shapes + SHAPE_BYTES) return;
    const { i32 } = this.#shadow;
    const head = (SHADOW.heads >> 2) + group;
    const at = this.#end >> 2;
    i32[at + (SHAPE.next >> 2)] = i32[head]!;
    i32[at + (SHAPE.bits >> 2)] = bits;
    i32[at + (SHAPE.phases >> 2)] = phases.length;
    i32.set(deltasOf(execution), at + (SHAPE.deltas >> 2));
    i32.set(words, at + (SHAPE.body >> 2));
    i32[head] = this.#end;
    this.#end += (bytes + 15) & ~15;
  }

  /** The words of a phase; undefined if compiled code can't note it. */
  #phase(accesses: readonly ShapedAccess[], execution: GroupExecution): number[] | undefined {
    const isWrite = accesses[0]!.isWrite;
    const cells = new Map<number, Noted>();
    const isByMany = isWrite
      ? this.#noteWrites(accesses, execution, cells)
      : this.#noteReads(accesses, execution, cells);
    if (isByMany && isWrite) return undefined;
    const steps = stepsOf(cells);
    if (steps.length > MOST_STEPS) return undefined;
    const isPartial = (step: readonly (Noted | undefined)[]): boolean => step.includes(undefined);
    const partial = steps.filter(({ noted }) => isPartial(noted));
    const whole = steps.filter(({ noted }) => !isPartial(noted));
    const flags =
      (isWrite ? PHASE_FLAGS.write : 0) |
      (isByMany ? PHASE_FLAGS.byMany : 0) |
      (execution.recorded === undefined ? PHASE_FLAGS.always : 0) |
      (accesses.length === 1 ? PHASE_FLAGS.single : 0);
    const words = new Array<number>(PHASE.steps >> 2).fill(0);
    words[PHASE.flags >> 2] = flags;
    words[PHASE.whole >> 2] = whole.length;
    words[PHASE.partial >> 2] = partial.length;
    return [...words, ...[...whole, ...partial].flatMap(wordsOfStep)];
  }

  /** As {@link SharedShadow.reads} notes reads of cells that the warp has not read yet. Returns whether lanes read the same. */
  #noteReads(
    accesses: readonly ShapedAccess[],
    { lanes, recorded }: GroupExecution,
    cells: Map<number, Noted>,
  ): boolean {
    let isByMany = false;
    for (const access of accesses) {
      const touched = this.#cellsOf(access, lanes).map(({ cell, index }) => ({
        cell,
        where: readBy(access.number * LANES + lanes.lanes[index]!, lanes.otherLanes[index]!),
      }));
      // What all lanes know already is not noted again.
      const isKnown = ({ cell, where }: { cell: number; where: number }): boolean =>
        cells.has(cell) && isKnownRead(cells.get(cell)!.where, where);
      if (recorded && touched.every(isKnown)) continue;
      for (const { cell, where } of touched) {
        const before = cells.get(cell);
        isByMany ||= isOfAnotherLane(before, where);
        cells.set(cell, { where: before ? readAfter(before.where, where) : where, otherLane: 0 });
      }
    }
    return isByMany;
  }

  #noteWrites(accesses: readonly ShapedAccess[], { lanes }: GroupExecution, cells: Map<number, Noted>): boolean {
    let isByMany = false;
    for (const access of accesses)
      for (const { cell, index } of this.#cellsOf(access, lanes)) {
        const where = access.number * LANES + lanes.lanes[index]!;
        isByMany ||= isOfAnotherLane(cells.get(cell), where);
        cells.set(cell, { where, otherLane: lanes.otherLanes[index]! });
      }
    return isByMany;
  }

  /** The cells that an access touches, relative to that of the first active lane. */
  #cellsOf(
    { offset, bytes, quarter }: ShapedAccess,
    { addresses, lanes, count }: LaneAddresses,
  ): { cell: number; index: number }[] {
    const touched: { cell: number; index: number }[] = [];
    for (let index = 0; index < count; index++) {
      if (quarter !== undefined && lanes[index]! >> 3 !== quarter) continue;
      const first = (addresses[index]! - addresses[0]! + offset) >> this.#shift;
      for (let cell = first; cell < first + (bytes >> this.#shift); cell++) touched.push({ cell, index });
    }
    return touched;
  }
}

const isOfAnotherLane = (noted: Noted | undefined, where: number): boolean =>
  noted !== undefined && (noted.where ^ where) % LANES !== 0;

interface Step {
  readonly cell: number;
  readonly noted: readonly (Noted | undefined)[];
}

function stepsOf(cells: ReadonlyMap<number, Noted>): Step[] {
  const steps: Step[] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const cell of [...cells.keys()].sort((a, b) => a - b)) {
    if (cell < end) continue;
    end = cell + CELLS_PER_STEP;
    steps.push({ cell, noted: Array.from({ length: CELLS_PER_STEP }, (_, i) => cells.get(cell + i)) });
  }
  return steps;
}

function wordsOfStep({ cell, noted }: Step): number[] {
  const words = new Array<number>(STEP.bytes >> 2).fill(0);
  words[STEP.delta >> 2] = cell * 4;
  for (const [i, each] of noted.entries()) {
    if (!each) continue;
    words[(STEP.where >> 2) + i] = each.where;
    words[(STEP.meta >> 2) + i] = each.otherLane << META.otherShift;
    words[(STEP.mask >> 2) + i] = -1;
  }
  return words;
}

/** Distance of each active lane's address from that of the first. */
function deltasOf({ bits, lanes, recorded }: GroupExecution): Int32Array {
  const isActive = (lane: number): boolean => ((bits >>> lane) & 1) !== 0;
  return Int32Array.from({ length: LANES }, (_, lane) =>
    recorded && isActive(lane) ? recorded[lane]! - lanes.addresses[0]! : 0,
  );
}
