import { LINE_BYTES, SECTORS_PER_LINE } from '../../core/gpu-sizes.ts';
import { SpareArray, spareInt32 } from './spare-array.ts';

/**
 * Ways of a set. NVIDIA does not publish this; Accel-Sim's microbenchmark suite (l2_config) assumes 16, from published
 * measurements of earlier generations.
 */
const WAYS = 16;
/** Instead of a line's number from 1 on, so that no time is spent on sets that nobody uses. */
const EMPTY = 0;

/** Sectors that one launch moved between L2 and DRAM. */
export interface SectorTraffic {
  read: number;
  written: number;
}

/** Bits of sectors. */
const VALID = 2 ** SECTORS_PER_LINE - 1;

const bitCount = (bits: number): number => (bits & 1) + ((bits >> 1) & 1) + ((bits >> 2) & 1) + ((bits >> 3) & 1);

/** What the cells of a cache are kept in: of one cache at a time. */
export class RoomOfL2 {
  readonly lines = spareInt32();
  readonly sectors = new SpareArray((length) => new Uint8Array(length));
  readonly writers = spareInt32();
}

/**
 * A share of a sectored, write-back, write-allocate cache of 128-byte lines with least-recently-used replacement: the
 * sets that the sampled lines fall into. A sector that is stored is not fetched first. Sources: line, sectors and write
 * policy as in Accel-Sim's microbenchmark suite (l2_config, l2_write_policy); LRU is an assumption.
 */
export class SampledL2 {
  /** One of so many sets is simulated. */
  readonly #share: number;
  readonly #sets: number;
  readonly #ways: number;
  /** Numbers from 1 on, by set, most recently used first. */
  readonly #lines: Int32Array;
  /** Of each line, its valid sectors, then its dirty ones. */
  readonly #sectors: Uint8Array;
  /** Launch that last wrote to the line. */
  readonly #writers: Int32Array;
  #traffic: SectorTraffic[];

  /**
   * @param l2Bytes capacity of the whole cache.
   * @param level the sample's: a share of 2^−level of the sets.
   * @param room whose last cache is void then.
   */
  constructor(l2Bytes: number, level: number, launchCount: number, room = new RoomOfL2()) {
    this.#share = 2 ** level;
    const lines = l2Bytes / LINE_BYTES / this.#share;
    this.#ways = Math.max(1, Math.min(WAYS, Math.round(lines)));
    this.#sets = Math.max(1, Math.round(lines / this.#ways));
    const cells = this.#sets * this.#ways;
    this.#lines = room.lines.takeZeros(cells);
    this.#sectors = room.sectors.takeZeros(cells);
    this.#writers = room.writers.takeZeros(cells);
    this.#traffic = noTraffic(launchCount);
  }

  /** Forgets the traffic so far, not the contents. */
  restartCounting(): void {
    this.#traffic = noTraffic(this.#traffic.length);
  }

  /**
   * Simulates one access.
   * @param hash of the line.
   * @param read sectors of the line that are read, one bit each; `written` likewise.
   */
  access(launch: number, line: number, hash: number, read: number, written: number): void {
    const first = (((hash / this.#share) >>> 0) % this.#sets) * this.#ways;
    const number = line + 1;
    const way = this.#find(first, number);
    const isHit = this.#lines[way] === number;
    if (!isHit) this.#traffic[launch]!.written += bitCount(this.#sectors[way]! >> SECTORS_PER_LINE);
    const held = isHit ? this.#sectors[way]! : 0;
    const writer = written !== 0 ? launch : this.#writers[way]!;
    this.#traffic[launch]!.read += bitCount(read & ~held);
    // The lines before it move one place back; it becomes the most recently used.
    for (let i = way; i > first; i--) {
      this.#lines[i] = this.#lines[i - 1]!;
      this.#sectors[i] = this.#sectors[i - 1]!;
      this.#writers[i] = this.#writers[i - 1]!;
    }
    this.#lines[first] = number;
    this.#sectors[first] = held | read | written | (written << SECTORS_PER_LINE);
    this.#writers[first] = writer;
  }

  /** Writes back dirty sectors; they count for the launch that last wrote to the line. */
  flush(): void {
    for (let first = 0; first < this.#lines.length; first += this.#ways)
      for (let way = first; way < first + this.#ways && this.#lines[way] !== EMPTY; way++) {
        this.#traffic[this.#writers[way]!]!.written += bitCount(this.#sectors[way]! >> SECTORS_PER_LINE);
        this.#sectors[way]! &= VALID;
      }
  }

  /** Sampled sectors, by launch. */
  get traffic(): readonly Readonly<SectorTraffic>[] {
    return this.#traffic;
  }

  /** The way that holds a line, by its number, else the least recently used one. */
  #find(first: number, number: number): number {
    const last = first + this.#ways - 1;
    for (let way = first; way < last; way++) if (this.#lines[way] === number) return way;
    return last;
  }
}

const noTraffic = (launches: number): SectorTraffic[] =>
  Array.from({ length: launches }, () => ({ read: 0, written: 0 }));
