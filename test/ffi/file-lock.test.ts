import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { tryLockFile } from '../../src/ffi/file-lock.ts';
import { eventually } from '../process/processes.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const MODULE = new URL('../../src/ffi/file-lock.ts', import.meta.url).href;

it('one at a time, and others learn who', () => {
  const path = join(folder, 'lock');
  const first = tryLockFile(path, 'the first, with a long name');
  if (!('release' in first)) throw new Error('not taken');
  expect(tryLockFile(path, 'the second')).toEqual({ heldBy: 'the first, with a long name' });
  first.release();
  first.release();
  const second = tryLockFile(path, 'the second');
  if (!('release' in second)) throw new Error('not given back');
  expect(tryLockFile(path, 'the third')).toEqual({ heldBy: 'the second' });
  second.release();
});

it('does not follow a link, and leaves what it points to as it is', () => {
  const [path, target] = [join(folder, 'lock'), join(folder, 'precious')];
  writeFileSync(target, 'kept');
  symlinkSync(target, path);
  expect(() => tryLockFile(path, 'anyone')).toThrow(/Cannot open the lock file/);
  expect(readFileSync(target, 'utf8')).toBe('kept');
});

it('is free when its holder is killed', async () => {
  const path = join(folder, 'lock');
  const program = `
    import { tryLockFile } from ${JSON.stringify(MODULE)};
    console.log('release' in tryLockFile(${JSON.stringify(path)}, 'process ' + process.pid));
    setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [chunk] = (await once(holder.stdout, 'data')) as [Buffer];
  expect(chunk.toString().trim()).toBe('true');
  expect(tryLockFile(path, 'me')).toEqual({ heldBy: `process ${holder.pid}` });
  holder.kill('SIGKILL');
  await eventually(() => {
    const lock = tryLockFile(path, 'me');
    if ('release' in lock) lock.release();
    return 'release' in lock;
  });
});

it('a place that cannot be locked', () => {
  expect(() => tryLockFile(join(folder, 'none', 'lock'), 'me')).toThrow('Cannot open');
});
