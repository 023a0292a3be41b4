import type { PagedBuffer } from '../../core/paged-buffer.ts';
import { WINDOW } from '../layout.ts';
import type { DeviceRange } from '../runtime/memories.ts';

/** What a launch over buffers in pages may touch. Plain data that travels to a worker thread. */
export interface PagedMemory {
  readonly buffers: readonly PagedBuffer[];
  /** Real device memory for pages. */
  readonly pool: DeviceRange;
  readonly variables: readonly PlacedVariable[];
}

/** A variable of the module, which is not in pages. */
export interface PlacedVariable extends DeviceRange {
  readonly contents: Uint8Array;
}

/** What was touched of a buffer: page numbers, and the bytes of these pages one after the other. */
export interface TouchedPages {
  readonly numbers: Int32Array<ArrayBuffer>;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Start of device memory's window, above all buffers in pages. */
export const WINDOW_START = WINDOW.global * 2 ** 32;

/**
 * Virtual addresses of each buffer begin in the middle of a slot of its own. An offset that lost its upper half, or its sign, leads out of the
 * buffer or to another place in it, never into another buffer.
 */
const SLOT_BYTES = 2 ** 38;

/** What a buffer's address has in its lower half: as well aligned as cudaMalloc's, and no better, so that no sum of halves is right by luck. */
const LOWER_HALF = 0x1c35_7b00;

/** So much fits into a slot with room around it: 2^32 elements of 16 bytes. */
export const MOST_BUFFER_BYTES = 2 ** 36;

/** Far fewer than there are slots below the window. */
export const MOST_BUFFERS = 64;

/** Virtual address of the buffer with this index. */
export const pagedStart = (index: number): number =>
  WINDOW_START - (index + 1) * SLOT_BYTES + SLOT_BYTES / 2 + LOWER_HALF;

/** Index of the buffer in whose slot an address lies; that of none for addresses elsewhere. */
export const pagedIndex = (address: number): number => Math.ceil((WINDOW_START - address) / SLOT_BYTES) - 1;
