import { BUFFER_PAGE_BYTES, NAN_BYTE, type PagedBuffer } from '../../core/device-values.ts';
import { nearestRange } from '../runtime/bounds.ts';
import { type FaultPlace, KernelFault } from '../runtime/fault.ts';
import type { DeviceRange } from '../runtime/memories.ts';
import { type PagedMemory, pagedIndex, pagedStart, type TouchedPage, WINDOW_START } from './paged-memory.ts';

/** A buffer, and its pages that lie in real memory. */
interface PagedRange {
  readonly index: number;
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
}

/** Where pages of buffers lie in device memory: as a GPU's memory management, with pages that are made when they are first touched. */
export class PageTable {
  readonly #ranges: readonly PagedRange[];
  readonly #variables: readonly DeviceRange[];
  readonly #pool: DeviceRange;
  readonly #device: Uint8Array;
  /** Of the pool: what is in use. */
  #usedBytes = 0;
  /** The page that was met last: accesses of a warp often lie in one. Virtual address, bytes of the buffer in it, offset in device memory. */
  #latest = { start: 0, bytes: 0, at: 0 };

  /** @param device real device memory. */
  constructor({ buffers, pool, variables }: PagedMemory, device: WebAssembly.Memory) {
    this.#ranges = buffers.map(rangeOf);
    this.#variables = variables;
    this.#pool = pool;
    this.#device = new Uint8Array(device.buffer);
  }

  /**
   * The offset in device memory of an aligned access; undefined if it does not lie entirely in a buffer.
   * @throws KernelFault `unsupported` if it writes to a variable, or needs a page for which there is no room.
   */
  place(address: number, bytes: number, isStore: boolean): number | undefined {
    const offset = address - this.#latest.start;
    if (offset >= 0 && offset + bytes <= this.#latest.bytes) return this.#latest.at + offset;
    const range = this.#ranges[pagedIndex(address)];
    return range ? this.#inRange(range, address - range.start, bytes) : this.#inVariable(address, bytes, isStore);
  }

  /** What an address that lies in no buffer may have been meant for. */
  nearest(address: number): FaultPlace['buffer'] {
    const range = this.#ranges[pagedIndex(address)];
    if (range) return { name: range.name, offsetBytes: address - range.start, sizeBytes: range.bytes };
    const offset = address - WINDOW_START;
    const variable = offset >= 0 && offset < 2 ** 32 ? nearestRange(offset, this.#variables) : undefined;
    return variable && { name: variable.name, offsetBytes: offset - variable.start, sizeBytes: variable.bytes };
  }

  /** All pages that an access has touched. */
  touched(): TouchedPage[] {
    return this.#ranges.flatMap(({ index, pages }) => [...pages].map(([page, at]) => ({ buffer: index, page, at })));
  }

  /** A page starts at a multiple of its size and of every access's: an aligned access lies in one. */
  #inRange(range: PagedRange, offset: number, bytes: number): number | undefined {
    if (!(offset >= 0 && offset + bytes <= range.bytes)) return undefined;
    const page = Math.floor(offset / BUFFER_PAGE_BYTES);
    const first = page * BUFFER_PAGE_BYTES;
    const at = range.pages.get(page) ?? this.#make(range, page);
    const pageBytes = Math.min(BUFFER_PAGE_BYTES, range.bytes - first);
    this.#latest = { start: range.start + first, bytes: pageBytes, at };
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
  const pattern = new Uint8Array(period.length + BUFFER_PAGE_BYTES);
  for (let at = 0; at < pattern.length; at += period.length) pattern.set(period.subarray(0, pattern.length - at), at);
  return { index, name, bytes, start: pagedStart(index), pattern, periodBytes: period.length, pages: new Map() };
}
