import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { narrowFolder } from '../support/narrowed.ts';
import { longTests } from '../support/sampling/matrix.ts';
import { repository, runCli, runJson, temporaryFolder } from './run-cli.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const FIXTURES = join(repository, 'test/cuda-source/fixtures');
/** What `init` writes has the sizes of the file, which take seconds. */
const SMALL = { name: 'm64n32k32', dimensions: { M: 64, N: 32, K: 32 } };
const SGEMM = join(FIXTURES, 'sgemm-naive.cu');

describe('init of a tutorial file', () => {
  long('takes the three commands of the guide to the first verified evaluation', async () => {
    const cwd = temporaryFolder();
    cpSync(SGEMM, join(cwd, 'sgemm.cu'));
    const guide = readFileSync(join(repository, 'docs/guides/starting-from-a-file.md'), 'utf8');
    const commands = [...guide.matchAll(/^ {4}npx warpsmith (.*)$/gm)].map(([, line]) => line!.split(' '));
    expect(commands.map(([name]) => name)).toEqual(['init', 'check', 'evaluate']);
    for (const words of commands) {
      const { code, stderr } = await runCli(words, { cwd });
      expect(code, `${words.join(' ')}: ${stderr}`).toBe(0);
      if (words[0] === 'init') narrowFolder(join(cwd, 'sgemm'), ['M * N * K <= 70000'], SMALL);
    }
    const kernel = readFileSync(join(cwd, 'sgemm/01_sgemm_naive/kernel.cu'), 'utf8');
    expect(kernel).toContain('__global__ void sgemm_naive');
    expect(kernel).not.toMatch(/main|cudaMalloc|sgemm_cpu|CHECK_CUDA|fprintf/);
    expect(readFileSync(join(cwd, 'sgemm/reference.ts'), 'utf8')).toContain('DRAFT');
  });

  long('ends with a stub’s own words where nothing says what is right', async () => {
    const folder = join(temporaryFolder(), 'vectors');
    await runCli(['init', join(FIXTURES, 'vector-add.cu'), '--output', folder]);
    const { code, json } = await runJson(['evaluate', folder, '--trust', '--device', 'virtual:l4', '--no-journal']);
    expect([code, json.error.code]).toEqual([2, 'reference-failed']);
    expect(json.error.message).toContain('this reference is a stub');
  });

  it('refuses a wrong kernel put in its place', async () => {
    const folder = join(temporaryFolder(), 'sgemm');
    await runCli(['init', SGEMM, '--output', folder]);
    const path = join(folder, '01_sgemm_naive/kernel.cu');
    writeFileSync(path, readFileSync(path, 'utf8').replace('k < K;', 'k < K - 1;'));
    const small = ['--workload', 'M=64,N=48,K=40', '--device', 'virtual:l4', '--no-journal'];
    const { code, json } = await runJson(['evaluate', folder, '--trust', ...small]);
    expect([code, json.status]).toEqual([1, 'wrong']);
  });

  it('writes nothing where other files lie', async () => {
    const { code, json } = await runJson(['init', SGEMM, '--output', FIXTURES]);
    expect([code, json.error.code]).toEqual([2, 'folder-not-empty']);
    expect(existsSync(join(FIXTURES, 'problem.json'))).toBe(false);
  });

  it('says which options belong to a .cu file', async () => {
    const { code, json } = await runJson(['init', 'softmax', '--agent', temporaryFolder(), '--grid', '4']);
    expect([code, json.error.code, json.error.path]).toEqual([2, 'conflicting-options', '--grid']);
  });
});
