import { LANES } from '../layout.ts';

/** A warp's access to one cell, by one of its lanes. */
export interface LaneAccess {
  /** Identifies the warp among those of the launch. */
  owner: number;
  /** The warp's own time. */
  time: number;
  /** When its lanes met last: what they did before is ordered with what they do now. */
  met: number;
  /** Which execution of an instruction it belongs to. */
  execution: number;
  /** Number of the access × 32 + lane. */
  where: number;
  /** Another lane that accesses the cell by the same instruction; 0 if none does. */
  otherLane: number;
}

/** The last accesses of one kind to each cell; `other` is −1, or that of another lane since the lanes met. */
interface LastOfLanes {
  readonly owner: Int32Array;
  readonly time: Int32Array;
  readonly execution: Float64Array;
  readonly where: Int32Array;
  readonly other: Int32Array;
}

/**
 * Plain accesses of a warp's lanes to cells of a page. Lanes of a warp need not run in step: two accesses of different lanes race
 * if one is a write that changes the cell, and the lanes have not met between them. What one instruction does in several lanes at
 * once is not compared: as in shared memory, one of the values written stays.
 */
export class LaneAccesses {
  readonly #cells: number;
  /** Made when first needed: most places are only written. */
  #reads: LastOfLanes | undefined;
  #writes: LastOfLanes | undefined;

  constructor(cells: number) {
    this.#cells = cells;
  }

  /** Records a read. Returns the place of the write that it races with, or −1. */
  read(at: number, by: LaneAccess): number {
    const writes = this.#writes;
    // Where several lanes wrote, each may well read what it wrote itself.
    if (
      writes !== undefined &&
      isSinceMeeting(writes, at, by) &&
      writes.other[at] === -1 &&
      (by.otherLane !== 0 || laneOf(writes.where[at]!) !== laneOf(by.where))
    )
      return writes.where[at]!;
    this.#reads ??= noAccesses(this.#cells);
    note(this.#reads, at, by);
    return -1;
  }

  /** Forgets all. */
  forget(): void {
    this.#reads?.owner.fill(0);
    this.#writes?.owner.fill(0);
  }

  /** Records a write to a cell that nobody has accessed. */
  firstWrite(at: number, by: LaneAccess): void {
    this.#writes ??= noAccesses(this.#cells);
    set(this.#writes, at, by, -1);
  }

  /**
   * Records a write.
   * @param changes whether it leaves other contents than the launch's last write did.
   * @returns the place of the access that it races with, and its kind; undefined if there is none.
   */
  write(at: number, by: LaneAccess, changes: boolean): { where: number; isWrite: boolean } | undefined {
    if (changes) {
      const reads = this.#reads;
      const read = reads !== undefined && isSinceMeeting(reads, at, by) ? ofAnotherLane(reads, at, by) : -1;
      if (read !== -1) return { where: read, isWrite: false };
      const written = this.#overwritten(at, by);
      if (written !== -1) return { where: written, isWrite: true };
    }
    this.#writes ??= noAccesses(this.#cells);
    note(this.#writes, at, by);
    return undefined;
  }

  /** Lanes that all write to a place, and then all again, each end with the second value: the first of them matters to nobody. */
  #overwritten(at: number, by: LaneAccess): number {
    const writes = this.#writes;
    if (writes === undefined || by.otherLane !== 0 || !isSinceMeeting(writes, at, by)) return -1;
    return isSameInstruction(writes, at, by) ? -1 : ofAnotherLane(writes, at, by);
  }
}

const noAccesses = (cells: number): LastOfLanes => ({
  owner: new Int32Array(cells),
  time: new Int32Array(cells),
  execution: new Float64Array(cells),
  where: new Int32Array(cells),
  other: new Int32Array(cells),
});

const laneOf = (where: number): number => where % LANES;

const isSinceMeeting = ({ owner, time }: LastOfLanes, at: number, by: LaneAccess): boolean =>
  owner[at] === by.owner && time[at]! >= by.met;

const isSameInstruction = ({ execution, where }: LastOfLanes, at: number, by: LaneAccess): boolean =>
  execution[at] === by.execution && Math.floor(where[at]! / LANES) === Math.floor(by.where / LANES);

/** Place of the last access by another lane than that of `by`, or −1. */
function ofAnotherLane({ where, other }: LastOfLanes, at: number, by: LaneAccess): number {
  return laneOf(where[at]!) !== laneOf(by.where) ? where[at]! : other[at]!;
}

function note(last: LastOfLanes, at: number, by: LaneAccess): void {
  set(last, at, by, isSinceMeeting(last, at, by) ? ofAnotherLane(last, at, by) : -1);
}

/** @param before an access of another lane since the lanes met, or −1. */
function set(last: LastOfLanes, at: number, by: LaneAccess, before: number): void {
  last.other[at] = by.otherLane === 0 ? before : by.where - laneOf(by.where) + by.otherLane;
  last.owner[at] = by.owner;
  last.time[at] = by.time;
  last.execution[at] = by.execution;
  last.where[at] = by.where;
}
