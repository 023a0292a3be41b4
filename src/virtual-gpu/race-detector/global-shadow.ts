import type { WarpClocks } from './clocks.ts';
import type { EarlierAccess } from './earlier-access.ts';

/** Of a cell's last write. */
const STRONG = 1;
/** Several warps wrote the same value, in no order: whoever reads it, gets it. */
const AGREED = 2;

const PAGE_CELLS = 4096;
const WARPS_PER_CTA = 32;

interface Reader {
  owner: number;
  time: number;
  where: number;
  isStrong: boolean;
}

/** Cells of a part of device memory. An owner is a CTA's linear index × 32 + warp, plus 1; 0 is nobody. */
interface Page {
  writeOwner: Int32Array;
  writeTime: Int32Array;
  writeWhere: Int32Array;
  writeFlags: Uint8Array;
  values: Uint8Array;
  /** Who has read a cell since its last write: made where there is anybody. */
  readers: (Reader[] | undefined)[] | undefined;
}

/** The warp whose accesses are noted. */
export interface Accessor {
  cta: number;
  warp: number;
  /** Its own time. */
  time: number;
  clocks: WarpClocks;
}

/**
 * Who last wrote each cell of device memory during a launch, and who has read it since. A cell is as large as the
 * kernel's smallest access to device memory.
 */
export class GlobalShadow {
  readonly #warps: number;
  readonly #unitBytes: number;
  readonly #shift: number;
  readonly #acrossCtas: boolean;
  readonly #pages = new Map<number, Page>();
  #crossed = false;

  /** @param acrossCtas whether CTAs are compared too; otherwise it is only noted that several wrote to one place. */
  constructor(warps: number, unitBytes: number, acrossCtas: boolean) {
    this.#warps = warps;
    this.#unitBytes = unitBytes;
    this.#shift = Math.log2(unitBytes);
    this.#acrossCtas = acrossCtas;
  }

  /** Several CTAs wrote to one place, and whether they race was not looked at. */
  get crossed(): boolean {
    return this.#crossed;
  }

  /** Notes a read; returns the write that it races with, if there is one. */
  read(address: number, bytes: number, where: number, isStrong: boolean, by: Accessor): EarlierAccess | undefined {
    const end = (address + bytes) >>> this.#shift;
    for (let cell = address >>> this.#shift; cell < end; cell++) {
      const page = this.#page(cell);
      const at = cell % PAGE_CELLS;
      const writer = page.writeOwner[at]!;
      if (writer !== 0 && page.writeFlags[at] === 0 && !this.#isBefore(writer, page.writeTime[at]!, by))
        return earlier(writer, page.writeWhere[at]!, true);
      this.#addReader(page, at, where, isStrong, by);
    }
    return undefined;
  }

  /**
   * Notes a write that has been carried out; returns the access that it races with, if there is one.
   * @param memory device memory.
   */
  write(
    address: number,
    bytes: number,
    where: number,
    isStrong: boolean,
    by: Accessor,
    memory: Uint8Array,
  ): EarlierAccess | undefined {
    const end = (address + bytes) >>> this.#shift;
    for (let cell = address >>> this.#shift; cell < end; cell++) {
      const page = this.#page(cell);
      const at = cell % PAGE_CELLS;
      const changes = this.#takeValue(page, cell, memory);
      const writer = this.#racingWriter(page, at, isStrong, by);
      if (writer !== 0 && changes) return earlier(writer, page.writeWhere[at]!, true);
      const reader = changes && !isStrong ? this.#racingReader(page, at, by) : undefined;
      if (reader) return earlier(reader.owner, reader.where, false);
      if (writer !== 0 && !isStrong) {
        page.writeFlags[at]! |= AGREED;
        continue;
      }
      page.writeOwner[at] = ownerOf(by);
      page.writeTime[at] = by.time;
      page.writeWhere[at] = where;
      page.writeFlags[at] = isStrong ? STRONG : 0;
      if (page.readers) page.readers[at] = undefined;
    }
    return undefined;
  }

  #page(cell: number): Page {
    const number = Math.floor(cell / PAGE_CELLS);
    const known = this.#pages.get(number);
    if (known) return known;
    const page: Page = {
      writeOwner: new Int32Array(PAGE_CELLS),
      writeTime: new Int32Array(PAGE_CELLS),
      writeWhere: new Int32Array(PAGE_CELLS),
      writeFlags: new Uint8Array(PAGE_CELLS),
      values: new Uint8Array(PAGE_CELLS * this.#unitBytes),
      readers: undefined,
    };
    this.#pages.set(number, page);
    return page;
  }

  /** Remembers what the cell holds; false when the last write of this launch left the same there. */
  #takeValue(page: Page, cell: number, memory: Uint8Array): boolean {
    const at = (cell % PAGE_CELLS) * this.#unitBytes;
    const first = cell * this.#unitBytes;
    let changes = page.writeOwner[cell % PAGE_CELLS] === 0;
    for (let byte = 0; byte < this.#unitBytes; byte++) {
      if (page.values[at + byte] === memory[first + byte]) continue;
      changes = true;
      page.values[at + byte] = memory[first + byte]!;
    }
    return changes;
  }

  #racingWriter(page: Page, at: number, isStrong: boolean, by: Accessor): number {
    const writer = page.writeOwner[at]!;
    if (writer === 0 || this.#isBefore(writer, page.writeTime[at]!, by)) return 0;
    if ((page.writeFlags[at]! & STRONG) === 0) return writer;
    // A warp that has seen what an atomic left comes after it, at this place.
    const hasSeen = page.readers?.[at]?.some((reader) => reader.owner === ownerOf(by) && reader.isStrong);
    return isStrong || hasSeen ? 0 : writer;
  }

  #racingReader(page: Page, at: number, by: Accessor): Reader | undefined {
    return page.readers?.[at]?.find(({ owner, time }) => !this.#isBefore(owner, time, by));
  }

  #addReader(page: Page, at: number, where: number, isStrong: boolean, by: Accessor): void {
    page.readers ??= new Array<Reader[] | undefined>(PAGE_CELLS).fill(undefined);
    const owner = ownerOf(by);
    const readers = page.readers[at];
    if (!readers) {
      page.readers[at] = [{ owner, time: by.time, where, isStrong }];
      return;
    }
    const own = readers.find((reader) => reader.owner === owner);
    if (!own) {
      readers.push({ owner, time: by.time, where, isStrong });
      return;
    }
    own.time = by.time;
    own.where = where;
    own.isStrong ||= isStrong;
  }

  /** Whether what the owner did at that time has happened before what is done now. */
  #isBefore(owner: number, time: number, by: Accessor): boolean {
    const [cta, warp] = [ctaOf(owner), warpOf(owner)];
    if (cta === by.cta) return warp === by.warp || time <= by.clocks.rows[by.warp * this.#warps + warp]!;
    if (!this.#acrossCtas) {
      this.#crossed = true;
      return true;
    }
    return by.clocks.isAfterOther(by.warp, cta, warp, time);
  }
}

const ownerOf = ({ cta, warp }: Accessor): number => cta * WARPS_PER_CTA + warp + 1;
const ctaOf = (owner: number): number => Math.floor((owner - 1) / WARPS_PER_CTA);
const warpOf = (owner: number): number => (owner - 1) % WARPS_PER_CTA;

const earlier = (owner: number, where: number, isWrite: boolean): EarlierAccess => ({
  cta: ctaOf(owner),
  warp: warpOf(owner),
  where,
  isWrite,
});
