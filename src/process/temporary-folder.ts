import { mkdtempSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onProcessEnd } from './cleanup.ts';

/**
 * Gives `use` a new empty folder and removes it afterwards, whatever happens: return, throw, exit or interrupt.
 */
export async function withTemporaryFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-'));
  const forget = onProcessEnd(() => rmSync(folder, { recursive: true, force: true }));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    forget();
  }
}
