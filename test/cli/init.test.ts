import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repository, runCli, runJson, temporaryFolder } from './run-cli.ts';

const FIXTURES = join(repository, 'test/cuda-source/fixtures');
const SGEMM = join(FIXTURES, 'sgemm-naive.cu');

describe('init of a tutorial file', () => {
  it('takes three commands to the first verified evaluation', async () => {
    const folder = join(temporaryFolder(), 'sgemm');
    const { code, json } = await runJson(['init', SGEMM, '--output', folder]);
    expect([code, json.kind, json.folder]).toEqual([0, 'init', folder]);
    expect(await runCli(['check', folder])).toMatchObject({ code: 0 });
    const small = ['--workload', 'M=64,N=48,K=40', '--device', 'virtual:l4', '--no-journal'];
    const judged = await runJson(['evaluate', folder, '--trust', ...small]);
    expect(judged.json.status, judged.json.reason).toBe('passed');

    const kernel = readFileSync(join(folder, '01_sgemm_naive/kernel.cu'), 'utf8');
    expect(kernel).toContain('__global__ void sgemm_naive');
    expect(kernel).not.toMatch(/main|cudaMalloc|sgemm_cpu|CHECK_CUDA|fprintf/);
    expect(readFileSync(join(folder, 'reference.ts'), 'utf8')).toContain('DRAFT');
  }, 60_000);

  it('refuses a wrong kernel put in its place', async () => {
    const folder = join(temporaryFolder(), 'sgemm');
    await runCli(['init', SGEMM, '--output', folder]);
    const { writeFileSync } = await import('node:fs');
    const path = join(folder, '01_sgemm_naive/kernel.cu');
    writeFileSync(path, readFileSync(path, 'utf8').replace('k < K;', 'k < K - 1;'));
    const small = ['--workload', 'M=64,N=48,K=40', '--device', 'virtual:l4', '--no-journal'];
    const { code, json } = await runJson(['evaluate', folder, '--trust', ...small]);
    expect([code, json.status]).toEqual([1, 'wrong']);
  }, 60_000);

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
