import type { DeviceBuffer } from '../../core/device-values.ts';
import type { ReadRange } from '../../core/measuring-device.ts';
import type { Handles } from './handles.ts';
import type { Shared } from './worker/protocol.ts';
import type { WorkerClient } from './worker-client.ts';

/** Most bytes of one message between the processes; message lengths are 32 bits wide. */
const MESSAGE_BYTES = 256 * 2 ** 20;

/** Fewer cost less in a message than two more calls of the system. */
const LEAST_SHARED_BYTES = 64 * 2 ** 10;

/** A part of a buffer that fits into one message. */
interface Piece {
  /** Which of the buffers asked for. */
  readonly index: number;
  readonly offsetBytes: number;
  readonly bytes: number;
}

/** Moves any number of bytes between this process and buffers in the worker. */
export class Transfers {
  readonly #client: WorkerClient;
  readonly #handles: Handles;
  readonly #messageBytes: number;

  constructor(client: WorkerClient, handles: Handles, messageBytes = MESSAGE_BYTES) {
    this.#client = client;
    this.#handles = handles;
    this.#messageBytes = messageBytes;
  }

  async write(writes: readonly { buffer: DeviceBuffer; bytes: Uint8Array; offsetBytes?: number }[]): Promise<void> {
    const sizes = writes.map(({ bytes }) => bytes.length);
    for (const pieces of messages(sizes, this.#messageBytes)) {
      const sent = pieces.map((piece) => {
        const { buffer, bytes, offsetBytes = 0 } = writes[piece.index]!;
        return {
          buffer: this.#handles.buffer(buffer),
          bytes: this.#shared(bytes.subarray(piece.offsetBytes, piece.offsetBytes + piece.bytes)),
          offsetBytes: offsetBytes + piece.offsetBytes,
        };
      });
      try {
        await this.#client.housekeeping('write', { writes: sent });
      } finally {
        for (const { bytes } of sent) if ('sharedAt' in bytes) this.#client.scratch!.release();
      }
    }
  }

  /** Large contents go through what the processes share, where there is room. */
  #shared(bytes: Uint8Array): Uint8Array | Shared {
    const { scratch } = this.#client;
    const sharedAt = bytes.length < LEAST_SHARED_BYTES ? undefined : scratch?.reserve(bytes.length);
    if (sharedAt === undefined) return bytes;
    if (scratch!.write(bytes, sharedAt)) return { sharedAt, length: bytes.length };
    scratch!.release();
    return bytes;
  }

  /**
   * Copies contents into memory of their own. Inside a message they may be unaligned, so that wider elements could not be
   * read in place.
   */
  async read(ranges: readonly ReadRange[]): Promise<Uint8Array[]> {
    const sizes = ranges.map(({ buffer, bytes, offsetBytes = 0 }) => bytes ?? buffer.bytes - offsetBytes);
    const contents = sizes.map((bytes) => new Uint8Array(bytes));
    const { scratch } = this.#client;
    for (const pieces of messages(sizes, this.#messageBytes)) {
      const asked = pieces.map(({ index, offsetBytes, bytes }) => {
        const { buffer, offsetBytes: start = 0 } = ranges[index]!;
        const sharedAt = bytes < LEAST_SHARED_BYTES ? undefined : scratch?.reserve(bytes);
        return { buffer: this.#handles.buffer(buffer), offsetBytes: start + offsetBytes, bytes, sharedAt };
      });
      try {
        const received = await this.#client.housekeeping('read', { ranges: asked });
        for (const [i, { index, offsetBytes, bytes }] of pieces.entries()) {
          const into = contents[index]!.subarray(offsetBytes, offsetBytes + bytes);
          const given = received[i];
          if (given) into.set(given);
          else scratch!.read(into, asked[i]!.sharedAt!);
        }
      } finally {
        for (const { sharedAt } of asked) if (sharedAt !== undefined) scratch!.release();
      }
    }
    return contents;
  }
}

/**
 * Divides buffers of these sizes into messages, several small ones per message. An empty message still checks for misuse.
 */
export function messages(sizes: readonly number[], limitBytes: number): Piece[][] {
  const all: Piece[][] = [];
  let room = 0;
  for (const [index, size] of sizes.entries()) {
    let offsetBytes = 0;
    do {
      if (room <= 0) {
        all.push([]);
        room = limitBytes;
      }
      const bytes = Math.min(room, size - offsetBytes);
      all.at(-1)!.push({ index, offsetBytes, bytes });
      offsetBytes += bytes;
      room -= bytes;
    } while (offsetBytes < size);
  }
  return all;
}
