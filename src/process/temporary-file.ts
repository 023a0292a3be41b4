import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Writes a file into a folder of `withTemporaryFolder`, which removes it again, and returns its path. */
export function writeTemporaryFile(folder: string, name: string, contents: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, contents);
  return path;
}

/** Writes files by their paths below a folder of `withTemporaryFolder`, as {@link writeTemporaryFile}. */
export function writeTemporaryFiles(folder: string, files: ReadonlyMap<string, Uint8Array>): void {
  for (const [name, contents] of files) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, contents);
  }
}
