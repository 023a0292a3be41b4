import { createHash } from 'node:crypto';
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createFolder } from './create-folder.ts';
import { withStorageErrors } from './storage-error.ts';

/** Files named by the SHA-256 of their contents: the same text is stored once, and a name can't lie. */
export interface ContentStore {
  readonly folder: string;
  /** Stores `contents` and returns its SHA-256 in hexadecimal. */
  put(contents: string | Uint8Array): string;
  /** @throws when there is no such object, or when its contents no longer match its name. */
  get(hash: string): Uint8Array;
}

const sha256 = (contents: string | Uint8Array): string => createHash('sha256').update(contents).digest('hex');

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Opens (and creates when needed) a content store in `folder`. */
export function openContentStore(folder: string): ContentStore {
  const pathOf = (hash: string) => join(folder, hash.slice(0, 2), hash.slice(2));
  return {
    folder,
    put(contents) {
      const hash = sha256(contents);
      const path = pathOf(hash);
      if (!exists(path)) withStorageErrors(folder, () => writeWhole(path, contents));
      return hash;
    },
    get(hash) {
      const contents = readFileSync(pathOf(hash));
      if (sha256(contents) !== hash) throw new Error(`stored object ${hash} has been changed`);
      return contents;
    },
  };
}

/** Writes to a neighbour and renames, so that a file is never seen half-written. */
export function writeWhole(path: string, contents: string | Uint8Array): void {
  createFolder(dirname(path));
  const partial = `${path}.${process.pid}.partial`;
  writeFileSync(partial, contents);
  renameSync(partial, path);
}
