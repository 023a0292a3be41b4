import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageFolder } from '../process/package-folder.ts';

/** warpsmith's own version. */
export function packageVersion(): string {
  const manifest = join(dirname(packageFolder('bin')), 'package.json');
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}
