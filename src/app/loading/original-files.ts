import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The files of the kernel that problem.json names as `originalKernel`, relative to the problem's folder: they decide what is right.
 * None where problem.json can't be read, which is said elsewhere.
 */
export function originalFiles(folder: string): string[] {
  try {
    const { originalKernel } = JSON.parse(readFileSync(join(folder, 'problem.json'), 'utf8')) as Record<
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
