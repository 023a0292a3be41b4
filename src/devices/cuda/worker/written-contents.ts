import type { CudaContext } from './cuda-context.ts';
import type { CudaBuffer } from './memory.ts';

/** Larger contents are not kept: they would fill this process's memory as well. */
const MOST_BYTES = 64 * 1024 ** 2;

/**
 * What was written last into whole buffers of checks. So whoever asks whether a buffer still holds it need not be sent all of it. Arenas are left
 * out: their buffers are drawn on the device.
 */
export class WrittenContents {
  readonly #contents = new Map<CudaBuffer, Uint8Array | undefined>();

  /** From now on what is written into it is kept. */
  follow(buffer: CudaBuffer): CudaBuffer {
    this.#contents.set(buffer, undefined);
    return buffer;
  }

  note(buffer: CudaBuffer, bytes: Uint8Array | undefined): void {
    if (!this.#contents.has(buffer)) return;
    const isKept = bytes !== undefined && bytes.length === buffer.bytes && bytes.length <= MOST_BYTES;
    this.#contents.set(buffer, isKept ? bytes : undefined);
  }

  forget(buffer: CudaBuffer): CudaBuffer {
    this.#contents.delete(buffer);
    return buffer;
  }

  /** Undefined if it is not known what was written. */
  isHeld(context: CudaContext, buffer: CudaBuffer): boolean | undefined {
    const written = this.#contents.get(buffer);
    return written && Buffer.compare(written, context.read(buffer)) === 0;
  }
}
