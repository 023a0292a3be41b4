import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { repositoryState } from '../../src/handover/repository-state.ts';
import { findExecutable } from '../../src/process/find-executable.ts';
import { runTool } from './support/host-compiler.ts';

const git = (folder: string, ...args: string[]): string => runTool('git', args, folder).stdout.trim();

const folders: string[] = [];
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-state-'));
  folders.push(folder);
  return folder;
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A repository with one commit that holds a kernel's folder. */
function committed(): { repository: string; folder: string; commit: string } {
  const repository = temporaryFolder();
  const folder = join(repository, 'a b/kernel');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'kernel.cu'), 'start\n');
  writeFileSync(join(folder, 'tool.sh'), '#!/bin/sh\n', { mode: 0o755 });
  symlinkSync('kernel.cu', join(folder, 'link.cu'));
  writeFileSync(join(repository, '.gitignore'), 'ignored\n');
  git(repository, 'init', '-q');
  git(repository, 'add', '.');
  git(repository, '-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', 'commit', '-q', '-m', 'start');
  return { repository, folder, commit: git(repository, 'rev-parse', 'HEAD') };
}

describe.skipIf(!findExecutable('git'))('what git says of a folder (needs git)', () => {
  it('names the commit, and is clean whatever lies beside the folder or is ignored', async () => {
    const { repository, folder, commit } = committed();
    expect(await repositoryState(folder)).toEqual({ commit, isDirty: false });
    writeFileSync(join(repository, 'beside.txt'), '');
    writeFileSync(join(folder, 'ignored'), '');
    expect(await repositoryState(folder)).toEqual({ commit, isDirty: false });
  });

  it.each<[string, (folder: string) => void]>([
    ['another text', (folder) => writeFileSync(join(folder, 'kernel.cu'), 'other\n')],
    ['a file that is gone', (folder) => rmSync(join(folder, 'kernel.cu'))],
    ['a new file', (folder) => writeFileSync(join(folder, 'new.cuh'), '')],
  ])('is dirty: %s', async (_, change) => {
    const { folder, commit } = committed();
    change(folder);
    expect(await repositoryState(folder)).toEqual({ commit, isDirty: true });
  });

  it('is dirty where nothing of the folder was ever committed', async () => {
    const { repository, commit } = committed();
    const folder = join(repository, 'ignored');
    mkdirSync(folder);
    writeFileSync(join(folder, 'kernel.cu'), '');
    expect(await repositoryState(folder)).toEqual({ commit, isDirty: true });
  });

  it('says nothing outside a repository, or where there is no commit yet', async () => {
    expect(await repositoryState(temporaryFolder())).toBeUndefined();
    const empty = temporaryFolder();
    git(empty, 'init', '-q');
    expect(await repositoryState(empty)).toBeUndefined();
  });

  it('runs nothing that the repository configures', async () => {
    const { repository, folder } = committed();
    const proof = join(repository, 'ran');
    const touch = `touch ${proof}; cat`;
    writeFileSync(join(repository, '.gitattributes'), '* filter=own diff=own\n');
    for (const [name, value] of [
      ['filter.own.clean', touch],
      ['filter.own.process', touch],
      ['diff.own.textconv', touch],
      ['core.fsmonitor', touch],
      ['core.pager', touch],
    ])
      git(repository, 'config', name!, value!);
    writeFileSync(join(folder, 'kernel.cu'), 'other\n');
    expect(await repositoryState(folder)).toMatchObject({ isDirty: true });
    expect(existsSync(proof)).toBe(false);
  });
});
