import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { entryFolder } from './entry-file.ts';

let known: string | undefined;

/**
 * SHA-256 of warpsmith's own files: its sources, or the files built from them. Results repeat only if these are the same;
 * a version number does not change while somebody edits the code. The first call of a process takes about 40 ms.
 */
export function codeFingerprint(): string {
  known ??= fingerprintOf(fileURLToPath(entryFolder()));
  return known;
}

/** Paths of all files below a folder, sorted. */
export const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

/** SHA-256 over the paths and contents of all files below a folder. */
export function fingerprintOf(folder: string): string {
  const hash = createHash('sha256');
  for (const path of filesBelow(folder)) {
    const contents = readFileSync(path);
    hash.update(`${path.slice(folder.length)}\0${contents.length}\0`).update(contents);
  }
  return hash.digest('hex');
}
