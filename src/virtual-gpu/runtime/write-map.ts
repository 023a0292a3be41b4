import { DEVICE_START, WRITE_FLAGS, WRITE_PAGE_BYTES } from '../layout.ts';

/** The non-empty parts of a write map: page numbers, and the bytes of these pages one after the other. */
export interface WrittenPages {
  pages: Int32Array<ArrayBuffer>;
  bytes: Uint8Array<ArrayBuffer>;
}

/**
 * The bytes of device memory to which one worker's CTAs have stored in a launch: 255 at the same offset of this memory.
 * Compiled code marks its stores here; a flag per page says where to look.
 */
export class WriteMap {
  readonly memory = new WebAssembly.Memory({ initial: DEVICE_START / WRITE_PAGE_BYTES });
  #bytes = new Uint8Array(this.memory.buffer);

  /** Makes room for the stores of a launch and clears those of the last one. */
  begin(deviceBytes: number): void {
    for (const page of this.#flaggedPages())
      if (page > 0) this.#bytes.fill(0, page * WRITE_PAGE_BYTES, (page + 1) * WRITE_PAGE_BYTES);
    this.#bytes.fill(0, WRITE_FLAGS, WRITE_FLAGS + this.#pageCount);
    const missing = Math.ceil(deviceBytes / WRITE_PAGE_BYTES) - this.#pageCount;
    if (missing <= 0) return;
    this.memory.grow(missing);
    this.#bytes = new Uint8Array(this.memory.buffer);
  }

  /** Marks a store that compiled code did not carry out. */
  mark(offset: number, bytes: number): void {
    this.#bytes.fill(255, offset, offset + bytes);
    this.#bytes[WRITE_FLAGS + Math.floor(offset / WRITE_PAGE_BYTES)] = 1;
  }

  /** A copy of all pages stored to since `begin`. */
  written(): WrittenPages {
    // Below the first buffer only inactive lanes leave marks.
    const pages = this.#flaggedPages().filter((page) => page >= DEVICE_START / WRITE_PAGE_BYTES);
    const bytes = new Uint8Array(pages.length * WRITE_PAGE_BYTES);
    pages.forEach((page, i) => {
      const start = page * WRITE_PAGE_BYTES;
      bytes.set(this.#bytes.subarray(start, start + WRITE_PAGE_BYTES), i * WRITE_PAGE_BYTES);
    });
    return { pages: Int32Array.from(pages), bytes };
  }

  get #pageCount(): number {
    return this.memory.buffer.byteLength / WRITE_PAGE_BYTES;
  }

  #flaggedPages(): number[] {
    const flagged: number[] = [];
    for (let page = 0; page < this.#pageCount; page++) if (this.#bytes[WRITE_FLAGS + page] !== 0) flagged.push(page);
    return flagged;
  }
}
