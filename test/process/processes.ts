import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const fixture = (name: string): string => join(import.meta.dirname, 'fixtures', name);

/** Whether the process runs; a zombie that nobody has reaped yet does not. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
  } catch {
    return false;
  }
}

/** Waits until the condition holds; fails the test when it never does. */
export async function eventually(condition: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (condition()) return;
    await sleep(50);
  }
  throw new Error('The condition never came to hold.');
}

export async function contentOf(file: string): Promise<string> {
  await eventually(() => existsSync(file) && readFileSync(file, 'utf8') !== '');
  return readFileSync(file, 'utf8');
}
