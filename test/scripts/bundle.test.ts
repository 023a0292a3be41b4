import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadedPart } from '../../scripts/bundle/loaded-part.ts';
import { createTar } from '../../scripts/bundle/tar.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-bundle-unit-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a tar archive', () => {
  const long = `a/${'folder-'.repeat(12)}/${'name-'.repeat(15)}.txt`;
  const entries = [
    { path: 'a/z.sh', bytes: Buffer.from('#!/bin/sh\n'), executable: true },
    { path: 'a/empty', bytes: new Uint8Array(0) },
    { path: long, bytes: Buffer.alloc(1025, 'x') },
  ];

  it('is what tar unpacks, with contents, modes and long paths', () => {
    writeFileSync(join(folder, 'x.tar'), createTar(entries));
    execFileSync('tar', ['-xf', 'x.tar'], { cwd: folder });
    for (const { path, bytes, executable } of entries) {
      expect(readFileSync(join(folder, path)).equals(bytes)).toBe(true);
      expect((statSync(join(folder, path)).mode & 0o111) !== 0).toBe(executable === true);
    }
    expect(readdirSync(join(folder, 'a')).sort()).toHaveLength(3);
  });

  it('does not depend on the order in which files were found', () => {
    expect(createTar(entries.toReversed()).equals(createTar(entries))).toBe(true);
  });

  it('refuses a path that does not fit', () => {
    expect(() => createTar([{ path: 'x'.repeat(101), bytes: new Uint8Array(0) }])).toThrow('too long');
  });
});

describe('the loaded part of a program', () => {
  it.skipIf(process.platform !== 'linux')('runs as the whole does', () => {
    const trimmed = join(folder, 'node');
    const whole = readFileSync(process.execPath);
    const part = loadedPart(whole);
    expect(part.length).toBeLessThanOrEqual(whole.length);
    writeFileSync(trimmed, part);
    chmodSync(trimmed, 0o755);
    expect(execFileSync(trimmed, ['--print', '6 * 7'], { encoding: 'utf8' })).toBe('42\n');
  });

  it('of what is no program is the whole', () => {
    const text = Buffer.from('#!/bin/sh\n');
    expect(loadedPart(text)).toBe(text);
  });
});

describe('the launcher', () => {
  it('finds its folder from any other, through links, and passes arguments on as they are', () => {
    const home = join(folder, 'with space', 'warpsmith-1');
    mkdirSync(join(home, 'node/bin'), { recursive: true });
    const launcher = fileURLToPath(new URL('../../scripts/bundle/warpsmith.sh', import.meta.url));
    copyFileSync(launcher, join(home, 'warpsmith'));
    chmodSync(join(home, 'warpsmith'), 0o755);
    writeFileSync(join(home, 'node/bin/node'), '#!/bin/sh\nfor word; do echo "[$word]"; done\n', { mode: 0o755 });
    symlinkSync('warpsmith-1/warpsmith', join(folder, 'with space', 'relative'));
    symlinkSync(join(folder, 'with space', 'relative'), join(folder, 'absolute'));
    for (const called of [join(home, 'warpsmith'), join(folder, 'with space', 'relative'), join(folder, 'absolute')]) {
      const out = execFileSync(called, ['a b', '--c=$d'], {
        cwd: '/',
        encoding: 'utf8',
        env: { PATH: '/usr/bin:/bin' },
      });
      expect(out).toBe(`[${join(home, 'bin/warpsmith.mjs')}]\n[a b]\n[--c=$d]\n`);
    }
  });
});
