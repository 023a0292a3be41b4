import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { audit } from '../../../src/app/audit.ts';
import { checkTarget } from '../../../src/app/check.ts';
import { evaluateKernel } from '../../../src/app/evaluate.ts';
import { hashProblemFiles } from '../../../src/app/loading/hash-problem-files.ts';
import { findExecutable } from '../../../src/process/find-executable.ts';
import { longTestOf } from '../../support/sampling/long-tests.ts';

const PLAIN = `
def reference(inputs, dimensions, round):
    sums = []
    for row in inputs["x"].tolist():
        total = 0.0
        for value in row:
            total = round(total + value)
        sums.append(total)
    return {"y": sums}
`;
const ROUNDS_NOTHING = `
import math
def reference(inputs, dimensions):
    return {"y": [math.fsum(row) for row in inputs["x"].tolist()]}
`;

describe.skipIf(findExecutable('python3') === undefined)('a problem with a reference in Python', () => {
  let problem: string;
  beforeEach(async () => {
    vi.stubEnv('WARPSMITH_TRUST', '');
    problem = join(await mkdtemp(join(tmpdir(), 'warpsmith-in-python-')), 'row-sum');
    vi.stubEnv('XDG_CONFIG_HOME', join(dirname(problem), 'config'));
    await cp('examples/row-sum', problem, { recursive: true });
    await rm(join(problem, 'reference.ts'));
    await writeFile(join(problem, 'reference.py'), PLAIN);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(dirname(problem), { recursive: true, force: true });
  });

  const evaluate = (trust: boolean) =>
    evaluateKernel({
      ...{ target: join(problem, '02_warp_per_row'), device: 'virtual:l4', checks: 'usual', seed: 1, trust },
      ...{ workload: 'rows=21,columns=40', journal: false },
    });

  longTestOf(import.meta.filename)(
    'is asked about like any other, judges kernels, and audits like the same in TypeScript',
    async () => {
      await expect(evaluate(false)).rejects.toMatchObject({
        details: { code: 'problem-not-trusted', received: expect.stringContaining('reference.py') },
      });
      expect((await evaluate(true)).status).toBe('passed');
      const inPython = await audit({ target: problem, trust: true });
      const inTypeScript = await audit({ target: 'examples/row-sum', trust: true });
      expect(inPython).toEqual(inTypeScript);
      expect(inPython.ok).toBe(true);
      expect(Object.keys(hashProblemFiles(problem))).toEqual(['problem.json', 'reference.py']);
    },
  );

  it('that rounds nothing leaves out the wrong kernel that rounds everything', async () => {
    await writeFile(join(problem, 'reference.py'), ROUNDS_NOTHING);
    const { mutants, ok } = await audit({ target: problem, trust: true });
    expect(mutants.find(({ id }) => id === 'low-precision')!.verdict).toBe('not-applicable');
    expect(ok).toBe(true);
  });

  it('and one in TypeScript has to say which decides', async () => {
    await cp('examples/row-sum/reference.ts', join(problem, 'reference.ts'));
    await expect(checkTarget({ target: problem })).rejects.toMatchObject({
      details: { code: 'two-references', received: 'reference.ts and reference.py' },
    });
    const file = join(problem, 'problem.json');
    const written = JSON.parse(await readFile(file, 'utf8')) as object;
    await writeFile(file, JSON.stringify({ ...written, referenceFile: 'reference.py' }));
    expect((await checkTarget({ target: problem })).kernels.length).toBe(2);
  });
});
