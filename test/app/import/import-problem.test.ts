import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { audit } from '../../../src/app/audit.ts';
import { checkTarget } from '../../../src/app/check.ts';
import { evaluateKernel } from '../../../src/app/evaluate.ts';
import { importProblem } from '../../../src/app/import/import-problem.ts';
import type { WarpsmithError } from '../../../src/core/errors.ts';
import { findExecutable } from '../../../src/process/find-executable.ts';
import { hasPythonModule, NO_NUMPY } from '../../support/python.ts';

const FIXTURES = join(import.meta.dirname, 'fixtures');
const GATHER = join(FIXTURES, 'gather.json');
const hasNumpy = await hasPythonModule('numpy');
const out = mkdtempSync(join(tmpdir(), 'warpsmith-import-'));
afterAll(() => rmSync(out, { recursive: true, force: true }));
let count = 0;
const fresh = (): string => join(out, `problem${count++}`);

/** The definition with other fields, as a file. */
function changed(change: object): string {
  const path = join(out, `changed${count++}.json`);
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(GATHER, 'utf8')), ...change }));
  return path;
}

const failureOf = async (target: string, values = {}, workloads?: string) => {
  const request = { target, values, output: fresh(), trust: true, ...(workloads && { workloads }) };
  const error = await importProblem(request).catch((thrown: unknown) => thrown);
  return (error as WarpsmithError).details;
};

describe.skipIf(findExecutable('python3') === undefined)('a definition of FlashInfer Trace', () => {
  it('in plain Python becomes a problem; the original rule lets wrong kernels through', async () => {
    const request = { target: GATHER, values: { rows: 10, count: 20 }, output: fresh(), trust: true };
    const { folder, letThrough, notes } = await importProblem(request);
    const accepted = ['gain', 'operands-of-11-bits', 'operands-of-13-bits'];
    expect(letThrough).toMatchObject({ originally: [{ letThrough: accepted }], now: [] });
    expect(notes.join(' ')).toContain('Integers of index are drawn from 0 and 1, a guess');
    const { kernels } = await checkTarget({ target: folder });
    expect(kernels[0]!.plans.map(({ workload }) => workload.name)).toEqual(['rows10-count20']);
    const evaluate = () =>
      evaluateKernel({ target: folder, device: 'virtual:l4', checks: 'usual', seed: 1, trust: true, journal: false });
    expect((await evaluate()).status).toBe('wrong');
    const path = join(folder, '01_start/kernel.cu');
    const body =
      '{ for (int i = threadIdx.x; i < count * width; i += blockDim.x) picked[i] = table[index[i / width] * width + i % width]; }';
    // Row 1 of a table with one row is the last one.
    const clamped = body.replace('index[i / width]', 'min(index[i / width], rows - 1)');
    writeFileSync(path, readFileSync(path, 'utf8').replace(/\{\}\s*$/, clamped));
    expect((await evaluate()).status).toBe('passed');
  });

  it('in NumPy computes in float64, whatever types it names', async (context) => {
    if (!hasNumpy) context.skip(NO_NUMPY);
    const workloads = join(FIXTURES, 'rmsnorm.jsonl');
    const request = { target: join(FIXTURES, 'rmsnorm.json'), workloads, output: fresh(), trust: true };
    const { folder, letThrough } = await importProblem(request);
    expect(letThrough!.now).toEqual([]);
    expect((await audit({ target: folder, trust: true })).falseAlarms).toEqual([]);
    const problem = JSON.parse(readFileSync(join(folder, 'problem.json'), 'utf8'));
    expect(problem.workloads.map(({ name }: { name: string }) => name)).toEqual(['tokens7', 'tokens64']);
    expect(problem.scalars.eps.value).toBe(1e-6);
  });

  it.each([
    ['no JSON', join(FIXTURES, 'rmsnorm.jsonl'), {}, 'invalid-json'],
    ['no definition', changed({ axes: 3 }), {}, 'not-a-definition'],
    [
      'a type that kernels have no name for',
      changed({ outputs: { y: { shape: ['count'], dtype: 'float8_e4m3fn' } } }),
      { rows: 3, count: 4 },
      'unsupported-type',
    ],
    ['an axis of unknown length', GATHER, { rows: 3 }, 'missing-value'],
    ['a scalar of unknown value', join(FIXTURES, 'rmsnorm.json'), { tokens: 3 }, 'missing-value'],
  ])('with %s is refused', async (_, target, values, code) => {
    expect(await failureOf(target, values)).toMatchObject({ code, hint: expect.any(String) });
  });

  it('with inputs from files is refused by their name', async () => {
    const workloads = join(out, 'stored.jsonl');
    const inputs = { index: { type: 'safetensors', path: 'a.safetensors' } };
    writeFileSync(workloads, JSON.stringify({ workload: { axes: { rows: 2, count: 3 }, inputs } }));
    expect(await failureOf(GATHER, {}, workloads)).toMatchObject({ code: 'unsupported-input', path: 'index' });
  });
});
