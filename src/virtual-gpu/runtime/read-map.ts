import { DEVICE_START, WRITE_PAGE_BYTES } from '../layout.ts';

/**
 * Which bytes of device memory counted launches have read: 255 at the same offset of this memory. All threads mark in it,
 * and no mark is ever taken back while they do.
 */
export class ReadMap {
  readonly memory: WebAssembly.Memory;
  #bytes: Uint8Array;

  /** @param memory that of another thread's map, to mark in the same. */
  constructor(memory?: WebAssembly.Memory) {
    const initial = DEVICE_START / WRITE_PAGE_BYTES;
    this.memory = memory ?? new WebAssembly.Memory({ initial, maximum: 65536, shared: true });
    this.#bytes = new Uint8Array(this.memory.buffer);
  }

  /** Makes room for marks in this much device memory. */
  reserve(deviceBytes: number): void {
    const missing = Math.ceil((deviceBytes - this.memory.buffer.byteLength) / WRITE_PAGE_BYTES);
    if (missing > 0) this.memory.grow(missing);
    this.#bytes = new Uint8Array(this.memory.buffer);
  }

  forget(): void {
    this.#bytes.fill(0);
  }

  /** Marks a read that compiled code did not carry out. */
  mark(offset: number, bytes: number): void {
    this.#bytes.fill(255, offset, offset + bytes);
  }

  /** How many bytes of a range have been read. */
  count(start: number, bytes: number): number {
    let count = 0;
    for (let at = start; at < start + bytes; at++) count += this.#bytes[at]! & 1;
    return count;
  }
}
