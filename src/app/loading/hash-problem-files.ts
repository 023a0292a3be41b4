import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** problem.json, the reference, and what a reference may import. */
const DECIDING = /\.(json|[cm]?[jt]s)$/;

/** Files of a problem's own folder that decide what is right: name → SHA-256. Kernels are named by their contents anyway. */
export function hashProblemFiles(folder: string): Readonly<Record<string, string>> {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && DECIDING.test(entry.name))
    .map(({ name }) => name)
    .sort();
  return Object.fromEntries(
    names.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  );
}
