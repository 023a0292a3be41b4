import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256 } from './sha256.ts';
import { xdgFolder } from './xdg-folder.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Names another folder for everything kept between runs; `off` keeps nothing. */
const VARIABLE = 'WARPSMITH_CACHE';

/**
 * The user's folder for files that only save time: below WARPSMITH_CACHE, `$XDG_CACHE_HOME/warpsmith` or
 * `~/.cache/warpsmith`. Undefined when WARPSMITH_CACHE is `off`.
 */
export function userCacheFolder(name: string, environment: Environment = process.env): string | undefined {
  const asked = environment[VARIABLE];
  if (asked === 'off') return undefined;
  if (asked) return join(asked, name);
  return join(xdgFolder('XDG_CACHE_HOME', environment), name);
}

/** Files go until this share of the limit is left, so that not each new one looks for others to remove. */
const SHARE_LEFT = 0.75;

interface CacheFile {
  readonly path: string;
  readonly bytes: number;
  readonly usedMs: number;
}

/**
 * Removes the least recently used files below a folder if all take more than so many bytes. What can't be listed or removed
 * stays: the files only save time.
 *
 * @returns the bytes that are left.
 */
export function pruneCacheFolder(folder: string, maximumBytes: number): number {
  const files = filesBelow(folder).sort((a, b) => a.usedMs - b.usedMs);
  let left = files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (left <= maximumBytes) return left;
  for (const { path, bytes } of files) {
    if (left <= maximumBytes * SHARE_LEFT) break;
    if (removed(path)) left -= bytes;
  }
  return left;
}

/** All files in the folder, including half-written ones of killed processes. */
function filesBelow(folder: string): CacheFile[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
      const path = join(entry.parentPath, entry.name);
      const found = entry.isFile() ? statSync(path, { throwIfNoEntry: false }) : undefined;
      return found ? [{ path, bytes: found.size, usedMs: found.mtimeMs }] : [];
    });
  } catch {
    return [];
  }
}

function removed(path: string): boolean {
  try {
    rmSync(path, { force: true });
    return true;
  } catch {
    return false;
  }
}

/** The time of its file says when an entry was last used. */
export function noteUse(path: string, now: Date = new Date()): void {
  try {
    utimesSync(path, now, now);
  } catch {
    // Another process may have removed it, or the folder can't be written.
  }
}

/** The text of a file that only saves time; undefined when it cannot be read. */
export async function readCacheFile(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return undefined;
  }
}

/**
 * Writes such a file beside its place and renames it into it, so that a reader sees all of it or none. A full or
 * read-only disk is no error: the file only saves time.
 */
export async function writeCacheFile(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${path}.${randomUUID()}`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(temporary, content);
    await rename(temporary, path);
  } catch {
    await rm(temporary, { force: true }).catch(() => {});
  }
}

/** Removes such a file, if it can be removed. */
export const removeCacheFile = (path: string): void => void removed(path);

/** A text below its checksum. */
export const sealText = (text: string): string => `${sha256(text)}\n${text}`;

/** The text that was sealed; undefined if anything of it has changed. */
export function openSealedText(sealed: string): string | undefined {
  const firstLine = sealed.indexOf('\n');
  const text = sealed.slice(firstLine + 1);
  return sealed.slice(0, firstLine) === sha256(text) ? text : undefined;
}
