import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { packageFolder } from '../process/package-folder.ts';

/** Built beside reference.ts in the package, for Node alone; people read reference.ts. */
const BUILT = 'reference.js';

/** What a command left behind in a checkout. */
const isLeftBehind = (path: string): boolean => /(^|\/)(?:\.|__pycache__)/.test(path);

/** The texts of a folder that came with warpsmith and that users get a copy of, by their paths in it. */
export async function readOwnFiles(parent: 'course' | 'examples', name: string): Promise<Record<string, string>> {
  const folder = join(packageFolder(parent), name);
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== BUILT)
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((path) => !isLeftBehind(path))
    .sort();
  const texts = await Promise.all(paths.map((path) => readFile(join(folder, path), 'utf8')));
  return Object.fromEntries(paths.map((path, index) => [path, texts[index]!]));
}
