import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

/**
 * Creates a folder and its missing parents. Node's recursive mkdir never returns if a file system answers ENOENT when it
 * creates a folder inside an existing one, as /proc does.
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
