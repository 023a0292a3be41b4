import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A folder beside warpsmith's package.json, from the sources and from the built package alike. */
export function packageFolder(name: string): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) || !existsSync(join(folder, name))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`The ${name} folder is missing from this installation of warpsmith.`);
    folder = parent;
  }
  return join(folder, name);
}
