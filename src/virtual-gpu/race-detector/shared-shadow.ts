import type { EarlierAccess } from './earlier-access.ts';

/**
 * Who last wrote each cell of a CTA's shared memory, and who has read it since. A cell is as large as the kernel's
 * smallest access. Times only grow from CTA to CTA, so what is older than the CTA at hand counts as never.
 */
export class SharedShadow {
  readonly #warps: number;
  readonly #shift: number;
  /** Row w: up to which time of each warp everything has happened before what warp w does now. */
  readonly #rows: Int32Array;
  /** Each cell's last plain write, and whether several warps wrote the same, in no order: whoever reads it, gets it. */
  readonly #writeTime: Int32Array;
  readonly #writeWarp: Uint8Array;
  readonly #writeWhere: Int32Array;
  readonly #isAgreed: Uint8Array;
  /** Each cell's last strong write. */
  readonly #strongTime: Int32Array;
  readonly #strongWarp: Uint8Array;
  readonly #strongWhere: Int32Array;
  /** Bit per warp that has read the cell since its last plain write; and when and where, by cell and warp. */
  readonly #readers: Int32Array;
  readonly #readTime: Int32Array;
  readonly #readWhere: Int32Array;
  /** Bit per warp that has read it by a strong access since its last strong write. */
  readonly #strongReaders: Int32Array;
  /** What the last write left. */
  readonly #values: Uint8Array;
  #start = 0;
  /** The first read of a cell that nobody had written. */
  unwritten: { address: number; warp: number; where: number } | undefined;

  /** @param unitBytes size of a cell, a power of two. */
  constructor(warps: number, bytes: number, unitBytes: number, rows: Int32Array) {
    const cells = Math.ceil(bytes / unitBytes);
    this.#warps = warps;
    this.#shift = Math.log2(unitBytes);
    this.#rows = rows;
    this.#writeTime = new Int32Array(cells);
    this.#writeWarp = new Uint8Array(cells);
    this.#writeWhere = new Int32Array(cells);
    this.#isAgreed = new Uint8Array(cells);
    this.#strongTime = new Int32Array(cells);
    this.#strongWarp = new Uint8Array(cells);
    this.#strongWhere = new Int32Array(cells);
    this.#readers = new Int32Array(cells);
    this.#strongReaders = new Int32Array(cells);
    this.#readTime = new Int32Array(cells * warps);
    this.#readWhere = new Int32Array(cells * warps);
    this.#values = new Uint8Array(cells * unitBytes);
  }

  /** A CTA begins whose times all lie after `start`. */
  begin(start: number): void {
    this.#start = start;
    this.#readers.fill(0);
    this.#strongReaders.fill(0);
  }

  /** Whether the warp has made all of these plain reads before, since it last met others: then they add nothing. */
  knowsReads(addresses: Int32Array, count: number, offset: number, bytes: number, warp: number): boolean {
    const times = this.#readTime;
    const warps = this.#warps;
    const shift = this.#shift;
    const time = this.#rows[warp * warps + warp]!;
    const cells = bytes >> shift;
    for (let i = 0; i < count; i++) {
      const first = (addresses[i]! + offset) >> shift;
      for (let cell = first; cell < first + cells; cell++) if (times[cell * warps + warp] !== time) return false;
    }
    return true;
  }

  /** Notes a read; returns the write that it races with, if there is one. */
  read(address: number, bytes: number, warp: number, where: number, isStrong: boolean): EarlierAccess | undefined {
    const warps = this.#warps;
    const row = warp * warps;
    const time = this.#rows[row + warp]!;
    const bit = 1 << warp;
    const end = (address + bytes) >> this.#shift;
    for (let cell = address >> this.#shift; cell < end; cell++) {
      const at = cell * warps + warp;
      const written = this.#writeTime[cell]!;
      if (written > this.#start) {
        const writer = this.#writeWarp[cell]!;
        if (writer !== warp && written > this.#rows[row + writer]! && this.#isAgreed[cell] === 0)
          return { warp: writer, where: this.#writeWhere[cell]!, isWrite: true };
      } else if (this.unwritten === undefined && this.#strongTime[cell]! <= this.#start)
        this.unwritten = { address, warp, where };
      this.#readers[cell]! |= bit;
      if (isStrong) this.#strongReaders[cell]! |= bit;
      this.#readTime[at] = time;
      this.#readWhere[at] = where;
    }
    return undefined;
  }

  /**
   * Notes a write that has been carried out; returns the access that it races with, if there is one.
   * @param memory shared memory.
   */
  write(
    address: number,
    bytes: number,
    warp: number,
    where: number,
    isStrong: boolean,
    memory: Uint8Array,
  ): EarlierAccess | undefined {
    const end = (address + bytes) >> this.#shift;
    for (let cell = address >> this.#shift; cell < end; cell++) {
      const changes = this.#takeValue(cell, memory);
      const isUnordered = this.#isUnordered(this.#writeTime[cell]!, this.#writeWarp[cell]!, warp);
      if (isUnordered && changes)
        return { warp: this.#writeWarp[cell]!, where: this.#writeWhere[cell]!, isWrite: true };
      if (isStrong) {
        this.#strongTime[cell] = this.#rows[warp * this.#warps + warp]!;
        this.#strongWarp[cell] = warp;
        this.#strongWhere[cell] = where;
        this.#strongReaders[cell] = 0;
        continue;
      }
      const earlier = changes ? (this.#racingStrongWrite(cell, warp) ?? this.#racingRead(cell, warp)) : undefined;
      if (earlier) return earlier;
      if (isUnordered) {
        this.#isAgreed[cell] = 1;
        continue;
      }
      this.#writeTime[cell] = this.#rows[warp * this.#warps + warp]!;
      this.#writeWarp[cell] = warp;
      this.#writeWhere[cell] = where;
      this.#isAgreed[cell] = 0;
      this.#readers[cell] = 0;
    }
    return undefined;
  }

  /** The read that a write still on its way to memory races with: it may land at any time. */
  overwritten(address: number, bytes: number, warp: number): EarlierAccess | undefined {
    const end = (address + bytes) >> this.#shift;
    for (let cell = address >> this.#shift; cell < end; cell++) {
      const reader = this.#racingRead(cell, warp);
      if (reader) return reader;
    }
    return undefined;
  }

  /** Remembers what the cell holds; false when the last write of this CTA left the same there. */
  #takeValue(cell: number, memory: Uint8Array): boolean {
    const first = cell << this.#shift;
    const end = first + (1 << this.#shift);
    let changes = this.#writeTime[cell]! <= this.#start && this.#strongTime[cell]! <= this.#start;
    for (let at = first; at < end; at++) {
      if (this.#values[at] === memory[at]) continue;
      changes = true;
      this.#values[at] = memory[at]!;
    }
    return changes;
  }

  /** Whether a write was by another warp, and nothing puts it before what `warp` does now. */
  #isUnordered(time: number, writer: number, warp: number): boolean {
    return time > this.#start && writer !== warp && time > this.#rows[warp * this.#warps + writer]!;
  }

  /** A warp that has seen what an atomic left comes after it, at this place. */
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
      const at = cell * this.#warps + reader;
      if (this.#readTime[at]! > this.#rows[warp * this.#warps + reader]!)
        return { warp: reader, where: this.#readWhere[at]!, isWrite: false };
    }
    return undefined;
  }
}
