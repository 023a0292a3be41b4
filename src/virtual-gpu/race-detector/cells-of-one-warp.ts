import { growTo } from '../runtime/memories.ts';
import type { LaneAccess } from './lane-accesses.ts';
import { CELL, CELL_PAGE, CELL_READ, SHARED_CELL, SPAN } from './shadow-layout.ts';

/** Pages that a launch gets: some 200 KiB each. What lies beyond them is left to JavaScript. */
const MOST_PAGES = 2048;

/** The last access of a kind to a cell; undefined where there is none. */
export type LoneAccess = Readonly<Pick<LaneAccess, 'time' | 'execution' | 'where'>>;

/** What is known of a cell that one warp alone has accessed. */
export interface LoneCell {
  readonly owner: number;
  readonly write: LoneAccess | undefined;
  readonly read: LoneAccess | undefined;
  /** Contents after the last write. */
  readonly contents: Uint8Array;
}

/** From a cell's first word to the time of its last write, and of its last read. */
const WRITE = CELL.writeTime >> 2;
const READ = (CELL_PAGE.reads - CELL_PAGE.writes + CELL_READ.time) >> 2;

const placeIn = (page: number, cell: number): number =>
  (page + CELL_PAGE.writes + (cell % CELL_PAGE.cells) * CELL.bytes) >> 2;

/**
 * Cells of device memory that one warp alone has accessed in this launch, by plain accesses, each lane for itself: most of them. Compiled
 * code notes these in {@link CELL}; so does JavaScript, where an access comes another way. A cell that anything else happens to is
 * taken out, and is JavaScript's from then on.
 */
export class CellsOfOneWarp {
  readonly memory = new WebAssembly.Memory({ initial: 1 });
  #i32 = new Int32Array(this.memory.buffer);
  #u8 = new Uint8Array(this.memory.buffer);
  /** Where pages begin, behind the table of their addresses; pages that are there, and how many of them the launch uses. */
  #tableBytes = 0;
  #pages = 0;
  #used = 0;
  #start = 0;
  #shift = 2;

  /**
   * @param deviceBytes end of device memory.
   * @param unitBytes size of a cell.
   * @param start all times of the launch lie after it, and all earlier ones up to it.
   */
  begin(deviceBytes: number, unitBytes: number, start: number): void {
    this.#start = start;
    this.#shift = Math.log2(unitBytes);
    const tableBytes = (Math.ceil(deviceBytes / (CELL_PAGE.cells * unitBytes)) * 4 + 65535) & ~65535;
    if (tableBytes > this.#tableBytes) this.#moveBehind(tableBytes);
    this.#i32.fill(0, 0, this.#tableBytes >> 2);
    this.#used = 0;
  }

  /** Times start again. */
  forget(): void {
    this.#i32.fill(0);
  }

  #moveBehind(tableBytes: number): void {
    this.forget();
    this.#tableBytes = tableBytes;
    this.#pages = 0;
    this.#reserve(tableBytes);
  }

  #reserve(end: number): void {
    if (!growTo(this.memory, end)) return;
    this.#i32 = new Int32Array(this.memory.buffer);
    this.#u8 = new Uint8Array(this.memory.buffer);
  }

  /** Gives the page of a cell to the launch. Returns its address, or 0 if there is no room for it. */
  newPage(cell: number): number {
    if (this.#used === MOST_PAGES) return 0;
    const page = this.#tableBytes + this.#used++ * CELL_PAGE.bytes;
    if (this.#used > this.#pages) this.#reserve(page + CELL_PAGE.bytes);
    this.#pages = Math.max(this.#pages, this.#used);
    this.#i32[(page + CELL_PAGE.hasReads) >> 2] = 0;
    this.#i32[Math.floor(cell / CELL_PAGE.cells)] = page;
    return page;
  }

  /** Index of a cell's words; −1 if there is no room for them. */
  #at(cell: number): number {
    const page = this.#i32[Math.floor(cell / CELL_PAGE.cells)]! || this.newPage(cell);
    if (page === 0) return -1;
    this.#tellApart(page, cell);
    return placeIn(page, cell);
  }

  /** What is known of a {@link SPAN} in a page that the launch has goes to its cells, one by one. */
  tellApart(cell: number): void {
    this.#tellApart(this.#i32[Math.floor(cell / CELL_PAGE.cells)]!, cell);
  }

  #tellApart(page: number, cell: number): void {
    const words = this.#i32;
    const number = Math.floor((cell % CELL_PAGE.cells) / SPAN.cells);
    const span = (page + CELL_PAGE.spans + number * SPAN.bytes) >> 2;
    if (words[span + (SPAN.apart >> 2)]! > this.#start) return;
    words[span + (SPAN.apart >> 2)] = this.#start + 1;
    const first = placeIn(page, number * SPAN.cells);
    this.#spread(span, span + (SPAN.writeTime >> 2), first, WRITE);
    if (this.#spread(span, span + (SPAN.readTime >> 2), first, READ)) words[(page + CELL_PAGE.hasReads) >> 2] = 1;
  }

  /**
   * Notes the last write, or read, of a span in each of its cells, the first of which is at `first`.
   * @param from index of its time.
   * @param to from a cell's first word to that of such an access.
   * @returns whether there was one.
   */
  #spread(span: number, from: number, first: number, to: number): boolean {
    const words = this.#i32;
    const [time, execution, packed] = [words[from]!, words[from + 1]!, words[from + 2]!];
    if (time <= this.#start) return false;
    const shift = packed >>> SPAN.cellsPerLaneShift;
    const where = packed & ((1 << SPAN.cellsPerLaneShift) - 1);
    for (let i = 0; i < SPAN.cells; i++) {
      const at = first + i * (CELL.bytes >> 2);
      words[at] = words[span]!;
      words[at + to] = time;
      words[at + to + 1] = execution;
      words[at + to + 2] = where + (i >> shift);
    }
    return true;
  }

  /**
   * Notes an access, as compiled code does, if only this warp has accessed the cell, and each of its lanes for itself since they met.
   * @param written device memory, if it writes.
   */
  note(cell: number, by: LaneAccess, written: Uint8Array | undefined): boolean {
    const at = this.#at(cell);
    if (at < 0 || by.otherLane !== 0 || !this.#isOwn(at, by)) return false;
    const words = this.#i32;
    words[at] = by.owner;
    const to = at + (written ? WRITE : READ);
    words[to] = by.time;
    words[to + 1] = by.execution;
    words[to + 2] = by.where;
    if (!written) {
      words[(words[Math.floor(cell / CELL_PAGE.cells)]! + CELL_PAGE.hasReads) >> 2] = 1;
      return true;
    }
    const size = 1 << this.#shift;
    this.#u8.set(written.subarray(cell * size, cell * size + size), this.#contentsAt(cell));
    return true;
  }

  #contentsAt(cell: number): number {
    const page = this.#i32[Math.floor(cell / CELL_PAGE.cells)]!;
    return page + CELL_PAGE.values + ((cell % CELL_PAGE.cells) << this.#shift);
  }

  #isOwn(at: number, { owner, met, where }: LaneAccess): boolean {
    const words = this.#i32;
    const [write, read] = [at + WRITE, at + READ];
    if (words[write]! <= this.#start && words[read]! <= this.#start) return true;
    const isOrdered = (access: number): boolean => words[access]! < met || ((words[access + 2]! ^ where) & 31) === 0;
    return words[at] === owner && isOrdered(write) && isOrdered(read);
  }

  /**
   * Takes a cell out, so that it is JavaScript's for the rest of the launch. Returns what was known of it; undefined if that was nothing,
   * or if it was taken out before.
   * @param time of the access at hand.
   */
  take(cell: number, time: number): LoneCell | undefined {
    const at = this.#at(cell);
    if (at < 0) return undefined;
    const isTaken = this.#i32[at]! === SHARED_CELL && this.#i32[at + WRITE]! > this.#start;
    if (isTaken) return undefined;
    const known = this.#known(cell, at);
    this.#i32[at] = SHARED_CELL;
    this.#i32[at + WRITE] = time;
    return known;
  }

  /** What is known of a cell; undefined if that is nothing, or if it was taken out. */
  look(cell: number): LoneCell | undefined {
    const page = this.#i32[Math.floor(cell / CELL_PAGE.cells)]!;
    if (page === 0) return undefined;
    this.#tellApart(page, cell);
    return this.#known(cell, placeIn(page, cell));
  }

  #known(cell: number, at: number): LoneCell | undefined {
    const owner = this.#i32[at]!;
    if (owner === SHARED_CELL) return undefined;
    const [write, read] = [this.#accessAt(at + WRITE), this.#accessAt(at + READ)];
    if (!write && !read) return undefined;
    const from = this.#contentsAt(cell);
    return { owner, write, read, contents: this.#u8.subarray(from, from + (1 << this.#shift)) };
  }

  #accessAt(at: number): LoneAccess | undefined {
    const time = this.#i32[at]!;
    return time <= this.#start ? undefined : { time, execution: this.#i32[at + 1]!, where: this.#i32[at + 2]! };
  }
}
