import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CompiledCode } from '../core/compiled-code.ts';

/** Compiled code by the hash of everything that determined it. */
export interface CodeCache {
  get(key: string): Promise<CompiledCode | undefined>;
  put(code: CompiledCode): Promise<void>;
}

/** A search comes back to its best, its start and what it has just judged, not to all that it ever compiled. */
const MOST_IN_MEMORY = 64;

/**
 * Keeps code in memory and, given a folder, on disk: one file per key, written beside its place and renamed into it, with
 * a checksum, so that a reader sees all of an entry or none. A damaged entry counts as absent.
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
  return {
    async get(key) {
      const stored = async () => (folder === undefined ? undefined : await readEntry(entryPath(folder, key), key));
      const known = memory.get(key) ?? (await stored());
      if (known !== undefined) remember(known);
      return known;
    },
    async put(code) {
      remember(code);
      if (folder !== undefined) await writeEntry(entryPath(folder, code.key), code);
    },
  };
}

const entryPath = (folder: string, key: string) => join(folder, key.slice(0, 2), `${key}.json`);
const checksum = (text: string) => createHash('sha256').update(text).digest('hex');

async function readEntry(path: string, key: string): Promise<CompiledCode | undefined> {
  try {
    const text = await readFile(path, 'utf8');
    const firstLine = text.indexOf('\n');
    const content = text.slice(firstLine + 1);
    if (text.slice(0, firstLine) !== checksum(content)) return undefined;
    const code = JSON.parse(content) as CompiledCode;
    return code.key === key ? code : undefined;
  } catch {
    return undefined;
  }
}

async function writeEntry(path: string, code: CompiledCode): Promise<void> {
  const content = JSON.stringify(code);
  const temporary = `${path}.${randomUUID()}`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(temporary, `${checksum(content)}\n${content}`);
    await rename(temporary, path);
  } catch {
    // The cache only saves time: a full or read-only disk must not fail a compile.
    await rm(temporary, { force: true }).catch(() => {});
  }
}
