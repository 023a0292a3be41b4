import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { audit } from '../../../src/app/audit.ts';
import { evaluateKernel } from '../../../src/app/evaluate.ts';
import { initProblem } from '../../../src/app/init/init-problem.ts';
import { hashProblemFiles } from '../../../src/app/loading/hash-problem-files.ts';
import type { WarpsmithError } from '../../../src/core/errors.ts';
import type { Dimensions, ProblemFile } from '../../../src/core/problem.ts';
import { findExecutable } from '../../../src/process/find-executable.ts';
import { narrowed } from '../../support/narrowed.ts';

const FIXTURES = join(import.meta.dirname, '../../cuda-source/fixtures');
const out = mkdtempSync(join(tmpdir(), 'warpsmith-references-'));
afterAll(() => rmSync(out, { recursive: true, force: true }));
let count = 0;

const init = (name: string, reference: string) =>
  initProblem(
    join(FIXTURES, `${name}.cu`),
    { kernels: [], values: {}, buffers: [], reference },
    join(out, `${count++}`),
  );

/** Leaves a problem small shapes only, since none of these tests is about shapes; `dimensions` are its only workload. */
function narrow(folder: string, dimensions: Dimensions, ...limits: string[]): void {
  const path = join(folder, 'problem.json');
  const file = narrowed(JSON.parse(readFileSync(path, 'utf8')) as ProblemFile, limits);
  const checkShapes = file.checkShapes.length > 0 ? file.checkShapes : [{ dimensions }];
  writeFileSync(path, JSON.stringify({ ...file, checkShapes, workloads: [{ name: 'small', dimensions }] }));
}

const evaluate = (target: string, workload: string) =>
  evaluateKernel({ target, workload, device: 'virtual:l4', checks: 'usual', seed: 1, trust: true, journal: false });

/** A Python file with these lines. */
function python(text: string, name = 'ref.py'): string {
  const path = join(mkdtempSync(join(out, 'python-')), name);
  writeFileSync(path, text);
  return path;
}

const SOFTMAX = `
import math

def _helper(): pass

def rows(inp):
    return [row for table in inp.tolist() for row in table]

def softmax(inp, V, scale=1.0):
    results = []
    for row in rows(inp):
        largest = max(row)
        weights = [math.exp(x - largest) for x in row]
        total = math.fsum(weights)
        results.append([scale * weight / total for weight in weights])
    assert len(results[0]) == V
    return [number for row in results for number in row]
`;

import { longTests } from '../../support/sampling/matrix.ts';

const long = longTests(import.meta.filename, { oneIn: 4 });

describe.skipIf(findExecutable('python3') === undefined)('init with a reference in Python', () => {
  long('calls the function with what its parameters are named after', async () => {
    const path = python(SOFTMAX);
    const { folder, files, notes } = await init('softmax', `python:${path}:softmax`);
    expect(files).toContain('ref.py');
    expect(files).not.toContain('reference.ts');
    expect(notes[0]).toContain('reference.py is a draft that calls softmax of ref.py');
    const draft = readFileSync(join(folder, 'reference.py'), 'utf8');
    expect(draft).toContain('softmax(inp=inputs["inp"], V=dimensions["V"])');
    narrow(folder, { B: 2, T: 3, V: 70 }, 'B * T <= 32', 'V <= 512');
    const { status, coverage } = await evaluate(folder, 'small');
    expect([status, coverage!.reference]).toEqual(['passed', undefined]);
  });

  it('takes a reference as it is', async () => {
    const text = 'def reference(inputs, dimensions):\n    return {"out": inputs["inp"]}\n';
    const { folder, files } = await init('softmax', `python:${python(text)}`);
    expect(files).not.toContain('ref.py');
    expect(readFileSync(join(folder, 'reference.py'), 'utf8')).toBe(text);
    expect((await evaluate(folder, 'B=2,T=3,V=70')).status).toBe('wrong');
  });

  it.each([
    ['no such function', `${SOFTMAX}`, ':sofmax', 'no-such-function'],
    ['one function of several', `${SOFTMAX}`, '', 'no-such-function'],
    ['what a parameter gets', 'def softmax(inp, temperature): pass', '', 'python-argument'],
    ['a word it knows', 'x', ':a-b', 'bad-option-value'],
    ['Python', 'def softmax(', '', 'reference-failed'],
  ])('names %s', async (_, text, wanted, code) => {
    const error = await init('softmax', `python:${python(text)}${wanted}`).catch((thrown: unknown) => thrown);
    expect((error as WarpsmithError).details).toMatchObject({ code, hint: expect.any(String) });
  });
});

describe('init with the original kernel as reference', () => {
  long('passes another kernel that computes the same, and says what that proves', async () => {
    const { folder, notes } = await init('several-gemms', 'original');
    expect(notes[0]).toContain('A verdict says "the same as the original", not "right"');
    narrow(folder, { n: 70 }, 'n <= 128');
    const { status, coverage } = await evaluate(join(folder, '02_gemm_shared'), 'small');
    expect([status, coverage!.reference]).toEqual(['passed', 'original']);
    const report = await audit({ target: folder, trust: true });
    expect([report.ok, report.reference]).toEqual([true, 'original']);
    expect(report.mutants.find(({ id }) => id === 'low-precision')!.verdict).toBe('not-applicable');
  });

  long('refuses one that computes something else, while the original stays', async () => {
    const { folder } = await init('rmsnorm', 'original');
    const path = join(folder, '01_rmsnorm_kernel/kernel.cu');
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace(/rsqrtf\(/, '1.01f * rsqrtf('));
    expect(readFileSync(path, 'utf8')).not.toBe(text);
    expect(readFileSync(join(folder, 'original/kernel.cu'), 'utf8')).toBe(text);
    expect(Object.keys(hashProblemFiles(folder))).toContain('original/kernel.cu');
    expect((await evaluate(folder, 'tokens=3,dim=100')).status).toBe('wrong');
  });

  long('blames the original where it fails', async () => {
    const { folder } = await init('softmax', 'original');
    writeFileSync(join(folder, 'original/kernel.cu'), '__global__ void softmax_forward_kernel() { nothing(); }');
    const error = await evaluate(folder, 'B=2,T=3,V=70').catch((thrown: unknown) => thrown);
    expect((error as WarpsmithError).details).toMatchObject({ code: 'original-failed' });
  });
});
