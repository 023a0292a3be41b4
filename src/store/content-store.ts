import { statSync } from 'node:fs';
import { join } from 'node:path';
import { unlessRefused, WarpsmithError } from '../core/errors.ts';
import { sha256 } from '../process/sha256.ts';
import { readRegularFile } from './read-regular-file.ts';
import { withStorageErrors } from './storage-error.ts';
import { writeWhole } from './write-whole.ts';

/** Files named by the SHA-256 of their contents. Each text is stored once, and every read checks its name. */
export interface ContentStore {
  readonly folder: string;
  /** Stores `contents` and returns its SHA-256 in hexadecimal. */
  put(contents: string | Uint8Array): string;
  /** @throws WarpsmithError `missing-object`, `unreadable-object`, or `damaged-object` if the contents do not match the name. */
  get(hash: string): Uint8Array;
  /** Where the object lies, or would. */
  pathOf(hash: string): string;
}

/** Whether a file of this size exists. A shorter one is left from a power cut, and is written again. */
function holds(path: string, contents: string | Uint8Array): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  const bytes = typeof contents === 'string' ? Buffer.byteLength(contents) : contents.length;
  return found?.isFile() === true && found.size === bytes;
}

/** Opens (and creates when needed) a content store in `folder`. */
export function openContentStore(folder: string): ContentStore {
  const pathOf = (hash: string) => join(folder, hash.slice(0, 2), hash.slice(2));
  return {
    folder,
    pathOf,
    put(contents) {
      const hash = sha256(contents);
      const path = pathOf(hash);
      if (!holds(path, contents)) withStorageErrors(folder, () => writeWhole(path, contents));
      return hash;
    },
    get(hash) {
      const path = pathOf(hash);
      const contents = readObject(path, hash);
      if (sha256(contents) === hash) return contents;
      throw new WarpsmithError({
        code: 'damaged-object',
        message: `Stored object ${hash} has been changed.`,
        file: path,
        received: `SHA-256 ${sha256(contents)}`,
        expected: `SHA-256 ${hash}`,
        hint: 'The run’s kernels lie in objects/ by the hash of their contents; this one can no longer be trusted.',
      });
    },
  };
}

/** Reads stored texts by their SHA-256; undefined for one that was deleted or changed. */
export const textsOf =
  (objects: Pick<ContentStore, 'get'>) =>
  (hash: string): string | undefined =>
    unlessRefused(() => new TextDecoder().decode(objects.get(hash)));

function readObject(path: string, hash: string): Uint8Array {
  try {
    return readRegularFile(path);
  } catch (error) {
    const received = (error as NodeJS.ErrnoException).code ?? String(error);
    const isGone = received === 'ENOENT';
    throw new WarpsmithError({
      code: isGone ? 'missing-object' : 'unreadable-object',
      message: isGone ? `Stored object ${hash} is not there.` : `Stored object ${hash} can't be read.`,
      file: path,
      received,
      expected: 'a file that the run has stored',
      hint: isGone
        ? 'It was deleted after the run stored it; `warpsmith resume` of an unfinished run stores it again.'
        : 'Fix its permissions, or remove what lies in its place.',
    });
  }
}
