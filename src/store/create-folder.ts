import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

/**
 * Creates a folder and what is missing above it. Node's own recursive mkdir never returns where a file system answers
 * ENOENT to creating a folder in one that exists, as /proc does.
 */
export function createFolder(path: string): void {
  const missing: string[] = [];
  for (let folder = resolve(path); !exists(folder); folder = dirname(folder)) missing.push(folder);
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder);
    } catch (error) {
      // Another run may create the store at the same time.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
