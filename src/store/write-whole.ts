import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { createFolder } from './create-folder.ts';

/**
 * Suffix of files that are being written. A file with this suffix that no process writes is left over from one that died.
 */
export const PARTIAL_SUFFIX = '.partial';

/** A neighbour's name that no other writer uses. */
export const partialPath = (path: string): string => `${path}.${randomUUID()}${PARTIAL_SUFFIX}`;

/**
 * Writes all bytes at the descriptor's position. Continues after a short write (disk nearly full) until all is written or a
 * write fails.
 */
export function writeAll(descriptor: number, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) written += writeSync(descriptor, bytes, written);
}

/**
 * Writes to a temporary file beside it, forces that to disk, and renames it. So nobody sees a half-written file, not even
 * after a power cut. A failure leaves nothing behind.
 */
export function writeWhole(path: string, contents: string | Uint8Array): void {
  createFolder(dirname(path));
  const partial = partialPath(path);
  try {
    const descriptor = openSync(partial, 'wx');
    try {
      writeAll(descriptor, typeof contents === 'string' ? Buffer.from(contents, 'utf8') : contents);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

/** Forces a folder's list of names to disk, if the file system supports it. */
export function syncFolder(path: string): void {
  try {
    const descriptor = openSync(path, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // Some file systems refuse this, and none of those promises more.
  }
}
