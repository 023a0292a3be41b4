import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { changedFiles, objectsOf, uncommitted } from '../../src/handover/changed-files.ts';
import { findExecutable } from '../../src/process/find-executable.ts';
import { gateRepository } from '../cli/gate-repository.ts';

describe.skipIf(!findExecutable('git'))('files between a commit and the work tree (needs git)', () => {
  it('are those of commits since, and those that differ from HEAD byte by byte', async () => {
    const { folder, git, edit, commit } = gateRepository();
    git('switch', '-q', '-c', 'change');
    edit('problem.json', (text) => `${text}\n`);
    commit();
    const head = git('rev-parse', 'HEAD');
    writeFileSync(join(folder, 'new.cu'), '');
    edit('reference.ts', (text) => `${text}// more\n`);
    const files = await changedFiles(folder, 'main');
    expect(files).toMatchObject({ base: git('rev-parse', 'main'), head, committed: ['scale/problem.json'] });
    expect(files.present.has('new.cu')).toBe(true);
    const every = [...files.present, 'scale/gone.cu'];
    expect(await uncommitted(files, every)).toEqual(['new.cu', 'scale/reference.ts']);
  });

  it('are read as they are: bytes of any kind, names of any kind, no links', async () => {
    const { folder, git, commit } = gateRepository();
    const bytes = Buffer.from(Array.from({ length: 512 }, (_, i) => i % 256));
    const name = 'a b/ü "quoted"\t.cubin'.replace('a b/', '');
    writeFileSync(join(folder, name), bytes);
    writeFileSync(join(folder, 'empty'), '');
    symlinkSync('empty', join(folder, 'link'));
    commit();
    const files = await changedFiles(folder, 'main');
    expect(files.present.has(name)).toBe(true);
    expect(files.present.has('link')).toBe(false);
    expect(files.atBase.has('link')).toBe(false);
    const ids = [name, 'empty', name].map((path) => files.atBase.get(path)!);
    expect(await objectsOf(files.git, ids)).toEqual([bytes, Buffer.alloc(0), bytes]);
    await expect(objectsOf(files.git, [git('rev-parse', 'HEAD^{tree}')])).rejects.toMatchObject({
      details: { code: 'missing-object' },
    });
  });

  it('lie below a folder by its name, which is no pattern', async () => {
    const { folder, commit } = gateRepository();
    for (const name of ['[ab]', 'a']) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'kernel.json'), '{}');
    }
    commit();
    expect([...(await changedFiles(join(folder, '[ab]'), 'main')).present]).toEqual(['[ab]/kernel.json']);
  });

  it('do not leave the folder, whatever a commit was made to say', async () => {
    const { folder, git } = gateRepository();
    const tree = join(folder, '.git', 'tree');
    const id = Buffer.from(git('hash-object', '-w', 'scale/reference.ts'), 'hex');
    writeFileSync(tree, Buffer.concat([Buffer.from('100644 ..\0'), id, Buffer.from('100644 kernel.cu\0'), id]));
    const made = git('hash-object', '-t', 'tree', '-w', '--literally', tree);
    git('update-ref', 'refs/heads/main', git('commit-tree', made, '-p', 'main', '-m', 'crafted'));
    const { atBase } = await changedFiles(folder, 'HEAD');
    expect([...atBase.keys()]).toEqual(['kernel.cu']);
  });

  it('run nothing that the repository configures', async () => {
    const { folder, git, edit, commit } = gateRepository();
    const mark = join(folder, '..', 'ran');
    writeFileSync(join(folder, '.gitattributes'), '* filter=own diff=own\n');
    commit();
    for (const name of [
      'filter.own.clean',
      'filter.own.smudge',
      'diff.own.textconv',
      'diff.external',
      'core.fsmonitor',
    ])
      git('config', name, `touch ${mark}; cat`);
    edit('problem.json', (text) => `${text}\n`);
    const files = await changedFiles(folder, 'main');
    expect(await uncommitted(files, [...files.present])).toEqual(['scale/problem.json']);
    await objectsOf(files.git, [...files.atBase.values()]);
    expect(existsSync(mark)).toBe(false);
  });
});
