import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { filesBelow } from '../process/code-fingerprint.ts';
import { packageFolder } from '../process/package-folder.ts';
import { sha256 } from '../process/sha256.ts';

/** The device headers shipped with warpsmith: what `<cuda_fp16.h>` and the like resolve to. */
export interface HeaderPack {
  folder: string;
  /** SHA-256 of every file's name and content as they are now; re-read when a file changed on disk. */
  digest(): string;
}

/** The device headers of this installation. */
export const findHeaderFolder = (): string => packageFolder('headers');

export function openHeaderPack(folder: string = findHeaderFolder()): HeaderPack {
  const digests = new Map<string, { signature: string; digest: string }>();
  const digestOf = (path: string): string => {
    const { size, mtimeMs, ino } = statSync(path);
    const signature = `${size} ${mtimeMs} ${ino}`;
    const known = digests.get(path);
    if (known?.signature === signature) return known.digest;
    const digest = sha256(readFileSync(path));
    digests.set(path, { signature, digest });
    return digest;
  };
  return {
    folder: resolve(folder),
    digest() {
      const hash = createHash('sha256');
      for (const path of filesBelow(folder)) hash.update(`${path.slice(folder.length)}\0${digestOf(path)}\n`);
      return hash.digest('hex');
    },
  };
}
