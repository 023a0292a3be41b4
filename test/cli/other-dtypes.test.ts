import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect } from 'vitest';
import { narrowCopy } from '../support/narrowed.ts';
import { longTests } from '../support/sampling/matrix.ts';
import { runCli, runJson } from './run-cli.ts';

const long = longTests(import.meta.filename, { oneIn: 3 });

const place = mkdtempSync(join(tmpdir(), 'warpsmith-dtypes-'));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const GEMM = fileURLToPath(new URL('../../problems/gemm', import.meta.url));
/** Few shapes, because all are judged in each dtype. */
const problem = narrowCopy(GEMM, place, ['M <= 2', 'N <= 2', 'K <= 17'], {
  name: 'small',
  dimensions: { M: 2, N: 2, K: 17 },
});
const kernel = join(problem, '01_naive');
const EVALUATE = ['evaluate', kernel, '--device', 'virtual:l4', '--seed', '3', '--checks', 'thorough'];

long('who names no dtype gets a verdict on all that the kernel takes', async () => {
  const { code, stdout } = await runCli(EVALUATE);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('passed in other dtypes: f16 passed, bf16 passed');
  expect(code).toBe(0);
});

long('a setting that another dtype does not take says nothing against the kernel', async () => {
  const file = join(kernel, 'kernel.json');
  const declared = readFileSync(file, 'utf8');
  const { parameters, ...others } = JSON.parse(declared);
  const bytes = { values: ['16 / dtype.bytes'], default: '16 / dtype.bytes' };
  writeFileSync(file, JSON.stringify({ ...others, parameters: { ...parameters, ELEMENTS: bytes } }));
  const { code, json } = await runJson([...EVALUATE, '--set', 'ELEMENTS=4']);
  writeFileSync(file, declared);
  expect([code, json.status]).toEqual([0, 'passed']);
  expect(json.otherDtypes).toEqual([
    expect.objectContaining({ dtype: 'f16', status: 'invalid' }),
    expect.objectContaining({ dtype: 'bf16', status: 'invalid' }),
  ]);
});

long('a kernel that is wrong in one dtype is wrong, and is judged in a dtype that is named alone', async () => {
  const source = join(kernel, 'kernel.cu');
  const store = '*address = __float2half(value)';
  writeFileSync(source, readFileSync(source, 'utf8').replace(store, '*address = __float2half(1.01f * value)'));
  const { code, json } = await runJson(EVALUATE);
  expect([code, json.status]).toEqual([1, 'wrong']);
  expect(json.reason).toMatch(/^in f16: C\[/);
  expect(json.otherDtypes).toEqual([
    expect.objectContaining({ dtype: 'f16', status: 'wrong' }),
    { dtype: 'bf16', status: 'passed' },
  ]);
  for (const dtype of ['f32', 'bf16']) {
    const alone = await runJson([...EVALUATE, '--dtype', dtype]);
    expect([alone.code, alone.json.status, alone.json.otherDtypes]).toEqual([0, 'passed', undefined]);
  }
});
