import { BUFFER_PAGE_BYTES, NAN_BYTE, type PagedBuffer } from '../../core/paged-buffer.ts';
import { nearestRange } from '../runtime/bounds.ts';
import { type FaultPlace, KernelFault } from '../runtime/fault.ts';
import type { DeviceRange } from '../runtime/memories.ts';
import type { Pages, WarpContext } from '../runtime/warp-context.ts';
import {
  type PagedMemory,
  type PlacedVariable,
  pagedIndex,
  pagedStart,
  type TouchedPages,
  WINDOW_START,
} from './paged-memory.ts';
import { type Places, translate } from './translate.ts';

/** A buffer, and its pages that lie in real memory. */
interface PagedRange {
  readonly name: string;
  readonly bytes: number;
  /** Virtual address. */
  readonly start: number;
  /** Contents at offset 0 and as far as a page reaches from any place in it. */
  readonly pattern: Uint8Array;
  /** After so many bytes the contents repeat. */
  readonly periodBytes: number;
  /** Offsets in device memory, by page number. */
  readonly pages: Map<number, number>;
  /** The page that was met last, as most accesses of a warp and of a loop lie in one: its offset, its bytes, and where it lies. */
  readonly latest: { first: number; bytes: number; at: number };
}

/** Where pages of buffers lie in device memory: as a GPU's memory management, with pages that are made when they are first touched. */
export class PageTable implements Pages, Places {
  readonly #ranges: readonly PagedRange[];
  readonly #variables: readonly PlacedVariable[];
  readonly #pool: DeviceRange;
  readonly #device: Uint8Array;
  /** Of the pool: what is in use. */
  #usedBytes = 0;

  /** @param device real device memory, where the variables get their contents. */
  constructor({ buffers, pool, variables }: PagedMemory, device: WebAssembly.Memory) {
    this.#ranges = buffers.map(rangeOf);
    this.#variables = variables;
    this.#pool = pool;
    this.#device = new Uint8Array(device.buffer);
    for (const { contents, start } of variables) this.#device.set(contents, start);
  }

  /**
   * The offset in device memory of an aligned access; undefined if it does not lie entirely in a buffer.
   * @throws KernelFault `unsupported` if it writes to a variable, or needs a page for which there is no room.
   */
  place(address: number, bytes: number, isStore: boolean): number | undefined {
    const range = this.#ranges[pagedIndex(address)];
    if (!range) return this.#inVariable(address, bytes, isStore);
    const offset = address - range.start;
    const { latest } = range;
    const within = offset - latest.first;
    return within >= 0 && within + bytes <= latest.bytes ? latest.at + within : this.#inRange(range, offset, bytes);
  }

  /** What an address that lies in no buffer may have been meant for. */
  nearest(address: number): FaultPlace['buffer'] {
    const range = this.#ranges[pagedIndex(address)];
    if (range) return { name: range.name, offsetBytes: address - range.start, sizeBytes: range.bytes };
    const offset = address - WINDOW_START;
    const variable = offset >= 0 && offset < 2 ** 32 ? nearestRange(offset, this.#variables) : undefined;
    return variable && { name: variable.name, offsetBytes: offset - variable.start, sizeBytes: variable.bytes };
  }

  translate(context: WarpContext): void {
    translate(context, this);
  }

  touched(): TouchedPages[] {
    return this.#ranges.map(({ pages }) => {
      const bytes = new Uint8Array(pages.size * BUFFER_PAGE_BYTES);
      [...pages.values()].forEach((at, i) => {
        bytes.set(this.#device.subarray(at, at + BUFFER_PAGE_BYTES), i * BUFFER_PAGE_BYTES);
      });
      return { numbers: Int32Array.from(pages.keys()), bytes };
    });
  }

  /** A page starts at a multiple of its size and of every access's: an aligned access lies in one. */
  #inRange(range: PagedRange, offset: number, bytes: number): number | undefined {
    if (!(offset >= 0 && offset + bytes <= range.bytes)) return undefined;
    const page = Math.floor(offset / BUFFER_PAGE_BYTES);
    const first = page * BUFFER_PAGE_BYTES;
    const at = range.pages.get(page) ?? this.#make(range, page);
    range.latest.first = first;
    range.latest.bytes = Math.min(BUFFER_PAGE_BYTES, range.bytes - first);
    range.latest.at = at;
    return at + offset - first;
  }

  #inVariable(address: number, bytes: number, isStore: boolean): number | undefined {
    const offset = address - WINDOW_START;
    const holds = ({ start, bytes: length }: DeviceRange) => offset >= start && offset + bytes <= start + length;
    const variable = this.#variables.find(holds);
    if (variable && isStore) throw new KernelFault('unsupported', `writes to the variable ${variable.name}`);
    return variable && offset;
  }

  #make(range: PagedRange, page: number): number {
    if (this.#usedBytes + BUFFER_PAGE_BYTES > this.#pool.bytes)
      throw new KernelFault('unsupported', `the CTAs touch more than ${this.#pool.bytes} bytes of pages`);
    const at = this.#pool.start + this.#usedBytes;
    this.#usedBytes += BUFFER_PAGE_BYTES;
    const phase = (page * BUFFER_PAGE_BYTES) % range.periodBytes;
    this.#device.set(range.pattern.subarray(phase, phase + BUFFER_PAGE_BYTES), at);
    range.pages.set(page, at);
    return at;
  }
}

function rangeOf({ name, bytes, period = Uint8Array.of(NAN_BYTE) }: PagedBuffer, index: number): PagedRange {
  const start = pagedStart(index);
  const pattern = new Uint8Array(period.length + BUFFER_PAGE_BYTES);
  for (let at = 0; at < pattern.length; at += period.length) pattern.set(period.subarray(0, pattern.length - at), at);
  const latest = { first: 0, bytes: 0, at: 0 };
  return { name, bytes, start, pattern, periodBytes: period.length, pages: new Map(), latest };
}
