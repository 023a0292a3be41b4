import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WarpsmithError } from '../../src/core/errors.ts';
import { openContentStore } from '../../src/store/content-store.ts';
import { createRunFolder, findRun, listRuns, runId } from '../../src/store/run-folder.ts';
import { storageError } from '../../src/store/storage-error.ts';

let store: string;
beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), 'warpsmith-store-'));
});
afterEach(() => rmSync(store, { recursive: true, force: true }));

const code = (code: string) => expect.objectContaining({ details: expect.objectContaining({ code }) });

function makeRun(id: string): string {
  const run = createRunFolder(store, id);
  run.log.append({
    type: 'budget',
    iteration: 0,
    evaluationsUsed: 0,
    evaluationsLeft: 1,
    minutesUsed: 0,
    minutesLeft: null,
    ledger: { compileMs: 0, verifyMs: 0, timeMs: 0, gpuMs: 0, money: null },
  });
  run.log.close();
  return run.path;
}

describe('run folders', () => {
  test('ids sort by time and say what the run was about', () => {
    const id = runId(new Date('2025-11-20T18:41:03.5Z'), 'attention', 'b1h8s512d64 causal');
    expect(id).toBe('2025-11-20T18-41-03-attention-b1h8s512d64-causal');
  });

  test('two runs within a second get folders of their own', () => {
    const paths = [makeRun('same'), makeRun('same')];
    expect(paths.map((path) => path.split('/').at(-1))).toEqual(['same', 'same-2']);
  });

  test('files are written whole and leave no partial file behind', () => {
    const run = createRunFolder(store, 'a');
    run.write('best/kernel.cu', 'one');
    run.write('best/kernel.cu', 'two');
    run.log.close();
    expect(readFileSync(join(run.path, 'best/kernel.cu'), 'utf8')).toBe('two');
    expect(readdirSync(join(run.path, 'best'))).toEqual(['kernel.cu']);
  });

  test('replacing a folder removes what was in it', () => {
    const run = createRunFolder(store, 'a');
    run.replaceFolder('best', { 'old.cuh': '', 'kernel.cu': '' });
    run.replaceFolder('best', { 'kernel.cu': '' });
    run.log.close();
    expect(readdirSync(join(run.path, 'best'))).toEqual(['kernel.cu']);
  });

  test('runs are found by latest, id, beginning of an id, and path', () => {
    const older = makeRun('2025-01-01-a');
    const newer = makeRun('2025-02-01-b');
    expect(listRuns(store)).toEqual(['2025-01-01-a', '2025-02-01-b']);
    expect(findRun(store, 'latest')).toBe(newer);
    expect(findRun(store, '2025-01-01-a')).toBe(older);
    expect(findRun(store, '2025-02')).toBe(newer);
    expect(findRun('elsewhere', older)).toBe(older);
    expect(() => findRun(store, '2025')).toThrow(code('ambiguous-run'));
    expect(() => findRun(store, 'nope')).toThrow(code('unknown-run'));
    expect(() => findRun(join(store, 'empty'), 'latest')).toThrow(code('no-runs'));
  });
});

describe('a store that cannot be written', () => {
  test.skipIf(process.getuid?.() === 0)('read-only for this user', () => {
    chmodSync(store, 0o555);
    expect(() => createRunFolder(store, 'a')).toThrow(code('store-not-writable'));
    chmodSync(store, 0o755);
  });

  test.skipIf(!existsSync('/proc/self'))('a file system that takes no new folders', () => {
    expect(() => createRunFolder('/proc/warpsmith', 'a')).toThrow(code('store-not-writable'));
  });

  test('a file where the store should be', () => {
    const file = join(store, 'file');
    writeFileSync(file, '');
    expect(() => createRunFolder(file, 'a')).toThrow(code('store-not-a-folder'));
  });

  test.skipIf(!existsSync('/dev/full'))('a full disk, while writing', () => {
    // /dev/full accepts opening and refuses every write with ENOSPC.
    let refusal: unknown;
    try {
      writeFileSync('/dev/full', 'x');
    } catch (error) {
      refusal = storageError(error, store);
    }
    expect(refusal).toMatchObject({ exitCode: 2, details: { code: 'store-full', received: 'ENOSPC', file: store } });
  });

  test.each([
    ['EROFS', 'store-read-only'],
    ['EACCES', 'store-not-writable'],
    ['ENOSPC', 'store-full'],
    ['EDQUOT', 'store-full'],
  ])('%s is %s, with a next step', (errno, expected) => {
    const error = storageError(Object.assign(new Error(errno), { code: errno }), store);
    expect(error).toBeInstanceOf(WarpsmithError);
    expect(error).toMatchObject({ details: { code: expected, hint: expect.stringContaining('--store') } });
  });

  test('whatever else a system call refuses is no bug of ours', () => {
    const error = storageError(Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'write' }), store);
    expect(error).toMatchObject({ details: { code: 'store-not-writable', received: 'EIO' } });
  });

  test('anything else stays what it is', () => {
    const bug = new TypeError('a bug');
    expect(storageError(bug, store)).toBe(bug);
  });
});

describe('content store', () => {
  test('the same contents are stored once, under their hash', () => {
    const objects = openContentStore(store);
    const hash = objects.put('hello\n');
    // Source: `printf 'hello\n' | sha256sum`.
    expect(hash).toBe('5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03');
    const path = join(store, hash.slice(0, 2), hash.slice(2));
    const written = statSync(path).mtimeMs;
    expect(objects.put(new TextEncoder().encode('hello\n'))).toBe(hash);
    expect(statSync(path).mtimeMs).toBe(written);
    expect(new TextDecoder().decode(objects.get(hash))).toBe('hello\n');
  });

  test('an object that cannot be read is not called deleted', () => {
    const objects = openContentStore(store);
    const hash = objects.put('hello');
    const path = join(store, hash.slice(0, 2), hash.slice(2));
    rmSync(path);
    expect(() => objects.get(hash)).toThrow('is not there');
    mkdirSync(path);
    expect(() => objects.get(hash)).toThrow("can't be read");
  });

  test('a changed object is noticed', () => {
    const objects = openContentStore(store);
    const hash = objects.put('hello');
    writeFileSync(join(store, hash.slice(0, 2), hash.slice(2)), 'tampered');
    expect(() => objects.get(hash)).toThrow('has been changed');
  });
});
