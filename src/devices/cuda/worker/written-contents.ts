import type { CudaContext } from './cuda-context.ts';
import type { CudaBuffer } from './memory.ts';

/** Of this process's memory, for all buffers together. Contents for which there is no room are not kept. */
const MOST_BYTES = 128 * 1024 ** 2;

/**
 * What was written last into whole buffers of checks. So whoever asks whether a buffer still holds it need not be sent all of it. Arenas are left
 * out: their buffers are drawn on the device.
 */
export class WrittenContents {
  readonly #contents = new Map<CudaBuffer, Uint8Array | undefined>();
  #bytes = 0;

  /** From now on what is written into it is kept. */
  follow(buffer: CudaBuffer): CudaBuffer {
    this.#contents.set(buffer, undefined);
    return buffer;
  }

  note(buffer: CudaBuffer, bytes: Uint8Array | undefined): void {
    if (!this.#contents.has(buffer)) return;
    this.#drop(buffer);
    if (bytes?.length !== buffer.bytes || this.#bytes + memoryOf(bytes) > MOST_BYTES) return;
    const kept = isSmallPart(bytes) ? bytes.slice() : bytes;
    this.#bytes += kept.buffer.byteLength;
    this.#contents.set(buffer, kept);
  }

  forget(buffer: CudaBuffer): CudaBuffer {
    this.#drop(buffer);
    this.#contents.delete(buffer);
    return buffer;
  }

  /** Undefined if it is not known what was written. */
  isHeld(context: CudaContext, buffer: CudaBuffer): boolean | undefined {
    const written = this.#contents.get(buffer);
    return written && Buffer.compare(written, context.read(buffer)) === 0;
  }

  #drop(buffer: CudaBuffer): void {
    this.#bytes -= this.#contents.get(buffer)?.buffer.byteLength ?? 0;
    this.#contents.set(buffer, undefined);
  }
}

/** Arrays of a message may be views of it all, which would stay in memory with the smallest of them. */
const isSmallPart = (bytes: Uint8Array): boolean => bytes.buffer.byteLength > 2 * bytes.length;

const memoryOf = (bytes: Uint8Array): number => (isSmallPart(bytes) ? bytes.length : bytes.buffer.byteLength);
