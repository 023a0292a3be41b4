import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

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
  const xdg = environment.XDG_CACHE_HOME;
  // A relative path is to be ignored. Source: XDG Base Directory Specification.
  const cache = xdg !== undefined && isAbsolute(xdg) ? xdg : join(homedir(), '.cache');
  return join(cache, 'warpsmith', name);
}

/** Removes the files of a folder that were changed longest ago until the rest takes at most so many bytes. */
export async function pruneCacheFolder(folder: string, maximumBytes: number): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const files = await Promise.all(paths.map(async (path) => ({ path, ...(await sizeAndAge(path)) })));
  files.sort((left, right) => right.changedMs - left.changedMs);
  let bytes = 0;
  for (const file of files) {
    bytes += file.bytes;
    if (bytes > maximumBytes) await rm(file.path, { force: true }).catch(() => {});
  }
}

/** A file that another process has just removed takes no space. */
const sizeAndAge = (path: string) =>
  stat(path).then(
    ({ size, mtimeMs }) => ({ bytes: size, changedMs: mtimeMs }),
    () => ({ bytes: 0, changedMs: 0 }),
  );

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
export async function writeCacheFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(temporary, text);
    await rename(temporary, path);
  } catch {
    await rm(temporary, { force: true }).catch(() => {});
  }
}
