import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import { onProcessEnd } from './cleanup.ts';
import { guardFolder } from './guard.ts';

const OWNED = /^warpsmith-(\d+)-/;

/**
 * Age from which leftover folders are removed. The folder of a process that seems gone may belong to one in another
 * container.
 */
const ABANDONED_AFTER_MS = 24 * 3_600_000;

/** Gives `use` a new empty folder and removes it afterwards in any case, as {@link openTemporaryFolder}. */
export async function withTemporaryFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  await using folder = openTemporaryFolder();
  return await use(folder.path);
}

/**
 * A new empty folder that only this user may enter. It is removed when it is disposed of, and in any case at the end of this
 * process: return, throw, exit or interrupt. A later process removes folders of killed processes after a day.
 *
 * @throws WarpsmithError `no-temporary-folder`.
 */
export function openTemporaryFolder(): AsyncDisposable & { readonly path: string } {
  sweepOnce();
  const path = createFolder();
  const forgetEnd = onProcessEnd(() => rmSync(path, { recursive: true, force: true }));
  const forgetGuard = guardFolder(path);
  return {
    path,
    async [Symbol.asyncDispose]() {
      await rm(path, { recursive: true, force: true, maxRetries: 3 });
      forgetEnd();
      forgetGuard();
    },
  };
}

/** @throws WarpsmithError `no-temporary-folder`. */
function createFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), `warpsmith-${process.pid}-`));
  } catch (error) {
    throw new WarpsmithError(
      {
        code: 'no-temporary-folder',
        message: `No temporary folder can be made in ${tmpdir()}.`,
        file: tmpdir(),
        received: (error as NodeJS.ErrnoException).code ?? String(error),
        expected: 'a folder that can be written',
        hint: 'Set TMPDIR to one.',
      },
      EXIT.deviceOrToolMissing,
    );
  }
}

let hasSwept = false;

function sweepOnce(): void {
  if (hasSwept) return;
  hasSwept = true;
  sweepAbandonedFolders(Date.now());
}

/** Removes temporary folders of processes that are gone. Never fails: it is a courtesy to the disk. */
export function sweepAbandonedFolders(nowMs: number): void {
  try {
    for (const name of readdirSync(tmpdir())) {
      const owner = OWNED.exec(name)?.[1];
      if (owner === undefined || isRunning(Number(owner))) continue;
      const folder = join(tmpdir(), name);
      if (nowMs - statSync(folder).mtimeMs > ABANDONED_AFTER_MS) rmSync(folder, { recursive: true, force: true });
    }
  } catch {
    // Another process may sweep at the same time, or the folder may be another user's.
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
