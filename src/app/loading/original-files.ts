import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readFolderFile } from './read-user-file.ts';

/** Names of a folder's own files that match, sorted. */
export const filesMatching = (folder: string, pattern: RegExp): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && pattern.test(entry.name))
    .map(({ name }) => name)
    .sort();

/**
 * The files of the kernel that problem.json names as `originalKernel`, relative to the problem's folder: they decide what is right.
 * None where problem.json can't be read, which is said elsewhere.
 */
export function originalFiles(folder: string): string[] {
  try {
    const { originalKernel } = JSON.parse(readFolderFile(join(folder, 'problem.json')).toString('utf8')) as Record<
      string,
      unknown
    >;
    if (typeof originalKernel !== 'string') return [];
    const entries = readdirSync(join(folder, originalKernel), { withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map(({ name }) => join(originalKernel, name))
      .sort();
  } catch {
    return [];
  }
}
