import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type BranchRequest, makeBranch } from '../../src/handover/git-branch.ts';
import { findExecutable } from '../../src/process/find-executable.ts';
import { runTool } from './support/host-compiler.ts';

const START = { 'kernel.cu': 'start\n', 'old.cuh': 'old\n' };
const CHANGES: BranchRequest['changes'] = [
  { files: { 'kernel.cu': 'first\n', 'old.cuh': 'old\n' }, message: 'First change\n\nWith evidence.\n' },
  { files: { 'kernel.cu': 'first\n', 'new.cuh': 'new\n' }, message: 'Second change: "quoted" $HOME\n' },
];

const git = (folder: string, ...args: string[]): string => runTool('git', args, folder).stdout.trim();

/** A repository whose kernel lies in a folder of it. */
const withRepository = async <T>(
  use: (repository: string, request: BranchRequest) => Promise<T>,
  format = 'sha1',
): Promise<T> => {
  const repository = mkdtempSync(join(tmpdir(), 'warpsmith-branch-'));
  const folder = join(repository, 'a b/kernel');
  try {
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of Object.entries(START)) writeFileSync(join(folder, name), text);
    git(repository, 'init', '-q', '-b', 'trunk', `--object-format=${format}`);
    git(repository, 'config', 'user.name', 'Ann Author');
    git(repository, 'config', 'user.email', 'ann@example.org');
    git(repository, 'add', '.');
    git(repository, 'commit', '-q', '-m', 'start');
    return await use(repository, { folder, before: START, branch: 'warpsmith/run-1', changes: CHANGES });
  } finally {
    rmSync(repository, { recursive: true, force: true });
  }
};

describe.skipIf(!findExecutable('git'))('a branch of kept changes (needs git)', () => {
  it('has one commit a change, and touches nothing else', () =>
    withRepository(async (repository, request) => {
      writeFileSync(join(repository, 'staged.txt'), 'staged\n');
      git(repository, 'add', 'staged.txt');
      writeFileSync(join(request.folder, 'old.cuh'), 'edited\n');
      const before = [git(repository, 'status', '--porcelain'), git(repository, 'rev-parse', 'HEAD')];
      const made = await makeBranch(request);
      expect([git(repository, 'status', '--porcelain'), git(repository, 'rev-parse', 'HEAD')]).toEqual(before);
      expect(git(repository, 'branch', '--show-current')).toBe('trunk');
      expect(readFileSync(join(request.folder, 'kernel.cu'), 'utf8')).toBe('start\n');

      expect(made).toMatchObject({ branch: 'warpsmith/run-1', base: before[1] });
      expect(
        git(repository, 'log', '--reverse', '--format=%H %an <%ae> %s', 'trunk..warpsmith/run-1').split('\n'),
      ).toEqual([
        `${made.commits[0]} Ann Author <ann@example.org> First change`,
        `${made.commits[1]} Ann Author <ann@example.org> Second change: "quoted" $HOME`,
      ]);
      expect(git(repository, 'show', '--name-status', '--format=', made.commits[0]!)).toBe('M\ta b/kernel/kernel.cu');
      expect(
        git(repository, 'show', '--no-renames', '--name-status', '--format=', made.commits[1]!).split('\n'),
      ).toEqual(['A\ta b/kernel/new.cuh', 'D\ta b/kernel/old.cuh']);
      expect(git(repository, 'show', 'warpsmith/run-1:a b/kernel/kernel.cu')).toBe('first');
      expect(git(repository, 'fsck', '--strict')).toBe('');
    }));

  it.each(['sha1', 'sha256'])('is made where objects are named by %s; an executable file stays one', (format) =>
    withRepository(async (repository, request) => {
      git(repository, 'update-index', '--chmod=+x', 'a b/kernel/kernel.cu');
      git(repository, 'commit', '-q', '-m', 'executable');
      await makeBranch(request);
      const listed = git(repository, 'ls-tree', '-r', '--format=%(objectmode) %(path)', 'warpsmith/run-1');
      expect(listed.split('\n')).toEqual(['100755 a b/kernel/kernel.cu', '100644 a b/kernel/new.cuh']);
      await expect(makeBranch(request)).rejects.toMatchObject({ details: { code: 'branch-exists' } });
    }, format),
  );

  it('runs no hook of the repository', () =>
    withRepository(async (repository, request) => {
      const ran = join(repository, 'hook-ran');
      const hook = join(repository, '.git/hooks/reference-transaction');
      mkdirSync(join(hook, '..'), { recursive: true });
      writeFileSync(hook, `#!/bin/sh\ntouch '${ran}'\n`);
      chmodSync(hook, 0o755);
      git(repository, 'tag', 'shows-that-it-works');
      expect(existsSync(ran)).toBe(true);
      rmSync(ran);
      await makeBranch(request);
      expect(existsSync(ran)).toBe(false);
    }));

  it.each<[string, string, (repository: string, request: BranchRequest) => BranchRequest | undefined]>([
    [
      'a folder outside any repository',
      'not-a-repository',
      (repository, request) => {
        runTool('rm', ['-rf', '.git'], repository);
        return request;
      },
    ],
    [
      'a branch that is there',
      'branch-exists',
      (repository) => {
        git(repository, 'branch', 'warpsmith/run-1');
        return undefined;
      },
    ],
    [
      'a kernel that was committed anew since',
      'kernel-changed',
      (repository, { folder }) => {
        writeFileSync(join(folder, 'kernel.cu'), 'other\n');
        git(repository, 'commit', '-q', '-a', '-m', 'other');
        return undefined;
      },
    ],
    [
      'a kernel that is not committed',
      'kernel-changed',
      (_repository, request) => ({
        ...request,
        before: { ...START, 'more.cuh': 'more\n' },
      }),
    ],
    [
      'nobody to commit as',
      'no-author',
      (repository) => {
        git(repository, 'config', 'user.email', '');
        return undefined;
      },
    ],
    [
      'no commits yet',
      'no-commits',
      (repository) => {
        git(repository, 'update-ref', '-d', 'HEAD');
        return undefined;
      },
    ],
  ])('refuses %s', (_what, code, change) =>
    withRepository(async (repository, request) => {
      const changed = change(repository, request) ?? request;
      await expect(makeBranch(changed)).rejects.toMatchObject({ details: { code } });
      if (code !== 'branch-exists' && code !== 'not-a-repository')
        expect(git(repository, 'branch', '--list', 'warpsmith/*')).toBe('');
    }),
  );
});
