import { SECTOR_SAMPLED } from '../codegen/memory/access-groups.ts';
import { LAUNCH, SAMPLE } from '../layout.ts';
import type { DeviceRange, PrivateMemory } from '../runtime/memories.ts';
import { sampleLevel } from './line-hash.ts';
import { LinePlaces, sectorOfEntry } from './line-places.ts';

/** One worker's accesses of one launch to sampled lines, as columns of a table. */
export interface AccessSamples {
  /** A line is in the sample if its `sampleLevel` is at least this: a share of 2^−level of all lines. */
  level: number;
  /** Sector number × 4 + bits (1 read, 2 written). */
  entries: Int32Array<ArrayBuffer>;
  ctas: Int32Array<ArrayBuffer>;
  /** Time within the CTA: warp instructions on its critical path before the access. */
  times: Float64Array<ArrayBuffer>;
  /** The CTAs that ran, with the length of each critical path. */
  ctaNumbers: Int32Array<ArrayBuffer>;
  ctaLengths: Float64Array<ArrayBuffer>;
}

/** Most entries kept of a launch; beyond, the sample is halved. This bounds the cost for any kernel. */
export const MAXIMUM_ENTRIES = 1 << 16;
/** Lines that are enough to start with. */
const WANTED_LINES = 1024;
/** A level that no line has. */
const NOTHING = 33;
/** One more than are kept, so that a full buffer is one too many. */
const BUFFER_ENTRIES = MAXIMUM_ENTRIES + 1;

/**
 * Records which sampled lines a launch touches, and when. Compiled code appends to a buffer in private memory when it marks
 * a sector whose line is in the sample (a bit of the sector map), except for repetitions of the last sector. After each
 * slice of a warp, this class takes the entries. If there are too many, it halves the sample. Only their hashes decide
 * which lines remain, so the sample does not depend on the distribution of CTAs over threads.
 */
export class AccessSampler {
  #memory: PrivateMemory;
  #map: number;
  #buffer: number;
  #places: LinePlaces;
  #level: number;
  #count = 0;
  #entries = new Int32Array(MAXIMUM_ENTRIES);
  #ctas = new Int32Array(MAXIMUM_ENTRIES);
  #times = new Float64Array(MAXIMUM_ENTRIES);
  #ctaNumbers: number[] = [];
  #ctaLengths: number[] = [];

  /** Bytes of the buffer to which compiled code appends, including an unused entry before the first. */
  static readonly bufferBytes = (1 + BUFFER_ENTRIES) * SAMPLE.bytes;

  /**
   * @param map address of the sector map, all zero.
   * @param buffer address of `bufferBytes` bytes, aligned to 4.
   * @param share of the CTAs that runs, so that there are more lines to begin with where it touches few of them.
   */
  constructor(memory: PrivateMemory, map: number, buffer: number, ranges: readonly DeviceRange[], share: number) {
    this.#memory = memory;
    this.#map = map;
    this.#buffer = buffer + SAMPLE.bytes;
    this.#places = new LinePlaces(ranges);
    this.#level = Math.max(0, Math.ceil(Math.log2((this.#places.count * share) / WANTED_LINES)));
    memory.i32[buffer >> 2] = -1;
    memory.i32[LAUNCH.sampleEnd >> 2] = this.#buffer + BUFFER_ENTRIES * SAMPLE.bytes;
    this.#moveTo(this.#buffer);
    this.#places.forEach((line, hash) => {
      if (sampleLevel(hash) >= this.#level) this.#flag(line, SECTOR_SAMPLED);
    });
  }

  /** An access that compiled code did not carry out. */
  record(sector: number, bits: number): void {
    const { i32 } = this.#memory;
    const at = this.#cursor();
    const entry = (sector << 2) | bits;
    if (i32[(at - SAMPLE.bytes) >> 2] === entry) return;
    i32[at >> 2] = entry;
    i32[(at + SAMPLE.budget) >> 2] = i32[LAUNCH.budget >> 2]!;
    this.#moveTo(at + SAMPLE.bytes);
    if (this.#isFull()) this.makeRoom();
  }

  /**
   * Takes the entries that a warp recorded in a slice.
   * @param start instructions on the CTA's critical path before the slice.
   * @param budget the slice's instructions at its start.
   */
  endSlice(cta: number, start: number, budget: number): void {
    if (this.#buffered() === 0) return;
    while (this.#count + this.#buffered() > MAXIMUM_ENTRIES) this.#halve();
    const { i32 } = this.#memory;
    const end = this.#cursor();
    for (let at = this.#buffer; at < end; at += SAMPLE.bytes) {
      this.#entries[this.#count] = i32[at >> 2]!;
      this.#ctas[this.#count] = cta;
      this.#times[this.#count] = start + budget - i32[(at + SAMPLE.budget) >> 2]!;
      this.#count++;
    }
    this.#moveTo(this.#buffer);
  }

  endCta(cta: number, length: number): void {
    this.#ctaNumbers.push(cta);
    this.#ctaLengths.push(length);
  }

  /** For a full buffer. One halving need not be enough: a warp that spins may have filled it with a line that stays. */
  makeRoom(): void {
    while (this.#isFull()) this.#halve();
  }

  /** Halves the sample: the bits of the map, the kept entries, and those still in the buffer. */
  #halve(): void {
    const dropped = this.#level;
    this.#level = Math.min(NOTHING, dropped + 1);
    this.#places.forEach((line, hash) => {
      if (sampleLevel(hash) === dropped) this.#flag(line, 0);
    });
    this.#dropKept();
    this.#dropBuffered();
  }

  samples(): AccessSamples {
    return {
      level: this.#level,
      entries: this.#entries.slice(0, this.#count),
      ctas: this.#ctas.slice(0, this.#count),
      times: this.#times.slice(0, this.#count),
      ctaNumbers: Int32Array.from(this.#ctaNumbers),
      ctaLengths: Float64Array.from(this.#ctaLengths),
    };
  }

  #dropKept(): void {
    let kept = 0;
    for (let i = 0; i < this.#count; i++) {
      const [entry, cta] = [this.#entries[i]!, this.#ctas[i]!];
      if (!this.#isSampled(entry)) continue;
      if (kept > 0 && this.#ctas[kept - 1] === cta && this.#entries[kept - 1] === entry) continue;
      this.#entries[kept] = entry;
      this.#ctas[kept] = cta;
      this.#times[kept] = this.#times[i]!;
      kept++;
    }
    this.#count = kept;
  }

  #dropBuffered(): void {
    const { i32 } = this.#memory;
    const cursor = this.#cursor();
    let end = this.#buffer;
    for (let at = end; at < cursor; at += SAMPLE.bytes) {
      const entry = i32[at >> 2]!;
      if (!this.#isSampled(entry) || i32[(end - SAMPLE.bytes) >> 2] === entry) continue;
      i32[end >> 2] = entry;
      i32[(end + SAMPLE.budget) >> 2] = i32[(at + SAMPLE.budget) >> 2]!;
      end += SAMPLE.bytes;
    }
    this.#moveTo(end);
  }

  // Methods, since V8 calls its runtime for a private getter: for each slice of a warp.
  #isFull(): boolean {
    return this.#cursor() === this.#memory.i32[LAUNCH.sampleEnd >> 2];
  }

  #buffered(): number {
    return (this.#cursor() - this.#buffer) / SAMPLE.bytes;
  }

  /** Where the next entry goes. */
  #cursor(): number {
    return this.#memory.i32[LAUNCH.sampleCursor >> 2]!;
  }

  #moveTo(address: number): void {
    this.#memory.i32[LAUNCH.sampleCursor >> 2] = address;
  }

  /** The bits of the map say it, which the first level set and each further one took away again. */
  #isSampled(entry: number): boolean {
    return (this.#memory.u8[this.#map + sectorOfEntry(entry)]! & SECTOR_SAMPLED) !== 0;
  }

  /** Sets or clears the sample bit of a line's four sectors. */
  #flag(line: number, bit: number): void {
    const { u8 } = this.#memory;
    for (let i = 0; i < 4; i++) {
      const at = this.#map + line * 4 + i;
      u8[at] = (u8[at]! & ~SECTOR_SAMPLED) | bit;
    }
  }
}
