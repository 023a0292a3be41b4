import { LANES } from '../layout.ts';
import type { EarlierAccess } from './earlier-access.ts';
import { isKnownRead, readAfter, readBy, readOfAnother } from './lanes-that-read.ts';
import { ARRAY, BLOCK, cellsOf, META, READ_BY, STATE, strideOf } from './shadow-layout.ts';
import type { ShadowMemory } from './shadow-memory.ts';

type Words = Uint8Array | Uint16Array | Uint32Array;

/** Addresses that lanes of a warp access together: the first `count`. */
export interface LaneAddresses {
  readonly addresses: Int32Array;
  /** Number of each one's lane. */
  readonly lanes: Uint8Array;
  /** Another lane that accesses the same address, too; 0 where none does. */
  readonly otherLanes: Uint8Array;
  count: number;
}

/** A recorded access; `number` identifies the instruction. */
export interface NotedAccess {
  bytes: number;
  warp: number;
  number: number;
  isStrong: boolean;
  isAtomic: boolean;
}

/** The lowest lane whose access races, and the other access. */
export interface RacingLane {
  index: number;
  earlier: EarlierAccess;
}

/** An access to a cell. */
export interface AccessOfCell {
  readonly warp: number;
  readonly time: number;
  readonly where: number;
}

export interface ReaderOfCell extends AccessOfCell {
  /** It has read the cell by a strong access since its last strong write. */
  readonly hasSeenStrong: boolean;
}

/** What is known of a cell: its last plain write and whether several warps agree on it, its last strong write, readers since the former. */
export interface SharedCell {
  readonly write: AccessOfCell | undefined;
  readonly isAgreed: boolean;
  readonly strong: AccessOfCell | undefined;
  readonly readers: readonly ReaderOfCell[];
  /** After the last write. */
  readonly contents: Words;
}

/**
 * The last writer of each cell of a CTA's shared memory, and its readers since. A cell is as large as the kernel's smallest
 * access. Times only grow from CTA to CTA, so entries of earlier CTAs count as empty. Compiled code notes the usual accesses in the same
 * memory.
 */
export class SharedShadow {
  readonly #warps: number;
  readonly #shift: number;
  readonly #rows: Int32Array;
  /** Address of its block in the shadow memory. */
  readonly block: number;
  /** The words of the block, and its arrays: {@link ARRAY}. */
  readonly #words: Int32Array;
  readonly #writeTime: Int32Array;
  readonly #writeMeta: Int32Array;
  readonly #writeWhere: Int32Array;
  /** One bit per warp that has read the cell since its last plain write; and the time and instruction, by warp and cell. */
  readonly #readers: Int32Array;
  readonly #readTime: Int32Array;
  readonly #readWhere: Int32Array;
  /** From one warp's cells to the next. */
  readonly #cellsPerWarp: number;
  /** Each cell's last strong write. */
  readonly #strongTime: Int32Array;
  readonly #strongWarp: Uint8Array;
  readonly #strongWhere: Int32Array;
  /** One bit per warp that has read it by a strong access since its last strong write. */
  readonly #strongReaders: Int32Array;
  /** Shared memory, and the contents after the last write, in words of a cell's size or 4 bytes. */
  readonly #memory: Words;
  readonly #values: Words;
  readonly #wordsPerCell: number;
  /** By warp: everything in the CTA up to this time happened before what it does now. */
  readonly #known: Int32Array;
  /** By cell: whether several lanes made the last strong write. */
  readonly #isStrongByMany: Uint8Array;
  /** Cells that another CTA of the cluster has written to. */
  #filled: Uint8Array | undefined;
  #start = 0;
  /** The first read of a cell that nobody had written. */
  unwritten: { address: number; warp: number; where: number } | undefined;

  /**
   * @param memory the CTA's shared memory, readable up to a whole cell beyond its end.
   * @param unitBytes size of a cell, a power of two.
   * @param place where its block lies; the times in it all lie before the launch.
   */
  constructor(
    warps: number,
    memory: Uint8Array,
    unitBytes: number,
    rows: Int32Array,
    { shadow, block }: { shadow: ShadowMemory; block: number },
  ) {
    const cells = cellsOf(memory.length, unitBytes);
    const Words = unitBytes === 1 ? Uint8Array : unitBytes === 2 ? Uint16Array : Uint32Array;
    this.#wordsPerCell = unitBytes / Words.BYTES_PER_ELEMENT;
    this.#memory = new Words(memory.buffer as ArrayBuffer, memory.byteOffset, cells * this.#wordsPerCell);
    const { buffer } = shadow.memory;
    const stride = strideOf(cells);
    const array = (index: number, count = 1) =>
      new Int32Array(buffer, block + BLOCK.arrays + index * stride, (count * stride) >> 2);
    const values = block + BLOCK.arrays + (ARRAY.reads + 2 * warps) * stride;
    this.#values = new Words(buffer as ArrayBuffer, values, cells * this.#wordsPerCell);
    this.block = block;
    this.#words = new Int32Array(buffer, block, BLOCK.arrays >> 2);
    this.#warps = warps;
    this.#shift = Math.log2(unitBytes);
    this.#rows = rows;
    this.#writeTime = array(ARRAY.writeTime);
    this.#writeMeta = array(ARRAY.writeMeta);
    this.#writeWhere = array(ARRAY.writeWhere);
    this.#readers = array(ARRAY.readers);
    this.#readTime = array(ARRAY.reads, warps);
    this.#readWhere = array(ARRAY.reads + warps, warps);
    this.#cellsPerWarp = stride >> 2;
    this.#strongTime = new Int32Array(cells);
    this.#strongWarp = new Uint8Array(cells);
    this.#strongWhere = new Int32Array(cells);
    this.#strongReaders = new Int32Array(cells);
    this.#known = new Int32Array(warps);
    this.#isStrongByMany = new Uint8Array(cells);
  }

  /** A CTA begins whose times all lie after `start`. */
  begin(start: number): void {
    this.#start = start;
    this.#words[BLOCK.start >> 2] = start;
    this.#words[BLOCK.hasStrong >> 2] = 0;
    this.#readers.fill(0);
    this.#strongReaders.fill(0);
    this.#known.fill(start);
    this.#filled?.fill(0);
    for (let warp = 0; warp < this.#warps; warp++) this.lanesMet(warp, start + 1);
  }

  #state(warp: number, field: number): number {
    return (BLOCK.states + warp * BLOCK.stateBytes + field) >> 2;
  }

  /**
   * Warps have learned of others, all the same: they know all that those did up to some time.
   * @param now the latest time of any warp.
   */
  learned(warps: readonly number[], now: number): void {
    const row = warps[0]! * this.#warps;
    let known = now;
    for (let other = 0; other < this.#warps; other++) {
      const time = this.#rows[row + other]!;
      // What another does after its time of now has a later time than any.
      if (time < known && time < this.#rows[other * (this.#warps + 1)]!) known = time;
    }
    for (const warp of warps) if (known > this.#known[warp]!) this.#known[warp] = known;
  }

  /** All warps have met: each knows all up to `now`, and the clock of the first becomes the next time, and so on. */
  allMet(now: number): void {
    for (let warp = 0; warp < this.#warps; warp++) {
      this.#known[warp] = now;
      this.lanesMet(warp, now + 1 + warp);
    }
  }

  /** The clock of a warp has changed: compiled code compares with that. */
  clockChanged(warp: number): void {
    const known = this.#known[warp]!;
    this.#words[this.#state(warp, STATE.time)] = this.#rows[warp * (this.#warps + 1)]!;
    this.#words[this.#state(warp, STATE.readsAfter)] = Math.min(known, this.#met(warp) - 1);
    this.#words[this.#state(warp, STATE.writesAfter)] = known;
  }

  /** When the lanes of a warp met last. */
  #met(warp: number): number {
    return this.#words[this.#state(warp, STATE.met)]!;
  }

  /** The same as far as device memory and that of other CTAs are concerned. */
  metForDevice(warp: number): number {
    return this.#words[this.#state(warp, STATE.metForDevice)]!;
  }

  lanesMetForDevice(warp: number, time: number): void {
    this.#words[this.#state(warp, STATE.metForDevice)] = time;
  }

  /** Another CTA of the cluster has written there. */
  filled(address: number, bytes: number): void {
    this.#filled ??= new Uint8Array(this.#writeTime.length);
    this.#filled.fill(1, address >> this.#shift, (address + bytes) >> this.#shift);
  }

  /** Whether the CTA has written by a strong access. */
  #hasStrong(): boolean {
    return this.#words[BLOCK.hasStrong >> 2] !== 0;
  }

  /** Lanes of the warp meet, and its clock becomes this time: its accesses from now on are ordered after those before. */
  lanesMet(warp: number, time: number): void {
    const words = this.#words;
    const state = this.#state(warp, 0);
    const known = this.#known[warp]!;
    words[state + (STATE.time >> 2)] = time;
    words[state + (STATE.readsAfter >> 2)] = Math.min(known, time - 1);
    words[state + (STATE.writesAfter >> 2)] = known;
    words[state + (STATE.met >> 2)] = time;
    words[state + (STATE.metForDevice >> 2)] = time;
  }

  /** Whether the same lanes of the warp, or several, have read all of these cells since it last synchronised. Then plain reads add nothing. */
  knowsReads(
    { addresses, lanes, otherLanes, count }: LaneAddresses,
    offset: number,
    bytes: number,
    warp: number,
  ): boolean {
    const [times, wheres] = [this.#readTime, this.#readWhere];
    const first = warp * this.#cellsPerWarp;
    const shift = this.#shift;
    const time = this.#rows[warp * this.#warps + warp]!;
    const cells = bytes >> shift;
    for (let i = 0; i < count; i++) {
      const read = first + ((addresses[i]! + offset) >> shift);
      const by = readBy(lanes[i]!, otherLanes[i]!);
      for (let at = read; at < read + cells; at++)
        if (times[at] !== time || !isKnownRead(wheres[at]!, by)) return false;
    }
    return true;
  }

  /**
   * Records one warp's reads at `addresses[i]` + `offset`, i < `count`. Returns the first write that one of them races
   * with, if there is one.
   */
  reads(lanes: LaneAddresses, offset: number, access: NotedAccess): RacingLane | undefined {
    const { addresses, lanes: numbers, otherLanes, count } = lanes;
    const { bytes, warp, number, isStrong, isAtomic } = access;
    // Locals: this is the innermost loop of a watched run.
    const [writeTime, writeMeta, strongTime, readers, readTime, readWhere] = [
      this.#writeTime,
      this.#writeMeta,
      this.#strongTime,
      this.#readers,
      this.#readTime,
      this.#readWhere,
    ];
    const rows = this.#rows;
    const shift = this.#shift;
    const start = this.#start;
    const row = warp * this.#warps;
    const own = warp * this.#cellsPerWarp;
    const time = rows[row + warp]!;
    const bit = 1 << warp;
    const met = this.#met(warp);
    const [ordered, hasStrong] = [this.#words[this.#state(warp, STATE.readsAfter)]!, this.#hasStrong()];
    for (let i = 0; i < count; i++) {
      const address = (addresses[i]! + offset) >>> 0;
      const where = number * LANES + numbers[i]!;
      const by = readBy(where, otherLanes[i]!);
      const end = (address + bytes) >> shift;
      for (let cell = address >> shift; cell < end; cell++) {
        const written = writeTime[cell]!;
        if (written <= start || written > ordered || hasStrong) {
          if (written > start) {
            const meta = writeMeta[cell]!;
            const writer = meta & META.warp;
            if (writer !== warp && written > rows[row + writer]! && (meta & META.agreed) === 0)
              return { index: i, earlier: { warp: writer, where: this.#writeWhere[cell]!, isWrite: true } };
            if (written >= met && writer === warp && !isAtomic && this.#isOfAnotherLane(cell, by))
              return { index: i, earlier: { warp, where: this.#writeWhere[cell]!, isWrite: true } };
          } else if (this.unwritten === undefined && strongTime[cell]! <= start && this.#filled?.[cell] !== 1)
            this.unwritten = { address, warp, where };
          if (strongTime[cell]! >= met && !isAtomic && this.#isStrongOfAnotherLane(cell, warp, by))
            return { index: i, earlier: { warp, where: this.#strongWhere[cell]!, isWrite: true } };
        }
        readers[cell]! |= bit;
        if (isStrong) this.#strongReaders[cell]! |= bit;
        const at = own + cell;
        readWhere[at] = readTime[at]! >= met ? readAfter(readWhere[at]!, by) : by;
        readTime[at] = time;
      }
    }
    return undefined;
  }

  /**
   * Records one warp's completed writes at `addresses[i]` + `offset`, i < `count`. Returns the first access that one of
   * them races with, if there is one.
   */
  writes(lanes: LaneAddresses, offset: number, access: NotedAccess): RacingLane | undefined {
    const { addresses, lanes: numbers, otherLanes, count } = lanes;
    const { bytes, warp, number, isStrong, isAtomic } = access;
    const [writeTime, writeMeta, writeWhere, strongTime] = [
      this.#writeTime,
      this.#writeMeta,
      this.#writeWhere,
      this.#strongTime,
    ];
    const rows = this.#rows;
    const shift = this.#shift;
    const start = this.#start;
    const row = warp * this.#warps;
    const time = rows[row + warp]!;
    const others = ~(1 << warp);
    const own = warp * this.#cellsPerWarp;
    if (isStrong) this.#words[BLOCK.hasStrong >> 2] = 1;
    const met = this.#met(warp);
    const [ordered, hasStrong] = [this.#words[this.#state(warp, STATE.writesAfter)]!, this.#hasStrong()];
    const [readers, readTime] = [this.#readers, this.#readTime];
    const [values, memory, wordsPerCell] = [this.#values, this.#memory, this.#wordsPerCell];
    for (let i = 0; i < count; i++) {
      const address = (addresses[i]! + offset) >>> 0;
      const where = number * LANES + numbers[i]!;
      const end = (address + bytes) >> shift;
      for (let cell = address >> shift; cell < end; cell++) {
        const written = writeTime[cell]!;
        const read = own + cell;
        // Here, not in a method: of what bulk copies bring, that took half of a watched launch.
        let isOtherValue = false;
        for (let word = cell * wordsPerCell, last = word + wordsPerCell; word < last; word++) {
          const value = memory[word]!;
          if (values[word] === value) continue;
          isOtherValue = true;
          values[word] = value;
        }
        if (hasStrong || written > ordered || (readers[cell]! & others) !== 0 || readTime[read]! >= met) {
          const writer = writeMeta[cell]! & META.warp;
          const isNew = isOtherValue || (written <= start && strongTime[cell]! <= start);
          const isUnordered = written > start && writer !== warp && written > rows[row + writer]!;
          if (isUnordered && isNew)
            return { index: i, earlier: { warp: writer, where: writeWhere[cell]!, isWrite: true } };
          const readElsewhere =
            isNew && !isAtomic && readTime[read]! >= met ? readOfAnother(this.#readWhere[read]!, where) : -1;
          if (readElsewhere >= 0) return { index: i, earlier: { warp, where: readElsewhere, isWrite: false } };
          if (isStrong) {
            this.#isStrongByMany[cell] = isAtomic ? 1 : otherLanes[i]!;
            strongTime[cell] = time;
            this.#strongWarp[cell] = warp;
            this.#strongWhere[cell] = where;
            this.#strongReaders[cell] = 0;
            continue;
          }
          if (isNew && (strongTime[cell]! > start || (readers[cell]! & others) !== 0)) {
            const earlier = this.#racingStrongWrite(cell, warp) ?? this.#racingRead(cell, warp);
            if (earlier) return { index: i, earlier };
          }
          if (isUnordered) {
            writeMeta[cell]! |= META.agreed;
            continue;
          }
        }
        writeTime[cell] = time;
        writeMeta[cell] = warp | (otherLanes[i]! << META.otherShift);
        writeWhere[cell] = where;
        readers[cell] = 0;
        readTime[read] = 0;
      }
    }
    return undefined;
  }

  /** All that is known of a cell. */
  look(cell: number): SharedCell {
    const readers: ReaderOfCell[] = [];
    for (let warp = 0; warp < this.#warps; warp++) {
      if (((this.#readers[cell]! >>> warp) & 1) === 0) continue;
      const at = warp * this.#cellsPerWarp + cell;
      const hasSeenStrong = ((this.#strongReaders[cell]! >>> warp) & 1) !== 0;
      readers.push({ warp, time: this.#readTime[at]!, where: this.#readWhere[at]! & READ_BY.place, hasSeenStrong });
    }
    const meta = this.#writeMeta[cell]!;
    const write = { warp: meta & META.warp, time: this.#writeTime[cell]!, where: this.#writeWhere[cell]! };
    const strong = { warp: this.#strongWarp[cell]!, time: this.#strongTime[cell]!, where: this.#strongWhere[cell]! };
    const isThere = ({ time }: AccessOfCell): boolean => time > this.#start;
    return {
      write: isThere(write) ? write : undefined,
      isAgreed: isThere(write) && (meta & META.agreed) !== 0,
      strong: isThere(strong) ? strong : undefined,
      readers,
      contents: this.#values.subarray(cell * this.#wordsPerCell, (cell + 1) * this.#wordsPerCell),
    };
  }

  /** Whether one lane made the cell's last plain write, and another one reads. */
  #isOfAnotherLane(cell: number, read: number): boolean {
    return (this.#writeMeta[cell]! & META.other) === 0 && readOfAnother(read, this.#writeWhere[cell]!) >= 0;
  }

  #isStrongOfAnotherLane(cell: number, warp: number, read: number): boolean {
    const isOfOne = this.#strongWarp[cell] === warp && this.#isStrongByMany[cell] === 0;
    return isOfOne && readOfAnother(read, this.#strongWhere[cell]!) >= 0;
  }

  /**
   * The first of these places, each of so many bytes, whose last plain write was made after `time` and by an instruction of which `isGeneric`
   * says so.
   */
  writtenSince(
    addresses: readonly number[],
    bytes: number,
    time: number,
    isGeneric: (where: number) => boolean,
  ): RacingLane | undefined {
    const [writeTime, writeWhere, shift] = [this.#writeTime, this.#writeWhere, this.#shift];
    const since = Math.max(time, this.#start);
    // Most places are of one copy.
    let copied = -1;
    for (let index = 0; index < addresses.length; index++) {
      const end = (addresses[index]! + bytes) >> shift;
      for (let cell = addresses[index]! >> shift; cell < end; cell++) {
        if (writeTime[cell]! <= since) continue;
        const where = writeWhere[cell]!;
        if (where === copied) continue;
        if (isGeneric(where))
          return { index, earlier: { warp: this.#writeMeta[cell]! & META.warp, where, isWrite: true } };
        copied = where;
      }
    }
    return undefined;
  }

  /** The read with which a pending write races; the write may land at any time. */
  overwritten(address: number, bytes: number, warp: number): EarlierAccess | undefined {
    const end = (address + bytes) >> this.#shift;
    for (let cell = address >> this.#shift; cell < end; cell++) {
      const reader = this.#racingRead(cell, warp);
      if (reader) return reader;
    }
    return undefined;
  }

  /** Whether another warp made the write, and nothing orders it before the current access of `warp`. */
  #isUnordered(time: number, writer: number, warp: number): boolean {
    return time > this.#start && writer !== warp && time > this.#rows[warp * this.#warps + writer]!;
  }

  /** A warp that has read an atomic's result comes after it, at this place. */
  #racingStrongWrite(cell: number, warp: number): EarlierAccess | undefined {
    const writer = this.#strongWarp[cell]!;
    const hasSeen = ((this.#strongReaders[cell]! >>> warp) & 1) !== 0;
    if (hasSeen || !this.#isUnordered(this.#strongTime[cell]!, writer, warp)) return undefined;
    return { warp: writer, where: this.#strongWhere[cell]!, isWrite: true };
  }

  #racingRead(cell: number, warp: number): EarlierAccess | undefined {
    let others = this.#readers[cell]! & ~(1 << warp);
    while (others !== 0) {
      const reader = 31 - Math.clz32(others);
      others &= ~(1 << reader);
      const at = reader * this.#cellsPerWarp + cell;
      if (this.#readTime[at]! > this.#rows[warp * this.#warps + reader]!)
        return { warp: reader, where: this.#readWhere[at]! & READ_BY.place, isWrite: false };
    }
    return undefined;
  }
}
