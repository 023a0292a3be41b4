import type { CellsOfOneWarp, LoneAccess } from './cells-of-one-warp.ts';
import type { WarpClocks } from './clocks.ts';
import type { EarlierAccess } from './earlier-access.ts';
import { type LaneAccess, LaneAccesses } from './lane-accesses.ts';
import type { SharedCell } from './shared-shadow.ts';

const PAGE_CELLS = 4096;
const WARPS_PER_CTA = 32;
/** A page has some 200 KiB. */
const MOST_SPARE_PAGES = 256;

type Words = Uint8Array | Uint16Array | Uint32Array;
type WordArrayType = Uint8ArrayConstructor | Uint16ArrayConstructor | Uint32ArrayConstructor;

interface Reader {
  owner: number;
  time: number;
  where: number;
  /** The warp has read it by a strong access since its last strong write. */
  hasSeenStrong: boolean;
}

/** The last write of each cell. */
interface LastWrites {
  owner: Int32Array;
  time: Int32Array;
  where: Int32Array;
}

/** Cells of a part of device memory. An owner is a CTA's linear index × 32 + warp, plus 1; 0 is nobody. */
interface Page {
  plain: LastWrites;
  /** Several warps wrote the same value without an order, so every reader gets that value. */
  isAgreed: Uint8Array;
  /** Allocated when first needed, like the readers. */
  strong: LastWrites | undefined;
  values: Words;
  /** Who has read a cell since its last plain write. */
  readers: (Reader[] | undefined)[] | undefined;
  lanes: LaneAccesses | undefined;
}

/** The warp whose accesses are noted. */
export interface Accessor {
  cta: number;
  warp: number;
  /** Its own time. */
  time: number;
  clocks: WarpClocks;
  /** Of a plain access whose warp's lanes are compared, too: see {@link LaneAccess}. */
  lanes?: LaneSurroundings | undefined;
}

/** What {@link LaneAccess} says beyond the access itself. */
export type LaneSurroundings = Pick<LaneAccess, 'met' | 'execution' | 'otherLane'>;

/**
 * The last writer of each cell of device memory during a launch, and its readers since. A cell is as large as the kernel's
 * smallest access to device memory.
 */
export class GlobalShadow {
  readonly #warps: number;
  readonly #unitBytes: number;
  readonly #shift: number;
  readonly #acrossCtas: boolean;
  /** A cell's contents are compared in words of its size, or of 4 bytes. */
  readonly #WordArray: WordArrayType;
  readonly #wordsPerCell: number;
  /** The memory at hand. */
  #memoryBytes: Uint8Array | undefined;
  #memory: Words | undefined;
  #ctasTakeTurns: boolean;
  readonly #pages = new Map<number, Page>();
  readonly #spare: Page[];
  /** The page that was needed last, and its number. */
  #recent: Page | undefined;
  #recentNumber = -1;
  /** Of the access at hand. */
  readonly #lane: LaneAccess = { owner: 0, time: 0, met: 0, execution: 0, where: 0, otherLane: 0 };
  /** Of most cells all is known there. */
  readonly #lone: CellsOfOneWarp | undefined;
  #crossed = false;

  /**
   * @param acrossCtas whether to compare CTAs, too; otherwise records only that several wrote to one place.
   * @param ctasTakeTurns whether a CTA may go on after another has run; otherwise each runs whole.
   * @param spare what another shadow has released.
   * @param lone where compiled code notes accesses, too.
   */
  constructor(
    warps: number,
    unitBytes: number,
    acrossCtas: boolean,
    ctasTakeTurns: boolean,
    spare: Page[] = [],
    lone?: CellsOfOneWarp,
  ) {
    this.#spare = spare;
    this.#lone = lone;
    this.#warps = warps;
    this.#unitBytes = unitBytes;
    this.#shift = Math.log2(unitBytes);
    this.#acrossCtas = acrossCtas;
    this.#WordArray = unitBytes === 1 ? Uint8Array : unitBytes === 2 ? Uint16Array : Uint32Array;
    this.#wordsPerCell = unitBytes / this.#WordArray.BYTES_PER_ELEMENT;
    this.#ctasTakeTurns = ctasTakeTurns;
  }

  /** From now on a CTA may go on after another has run. */
  takeTurns(): void {
    this.#ctasTakeTurns = true;
  }

  /** Whether several CTAs wrote to one place, without a check for races. */
  get crossed(): boolean {
    return this.#crossed;
  }

  /** The launch's last write of any of these bytes. */
  lastWriteOf(address: number, bytes: number): EarlierAccess | undefined {
    const end = (address + bytes) >>> this.#shift;
    for (let cell = address >>> this.#shift; cell < end; cell++) {
      const lone = this.#lone?.look(cell);
      if (lone?.write) return earlier(lone.owner, lone.write.where, true);
      const page = this.#pages.get(Math.floor(cell / PAGE_CELLS));
      const at = cell % PAGE_CELLS;
      for (const writes of [page?.plain, page?.strong])
        if (writes && writes.owner[at] !== 0) return lastWrite(writes, at);
    }
    return undefined;
  }

  /** Records a read. Returns the write that it races with, if there is one. */
  read(address: number, bytes: number, where: number, isStrong: boolean, by: Accessor): EarlierAccess | undefined {
    const end = (address + bytes) >>> this.#shift;
    const lane = this.#laneAccess(where, isStrong, by);
    for (let cell = address >>> this.#shift; cell < end; cell++) {
      if (this.#lone && lane && this.#lone.note(cell, lane, undefined)) continue;
      const page = this.#page(cell);
      const at = cell % PAGE_CELLS;
      if (this.#lone) this.#takeOver(this.#lone, cell, page, by);
      if (page.isAgreed[at] === 0 && this.#isUnordered(page.plain, at, by)) return lastWrite(page.plain, at);
      const written = lane ? lanesOf(page).read(at, lane) : -1;
      if (written !== -1) return earlier(ownerOf(by), written, true);
      this.#addReader(page, at, where, isStrong, by);
    }
    return undefined;
  }

  /**
   * Records a completed write. Returns the access that it races with, if there is one.
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
    const lane = this.#laneAccess(where, isStrong, by);
    for (let cell = address >>> this.#shift; cell < end; cell++) {
      if (this.#lone && lane && this.#lone.note(cell, lane, memory)) continue;
      const page = this.#page(cell);
      const at = cell % PAGE_CELLS;
      if (this.#lone) this.#takeOver(this.#lone, cell, page, by);
      if (!isStrong && isUntouched(page, at)) {
        this.#takeValue(page, cell, memory);
        if (lane) lanesOf(page).firstWrite(at, lane);
        setLast(page.plain, at, where, by);
        continue;
      }
      const changes = this.#takeValue(page, cell, memory);
      const isUnordered = this.#isUnordered(page.plain, at, by);
      if (isUnordered && changes) return lastWrite(page.plain, at);
      const ofLane = lane && lanesOf(page).write(at, lane, changes);
      if (ofLane) return earlier(ownerOf(by), ofLane.where, ofLane.isWrite);
      if (isStrong) {
        page.strong ??= noWrites();
        setLast(page.strong, at, where, by);
        if (page.readers?.[at]) for (const reader of page.readers[at]) reader.hasSeenStrong = false;
        continue;
      }
      if (changes && page.strong && this.#isUnordered(page.strong, at, by) && !hasSeenStrong(page, at, by))
        return lastWrite(page.strong, at);
      const reader = changes ? page.readers?.[at]?.find((r) => !this.#isBefore(r.owner, r.time, by)) : undefined;
      if (reader) return earlier(reader.owner, reader.where, false);
      if (isUnordered) {
        page.isAgreed[at] = 1;
        continue;
      }
      setLast(page.plain, at, where, by);
      page.isAgreed[at] = 0;
      if (page.readers) page.readers[at] = undefined;
    }
    return undefined;
  }

  /** A cell that one warp alone has accessed so far becomes one of others, too. */
  #takeOver(lone: CellsOfOneWarp, cell: number, page: Page, by: Accessor): void {
    const known = lone.take(cell, by.time);
    if (!known) return;
    const at = cell % PAGE_CELLS;
    const { owner, write, read, contents } = known;
    const lanes = lanesOf(page);
    const access = (one: LoneAccess): LaneAccess => ({ ...one, owner, met: one.time, otherLane: 0 });
    if (read) {
      page.readers ??= new Array<Reader[] | undefined>(PAGE_CELLS).fill(undefined);
      // After a write of the same warp, whoever is ordered after that is ordered after the read.
      page.readers[at] = [{ owner, time: read.time, where: read.where, hasSeenStrong: false }];
      lanes.read(at, access(read));
    }
    if (!write) return;
    lanes.firstWrite(at, access(write));
    page.plain.owner[at] = owner;
    page.plain.time[at] = write.time;
    page.plain.where[at] = write.where;
    const { values } = page;
    new Uint8Array(values.buffer, values.byteOffset).set(contents, at * this.#unitBytes);
  }

  /** Takes over what is known of a cell that one CTA alone has accessed. */
  adopt(cell: number, cta: number, { write, isAgreed, strong, readers, contents }: SharedCell): void {
    const page = this.#page(cell);
    const at = cell % PAGE_CELLS;
    if (write) setLast(page.plain, at, write.where, { cta, ...write });
    page.isAgreed[at] = isAgreed ? 1 : 0;
    if (strong) {
      page.strong ??= noWrites();
      setLast(page.strong, at, strong.where, { cta, ...strong });
    }
    page.values.set(contents, at * this.#wordsPerCell);
    if (readers.length === 0) return;
    page.readers ??= new Array<Reader[] | undefined>(PAGE_CELLS).fill(undefined);
    page.readers[at] = readers.map(({ warp, ...reader }) => ({ owner: ownerOf({ cta, warp }), ...reader }));
  }

  /** The last write of each cell, and who has read it since, as far as they were not of this CTA. */
  *lastAccessesOfOthers(cta: number): Generator<EarlierAccess & { cta: number; time: number }> {
    for (const { plain, strong, readers } of this.#pages.values())
      for (let at = 0; at < PAGE_CELLS; at++) {
        if (isOfOther(plain.owner[at]!, cta)) yield { ...lastWrite(plain, at), time: plain.time[at]! };
        if (strong && isOfOther(strong.owner[at]!, cta)) yield { ...lastWrite(strong, at), time: strong.time[at]! };
        const read = readers?.[at];
        if (read === undefined) continue;
        for (const { owner, where, time } of read)
          if (isOfOther(owner, cta)) yield { ...earlier(owner, where, false), time };
      }
  }

  /** Strong accesses of lanes never race. */
  #laneAccess(where: number, isStrong: boolean, by: Accessor): LaneAccess | undefined {
    const { lanes } = by;
    if (lanes === undefined || isStrong) return undefined;
    const lane = this.#lane;
    lane.owner = ownerOf(by);
    lane.time = by.time;
    lane.met = lanes.met;
    lane.execution = lanes.execution;
    lane.where = where;
    lane.otherLane = lanes.otherLane;
    return lane;
  }

  #page(cell: number): Page {
    const number = Math.floor(cell / PAGE_CELLS);
    if (number !== this.#recentNumber || this.#recent === undefined) {
      this.#recent = this.#pages.get(number) ?? this.#newPage(number);
      this.#recentNumber = number;
    }
    return this.#recent;
  }

  #newPage(number: number): Page {
    const page = this.#spare.pop() ?? this.#emptyPage();
    this.#pages.set(number, page);
    return page;
  }

  #emptyPage(): Page {
    return {
      plain: noWrites(),
      isAgreed: new Uint8Array(PAGE_CELLS),
      strong: undefined,
      values: new this.#WordArray(PAGE_CELLS * this.#wordsPerCell),
      readers: undefined,
      lanes: undefined,
    };
  }

  /** Pages of a shadow that is not needed any more, for another of this unit. */
  release(unitBytes: number): Page[] {
    if (unitBytes !== this.#unitBytes) return [];
    for (const page of this.#pages.values()) {
      page.plain.owner.fill(0);
      page.isAgreed.fill(0);
      page.strong = undefined;
      page.readers = undefined;
      page.lanes?.forget();
    }
    return [...this.#spare, ...this.#pages.values()].slice(0, MOST_SPARE_PAGES);
  }

  /** Remembers the cell's contents. Returns false if this launch's last write left the same contents. */
  #takeValue(page: Page, cell: number, memory: Uint8Array): boolean {
    const index = cell % PAGE_CELLS;
    const words = this.#wordsOf(memory);
    const perCell = this.#wordsPerCell;
    const [at, first] = [index * perCell, cell * perCell];
    let changes = page.plain.owner[index] === 0 && (page.strong === undefined || page.strong.owner[index] === 0);
    for (let word = 0; word < perCell; word++) {
      const value = words[first + word]!;
      if (page.values[at + word] === value) continue;
      changes = true;
      page.values[at + word] = value;
    }
    return changes;
  }

  #wordsOf(memory: Uint8Array): Words {
    if (this.#memory !== undefined && memory === this.#memoryBytes) return this.#memory;
    this.#memoryBytes = memory;
    const WordArray = this.#WordArray;
    const words = Math.floor(memory.byteLength / WordArray.BYTES_PER_ELEMENT);
    this.#memory = new WordArray(memory.buffer as ArrayBuffer, memory.byteOffset, words);
    return this.#memory;
  }

  #addReader(page: Page, at: number, where: number, isStrong: boolean, by: Accessor): void {
    page.readers ??= new Array<Reader[] | undefined>(PAGE_CELLS).fill(undefined);
    const owner = ownerOf(by);
    const readers = page.readers[at];
    if (!readers) {
      page.readers[at] = [{ owner, time: by.time, where, hasSeenStrong: isStrong }];
      return;
    }
    const own = this.#ownAmong(readers, owner);
    if (!own) {
      readers.push({ owner, time: by.time, where, hasSeenStrong: isStrong });
      return;
    }
    own.time = by.time;
    own.where = where;
    own.hasSeenStrong ||= isStrong;
  }

  /** A CTA that runs whole stands at the end of the list: those before it may be thousands. */
  #ownAmong(readers: readonly Reader[], owner: number): Reader | undefined {
    for (let i = readers.length - 1; i >= 0; i--) {
      const reader = readers[i]!;
      if (reader.owner === owner) return reader;
      if (!this.#ctasTakeTurns && ctaOf(reader.owner) !== ctaOf(owner)) return undefined;
    }
    return undefined;
  }

  /** Whether the owner's last write is not ordered before the current access. */
  #isUnordered({ owner, time }: LastWrites, at: number, by: Accessor): boolean {
    return owner[at] !== 0 && !this.#isBefore(owner[at]!, time[at]!, by);
  }

  #isBefore(owner: number, time: number, by: Accessor): boolean {
    return this.#isWarpBefore(ctaOf(owner), warpOf(owner), time, by);
  }

  /** Whether a warp's work up to a time happened before the current access. */
  isBefore({ cta, warp, time }: { cta: number; warp: number; time: number }, by: Accessor): boolean {
    return this.#isWarpBefore(cta, warp, time, by);
  }

  #isWarpBefore(cta: number, warp: number, time: number, by: Accessor): boolean {
    if (cta === by.cta) return warp === by.warp || time <= by.clocks.rows[by.warp * this.#warps + warp]!;
    if (!this.#acrossCtas) {
      this.#crossed = true;
      return true;
    }
    return by.clocks.isAfterOther(by.warp, cta, warp, time);
  }
}

/** Whether nobody has accessed the cell in this launch. */
const isUntouched = ({ plain, strong, readers }: Page, at: number): boolean =>
  plain.owner[at] === 0 &&
  (strong === undefined || strong.owner[at] === 0) &&
  (readers === undefined || readers[at] === undefined);

function lanesOf(page: Page): LaneAccesses {
  page.lanes ??= new LaneAccesses(PAGE_CELLS);
  return page.lanes;
}

/** Identifies a warp among those of the launch: 0 is none. */
export const ownerOf = ({ cta, warp }: Pick<Accessor, 'cta' | 'warp'>): number => cta * WARPS_PER_CTA + warp + 1;
const ctaOf = (owner: number): number => Math.floor((owner - 1) / WARPS_PER_CTA);
const isOfOther = (owner: number, cta: number): boolean => owner !== 0 && ctaOf(owner) !== cta;
const warpOf = (owner: number): number => (owner - 1) % WARPS_PER_CTA;

const noWrites = (): LastWrites => ({
  owner: new Int32Array(PAGE_CELLS),
  time: new Int32Array(PAGE_CELLS),
  where: new Int32Array(PAGE_CELLS),
});

function setLast(writes: LastWrites, at: number, where: number, by: Pick<Accessor, 'cta' | 'warp' | 'time'>): void {
  writes.owner[at] = ownerOf(by);
  writes.time[at] = by.time;
  writes.where[at] = where;
}

/** A warp that has read an atomic's result comes after it, at this place. */
const hasSeenStrong = (page: Page, at: number, by: Accessor): boolean =>
  page.readers?.[at]?.some((reader) => reader.owner === ownerOf(by) && reader.hasSeenStrong) ?? false;

const lastWrite = (writes: LastWrites, at: number): EarlierAccess & { cta: number } =>
  earlier(writes.owner[at]!, writes.where[at]!, true);

const earlier = (owner: number, where: number, isWrite: boolean): EarlierAccess & { cta: number } => ({
  cta: ctaOf(owner),
  warp: warpOf(owner),
  where,
  isWrite,
});
