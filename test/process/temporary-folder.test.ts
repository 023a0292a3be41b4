import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { sweepAbandonedFolders, withTemporaryFolder } from '../../src/process/temporary-folder.ts';

/** A process that is gone. */
const gone = spawnSync(process.execPath, ['-e', '']).pid!;
const folderOf = (pid: number): string => join(tmpdir(), `warpsmith-${pid}-sweep`);
const HOUR_MS = 3_600_000;

function leave(pid: number, hoursAgo: number): string {
  const folder = folderOf(pid);
  mkdirSync(join(folder, 'inner'), { recursive: true });
  const then = new Date(Date.now() - hoursAgo * HOUR_MS);
  utimesSync(folder, then, then);
  return folder;
}

afterEach(() => {
  for (const pid of [gone, process.pid]) rmSync(folderOf(pid), { recursive: true, force: true });
});

test('a folder lives as long as its use', async () => {
  const folder = await withTemporaryFolder(async (path) => {
    expect(existsSync(path)).toBe(true);
    return path;
  });
  expect(existsSync(folder)).toBe(false);
});

test('what a killed process left a day ago is removed', () => {
  const folder = leave(gone, 25);
  sweepAbandonedFolders(Date.now());
  expect(existsSync(folder)).toBe(false);
});

test('what may belong to a process in another container, or to a running one, is left', () => {
  const recent = leave(gone, 1);
  sweepAbandonedFolders(Date.now());
  expect(existsSync(recent)).toBe(true);
  const own = leave(process.pid, 25);
  sweepAbandonedFolders(Date.now());
  expect(existsSync(own)).toBe(true);
});

test('says where none can be made', async () => {
  const before = process.env.TMPDIR;
  const place = join(import.meta.filename, 'below-a-file');
  process.env.TMPDIR = place;
  try {
    await expect(withTemporaryFolder(async () => {})).rejects.toMatchObject({
      details: { code: 'no-temporary-folder', file: place, hint: 'Set TMPDIR to one.' },
    });
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
});
