import { roundUp } from '../../core/values.ts';
import { DEVICE_MEMORY_MAXIMUM_PAGES, DEVICE_START, WRITE_PAGE_BYTES } from '../layout.ts';
import { growTo } from './memories.ts';

/** Up to so many, filling takes V8 longer than a loop. */
const FEW_BYTES = 32;

/** Of marks that are looked at together: most are all set, or none of them is. */
const STRIDE_BYTES = 16;

/**
 * The bytes of device memory that counted launches have read: 255 at the same offset of this memory. All threads write
 * marks, and none removes one meanwhile.
 */
export class ReadMap {
  readonly memory: WebAssembly.Memory;
  #bytes: Uint8Array;
  #words: Int32Array;

  /** @param memory the memory of another thread's map, to share it. */
  constructor(memory?: WebAssembly.Memory) {
    const initial = DEVICE_START / WRITE_PAGE_BYTES;
    this.memory = memory ?? new WebAssembly.Memory({ initial, maximum: DEVICE_MEMORY_MAXIMUM_PAGES, shared: true });
    this.#bytes = new Uint8Array(this.memory.buffer);
    this.#words = new Int32Array(this.memory.buffer);
  }

  /** Makes room for marks in this much device memory. */
  reserve(deviceBytes: number): void {
    growTo(this.memory, deviceBytes);
    this.#bytes = new Uint8Array(this.memory.buffer);
    this.#words = new Int32Array(this.memory.buffer);
  }

  forget(): void {
    this.#bytes.fill(0);
  }

  /** Marks a read that compiled code did not carry out. */
  mark(offset: number, bytes: number): void {
    if (bytes > FEW_BYTES || (offset | bytes) % 4 !== 0) this.#bytes.fill(255, offset, offset + bytes);
    else for (let word = offset >>> 2; word < (offset + bytes) >>> 2; word++) this.#words[word] = -1;
  }

  /** How many bytes of a range have been read. */
  count(start: number, bytes: number): number {
    const end = start + bytes;
    const [first, last] = [roundUp(start, STRIDE_BYTES), end - (end % STRIDE_BYTES)];
    if (first >= last) return this.#countBytes(start, end);
    let count = this.#countBytes(start, first) + this.#countBytes(last, end);
    const words = this.#words;
    for (let word = first >>> 2; word < last >>> 2; word += STRIDE_BYTES / 4) {
      const [a, b, c, d] = [words[word]!, words[word + 1]!, words[word + 2]!, words[word + 3]!];
      if ((a & b & c & d) === -1) count += STRIDE_BYTES;
      else if ((a | b | c | d) !== 0) count += this.#countBytes(4 * word, 4 * word + STRIDE_BYTES);
    }
    return count;
  }

  #countBytes(start: number, end: number): number {
    let count = 0;
    for (let at = start; at < end; at++) count += this.#bytes[at]! & 1;
    return count;
  }
}
