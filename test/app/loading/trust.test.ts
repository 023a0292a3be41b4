import { cp, mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { loadProblem } from '../../../src/app/loading/load-problem.ts';
import { type AskTrust, ensureTrusted, requireTrusted, type TrustQuestion } from '../../../src/app/loading/trust.ts';
import { WarpsmithError } from '../../../src/core/errors.ts';

const EXAMPLE = new URL('../../../examples/row-sum', import.meta.url).pathname;

let root: string;
let count = 0;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'warpsmith-trust-')));
  vi.stubEnv('XDG_CONFIG_HOME', join(root, 'config'));
  vi.stubEnv('WARPSMITH_TRUST', '');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await rm(root, { recursive: true, force: true });
});

/** A problem outside any repository, unlike every other one, so that nobody has agreed to it. */
const foreignProblem = async (folder = join(root, 'problem')) => {
  await mkdir(folder, { recursive: true });
  await cp(EXAMPLE, folder, { recursive: true });
  await writeFile(join(folder, 'note.ts'), `// ${count++} ${root}`);
  return loadProblem(folder);
};

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof WarpsmithError ? error.details.code : `${error}`),
  );

const run = {
  inputs: { x: Float64Array.of(1, 2, 3, 4) },
  dimensions: { rows: 2, columns: 2 },
  rounding: 'exact' as const,
};

describe('a problem from outside', () => {
  it('runs nothing before somebody has agreed, and says how to', async () => {
    const problem = await foreignProblem();
    expect(await codeOf(problem.reference(run))).toBe('problem-not-trusted');
    const refusal = ensureTrusted(problem, { namedBy: 'user' });
    await expect(refusal).rejects.toMatchObject({
      exitCode: 2,
      details: {
        code: 'problem-not-trusted',
        file: problem.folder,
        received: expect.stringMatching(/^note\.ts, reference\.ts \([0-9a-f]{16}\)$/),
        hint: expect.stringMatching(/--trust, or set WARPSMITH_TRUST=[0-9a-f]{16}\.$/),
      },
    });
    expect(await codeOf(problem.reference(run))).toBe('problem-not-trusted');
  });

  it('is asked about once, and again when a file has changed', async () => {
    const problem = await foreignProblem();
    const questions: TrustQuestion[] = [];
    const ask: AskTrust = async (question) => questions.push(question) > 0;
    await ensureTrusted(problem, { namedBy: 'user', ask });
    await ensureTrusted(problem, { namedBy: 'log', ask });
    expect(questions).toMatchObject([{ problem: 'row-sum', files: ['note.ts', 'reference.ts'], namedBy: 'user' }]);
    expect([...(await problem.reference(run)).y!]).toEqual([3, 7]);
    expect(await readdir(join(root, 'config/warpsmith/trusted'))).toEqual([questions[0]!.hash]);

    await writeFile(join(problem.folder, 'note.ts'), '// changed');
    await ensureTrusted(problem, { namedBy: 'user', ask });
    await writeFile(join(problem.folder, 'baseline.py'), 'import os');
    await ensureTrusted(problem, { namedBy: 'user', ask });
    expect(questions.map(({ files }) => files.length)).toEqual([2, 2, 3]);
  });

  it('is known wherever the same files lie', async () => {
    const problem = await foreignProblem();
    await ensureTrusted(problem, { namedBy: 'user', ask: async () => true });
    const copy = join(root, 'copy');
    await cp(problem.folder, copy, { recursive: true });
    expect(() => requireTrusted('row-sum', copy)).not.toThrow();
  });

  it('stays out when the answer is no', async () => {
    const problem = await foreignProblem();
    expect(await codeOf(ensureTrusted(problem, { namedBy: 'user', ask: async () => false }))).toBe(
      'problem-not-trusted',
    );
    expect(await readdir(root)).not.toContain('config');
  });

  it('is agreed to by hash or by all in the environment', async () => {
    const problem = await foreignProblem();
    let hash = '';
    const ask: AskTrust = async (question) => {
      ({ hash } = question);
      return false;
    };
    await codeOf(ensureTrusted(problem, { namedBy: 'user', ask }));
    for (const [value, code] of [
      [hash.slice(0, 4), 'problem-not-trusted'],
      [`feed, ${hash.slice(0, 16)}`, 'done'],
      ['all', 'done'],
    ] as const) {
      vi.stubEnv('WARPSMITH_TRUST', value);
      expect(await codeOf(ensureTrusted(problem, { namedBy: 'log' })), value).toBe(code);
    }
  });
});

describe('without a question', () => {
  it('run the problems that came with warpsmith', async () => {
    await ensureTrusted(await loadProblem(EXAMPLE), { namedBy: 'log' });
  });

  it('runs a problem of the repository where the user names it, not where a log does', async () => {
    const repository = join(root, 'repository');
    await mkdir(join(repository, '.git'), { recursive: true });
    await mkdir(join(repository, 'deep/down'), { recursive: true });
    vi.spyOn(process, 'cwd').mockReturnValue(join(repository, 'deep/down'));
    const problem = await foreignProblem(join(repository, 'problem'));
    expect(await codeOf(ensureTrusted(problem, { namedBy: 'log' }))).toBe('problem-not-trusted');
    await ensureTrusted(problem, { namedBy: 'user' });
    // What the user ran, a log may name.
    await ensureTrusted(problem, { namedBy: 'log' });
    const outside = await foreignProblem();
    expect(await codeOf(ensureTrusted(outside, { namedBy: 'user' }))).toBe('problem-not-trusted');
    // A link in the repository to something outside is something outside.
    await symlink(outside.folder, join(repository, 'link'));
    const linked = await loadProblem(join(repository, 'link'));
    expect(await codeOf(ensureTrusted(linked, { namedBy: 'user' }))).toBe('problem-not-trusted');
  });
});

it('a reference that is a link out of the folder is refused: what lies beside it was not asked about', async () => {
  const problem = await foreignProblem();
  const folder = join(root, 'other');
  await mkdir(folder);
  await cp(join(problem.folder, 'problem.json'), join(folder, 'problem.json'));
  await symlink(join(problem.folder, 'reference.ts'), join(folder, 'reference.ts'));
  expect(await codeOf(loadProblem(folder))).toBe('file-outside-problem');
});
