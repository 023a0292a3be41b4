import { existsSync, readFileSync } from 'node:fs';

/** package.json lies two folders above the sources, and three above the build. */
const CANDIDATES = ['../../package.json', '../../../package.json'];

/** warpsmith's own version. */
export function packageVersion(): string {
  for (const relative of CANDIDATES) {
    const url = new URL(relative, import.meta.url);
    if (existsSync(url)) return (JSON.parse(readFileSync(url, 'utf8')) as { version: string }).version;
  }
  throw new Error('package.json is missing from the installation');
}
