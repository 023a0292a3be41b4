import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  noteUse,
  openSealedText,
  pruneCacheFolder,
  readCacheFile,
  sealText,
  userCacheFolder,
  writeCacheFile,
} from '../../../process/cache-file.ts';
import { sha256 } from '../../../process/sha256.ts';

/** A reference takes a few kilobytes. */
const MOST_BYTES_ON_DISK = 16 * 1024 ** 2;
/** Longer ones, if there are any, are stripped by each process that loads them. */
const MOST_CHARACTERS = 2 ** 20;

/**
 * A module of TypeScript without its types, for a process that would need longer to load what strips them (60 ms of processor
 * time) than for everything else. It is kept in the user's cache folder, by the module's text.
 *
 * @param strip called for a text that is not there. It runs where nothing of a module has run, so that no module tells what another
 * process gets. Undefined if it can't: then Node says why, as it loads the file.
 * @returns undefined where Node is to load the file as it is.
 */
export async function keptJavaScript(
  file: string,
  strip: (text: string) => Promise<string | undefined>,
  folder = userCacheFolder('references'),
): Promise<string | undefined> {
  if (folder === undefined || !/\.m?ts$/.test(file)) return undefined;
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined || text.length > MOST_CHARACTERS) return undefined;
  const path = join(folder, `${sha256(`${process.version}\n${text}`)}.js`);
  const kept = openSealedText((await readCacheFile(path)) ?? '');
  if (kept !== undefined) {
    noteUse(path);
    return kept;
  }
  const stripped = await strip(text);
  if (stripped === undefined) return undefined;
  await writeCacheFile(path, sealText(stripped));
  pruneCacheFolder(folder, MOST_BYTES_ON_DISK);
  return stripped;
}
