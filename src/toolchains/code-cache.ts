import { join } from 'node:path';
import type { CompiledCode } from '../core/compiled-code.ts';
import {
  noteUse,
  openSealedText,
  pruneCacheFolder,
  readCacheFile,
  sealText,
  writeCacheFile,
} from '../process/cache-file.ts';
import { codeFingerprint } from '../process/code-fingerprint.ts';

/** Compiled code by the hash of everything that determined it. */
export interface CodeCache {
  get(key: string): Promise<CompiledCode | undefined>;
  put(code: CompiledCode): Promise<void>;
}

/** Code of a few thousand configurations; a shipped attention rung takes about 60 KB. */
const MOST_BYTES_ON_DISK = 256 * 1024 ** 2;

/** Most entries in memory: a search comes back only to its best, its start and the latest candidates. */
const MOST_IN_MEMORY = 64;

/**
 * Keeps code in memory and, given a folder, on disk. Each key has one file, written beside its place and renamed into it,
 * with a checksum, so that a reader sees a whole entry or none. A damaged entry counts as absent. So does one from another
 * version of warpsmith's code, because the key does not cover the steps after the compiler.
 */
export function openCodeCache(folder?: string): CodeCache {
  // In the order they were last asked for.
  const memory = new Map<string, CompiledCode>();
  const remember = (code: CompiledCode) => {
    memory.delete(code.key);
    memory.set(code.key, code);
    const [oldest] = memory.keys();
    if (memory.size > MOST_IN_MEMORY) memory.delete(oldest!);
  };
  let pruned = false;
  return {
    async get(key) {
      const stored = async () => (folder === undefined ? undefined : await readEntry(entryPath(folder, key), key));
      const known = memory.get(key) ?? (await stored());
      if (known !== undefined) remember(known);
      return known;
    },
    async put(code) {
      remember(code);
      if (folder === undefined) return;
      await writeEntry(entryPath(folder, code.key), code);
      if (!pruned) pruneCacheFolder(folder, MOST_BYTES_ON_DISK);
      pruned = true;
    },
  };
}

const entryPath = (folder: string, key: string) =>
  join(folder, codeFingerprint().slice(0, 16), key.slice(0, 2), `${key}.json`);

async function readEntry(path: string, key: string): Promise<CompiledCode | undefined> {
  const content = openSealedText((await readCacheFile(path)) ?? '');
  const code = content === undefined ? undefined : (JSON.parse(content) as CompiledCode);
  if (code?.key !== key) return undefined;
  noteUse(path);
  return code;
}

const writeEntry = (path: string, code: CompiledCode): Promise<void> =>
  writeCacheFile(path, sealText(JSON.stringify(code)));
