import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findTarget, loadProblemTarget } from '../../src/app/target.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
let folder: string;
const before = process.cwd();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-target-'));
  process.chdir(folder);
});
afterEach(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true, force: true });
});

describe('a target', () => {
  it('may be the name of a problem that came with warpsmith, or of one of its kernels', () => {
    expect(findTarget('softmax')).toEqual({ kind: 'problem', folder: join(REPOSITORY, 'problems/softmax') });
    expect(findTarget('softmax/03_online')).toEqual({
      kind: 'kernel',
      folder: join(REPOSITORY, 'problems/softmax/03_online'),
    });
  });

  it('is the folder, where one is called like that', async () => {
    mkdirSync('softmax');
    expect(() => findTarget('softmax')).toThrow(/softmax holds neither kernel.json nor problem.json/);
    writeFileSync('softmax/problem.json', '{}');
    expect(findTarget('softmax')).toEqual({ kind: 'problem', folder: 'softmax' });
  });

  it.each(['../problems/softmax', 'sofmax', 'softmax/../softmax', '/softmax', 'README.md'])(
    '%s is no name, and the error lists those there are',
    (text) =>
      expect(() => findTarget(text)).toThrow(
        expect.objectContaining({ details: expect.objectContaining({ hint: expect.stringContaining('softmax') }) }),
      ),
  );

  it('names a whole ladder, by the folder that a log can hold', async () => {
    const { folder: found, rungs } = await loadProblemTarget('histogram');
    expect(found).toBe(join(REPOSITORY, 'problems/histogram'));
    expect(rungs.length).toBeGreaterThan(1);
  });
});
