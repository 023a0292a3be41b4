import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes a file into a folder of `withTemporaryFolder`, which removes it again, and returns its path. */
export function writeTemporaryFile(folder: string, name: string, contents: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, contents);
  return path;
}
