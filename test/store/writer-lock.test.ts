import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createRunFolder, openRunFolder } from '../../src/store/run-folder.ts';
import { isBeingWritten, lockWriter, refuseIfBeingWritten } from '../../src/store/writer-lock.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const inUse = (message: RegExp) =>
  expect.objectContaining({
    message: expect.stringMatching(message),
    details: expect.objectContaining({ code: 'run-in-use', file: expect.any(String) }),
  });

const MODULE = new URL('../../src/store/writer-lock.ts', import.meta.url).href;

/** A process that holds the lock until it is killed. */
async function holder(): Promise<{ pid: number; kill: () => Promise<void> }> {
  const code = `import { lockWriter } from ${JSON.stringify(MODULE)};
    lockWriter(${JSON.stringify(folder)}); console.log('held'); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return {
    pid: child.pid!,
    kill: () =>
      new Promise((resolve) => {
        child.on('close', () => resolve());
        child.kill('SIGKILL');
      }),
  };
}

test('a second writer is refused and told who the first one is; a killed one leaves the lock free', async () => {
  const first = await holder();
  try {
    expect(isBeingWritten(folder)).toBe(true);
    expect(() => lockWriter(folder)).toThrow(inUse(new RegExp(`process ${first.pid}, since 20`)));
  } finally {
    await first.kill();
  }
  expect(isBeingWritten(folder)).toBe(false);
  const lock = lockWriter(folder);
  expect(() => lockWriter(folder)).toThrow(inUse(new RegExp(`process ${process.pid}`)));
  lock.release();
  lock.release();
  expect(isBeingWritten(folder)).toBe(false);
  // A holder's file that was left behind holds nothing.
  writeFileSync(join(folder, 'writer.json'), '{"pid": 1}');
  expect(isBeingWritten(folder)).toBe(false);
});

test.each([
  ['is not what it was', (lock: string) => writeFileSync(lock, 'no lock\n'.repeat(100))],
  ['can’t be opened', (lock: string) => mkdirSync(lock)],
])('a lock that %s counts as held, and a clear error says so', (_what, spoil) => {
  spoil(join(folder, 'writer.lock'));
  expect(isBeingWritten(folder)).toBe(true);
  const details = { code: 'unreadable-lock', file: join(folder, 'writer.lock') };
  expect(() => refuseIfBeingWritten(folder)).toThrow(
    expect.objectContaining({ name: 'WarpsmithError', details: expect.objectContaining(details) }),
  );
  expect(() => lockWriter(folder)).toThrow(expect.objectContaining({ name: 'WarpsmithError' }));
});

test('a run folder has one writer, from its creation to its close', () => {
  const run = createRunFolder(folder, 'a');
  expect(() => openRunFolder(run.path)).toThrow(inUse(/process/));
  run.log.close();
  const again = openRunFolder(run.path);
  expect(() => openRunFolder(run.path)).toThrow(inUse(/process/));
  again.log.close();
});

test('a log that can not be read leaves the run free', () => {
  const run = createRunFolder(folder, 'a');
  run.log.close();
  writeFileSync(run.log.path, 'garbage\n');
  expect(() => openRunFolder(run.path)).toThrow('not JSON');
  expect(isBeingWritten(run.path)).toBe(false);
});

test('what a killed writer left half-written is removed; what is replaced is never half there', () => {
  const run = createRunFolder(folder, 'a');
  run.replaceFolder('best', { 'kernel.cu': 'one' });
  run.log.close();
  writeFileSync(join(run.path, 'best', 'kernel.cu.0.partial'), 'ha');
  writeFileSync(join(run.path, 'report.md.0.partial'), 'ha');
  const again = openRunFolder(run.path);
  expect(readdirSync(run.path).sort()).toEqual(['best', 'events.jsonl', 'writer.json', 'writer.lock']);
  again.replaceFolder('best', { 'kernel.cu': 'two' });
  again.log.close();
  expect(readdirSync(run.path).sort()).toEqual(['best', 'events.jsonl', 'writer.lock']);
  expect(readFileSync(join(run.path, 'best/kernel.cu'), 'utf8')).toBe('two');
});

test('a folder that was deleted in mid-run is not brought back in part', () => {
  const run = createRunFolder(folder, 'a');
  const deleted = expect.objectContaining({ details: expect.objectContaining({ code: 'run-folder-deleted' }) });
  rmSync(run.path, { recursive: true });
  expect(() => run.write('report.md', '')).toThrow(deleted);
  expect(() => run.objects.put('source')).toThrow(deleted);
  expect(() => run.replaceFolder('best', {})).toThrow(deleted);
  run.log.close();
  expect(readdirSync(join(folder, 'runs'))).toEqual([]);
});
