import { randomUUID } from 'node:crypto';
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';

/** Where files lie in memory, on Linux. */
const FOLDER = '/dev/shm';

/** Of all regions that are in use at a time. More goes through messages. */
const MOST_BYTES = 512 * 2 ** 20;

/** What may stay allocated while nothing is in use: pages that exist need not be cleared again. */
const MOST_KEPT_BYTES = 128 * 2 ** 20;

/**
 * A file in memory that has no name and is shared with a child which inherits it: large contents go through it with one copy on each side, where a message is serialised, sent in pieces through a pipe and put
 * together again. Nothing is left of it when both processes are gone, however they end.
 */
export class SharedScratch {
  readonly descriptor: number;
  #end = 0;
  #inUse = 0;
  #isFull = false;
  #isClosed = false;

  private constructor(descriptor: number) {
    this.descriptor = descriptor;
  }

  /** Undefined where the system has no such files, or none may be made. */
  static open(): SharedScratch | undefined {
    const path = `${FOLDER}/warpsmith-${randomUUID()}`;
    try {
      const descriptor = openSync(path, 'wx+', 0o600);
      unlinkSync(path);
      return new SharedScratch(descriptor);
    } catch {
      return undefined;
    }
  }

  /** Where so many bytes may lie until they are released; undefined if there is no room. */
  reserve(bytes: number): number | undefined {
    if (this.#isClosed || this.#isFull || this.#end + bytes > MOST_BYTES) return undefined;
    const at = this.#end;
    this.#end += bytes;
    this.#inUse += 1;
    return at;
  }

  /** Room is used again once nothing is reserved. */
  release(): void {
    this.#inUse -= 1;
    // Who waited for a process that was ended hears of it after the file is closed; its number may be another file's.
    if (this.#isClosed || this.#inUse > 0) return;
    this.#end = 0;
    if (fstatSync(this.descriptor).size > MOST_KEPT_BYTES) ftruncateSync(this.descriptor);
  }

  /** Whether the bytes are there: memory may be short. Then nothing is reserved any more. */
  write(bytes: Uint8Array, at: number): boolean {
    this.#isFull ||= !writeFully(this.descriptor, bytes, at);
    return !this.#isFull;
  }

  read(into: Uint8Array, at: number): void {
    readFully(this.descriptor, into, at);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.descriptor);
  }
}

/** False where the file can't take them. */
export function writeFully(descriptor: number, bytes: Uint8Array, at: number): boolean {
  try {
    for (let done = 0; done < bytes.length; )
      done += writeSync(descriptor, bytes, done, bytes.length - done, at + done);
    return true;
  } catch {
    return false;
  }
}

/** @throws Error if the file ends before. */
export function readFully(descriptor: number, into: Uint8Array, at: number): void {
  for (let done = 0; done < into.length; ) {
    const count = readSync(descriptor, into, done, into.length - done, at + done);
    if (count === 0) throw new Error(`a shared file ends at ${at + done}`);
    done += count;
  }
}
