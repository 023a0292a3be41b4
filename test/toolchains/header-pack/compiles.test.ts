import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { findExecutable } from '../../../src/process/find-executable.ts';
import { runProcess } from '../../../src/process/run-process.ts';
import { withTemporaryFolder } from '../../../src/process/temporary-folder.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import type { Toolchain } from '../../../src/toolchains/toolchain.ts';
import { compiles } from '../support.ts';
import { compileCorpusFile, KERNEL_FOLDER, kernelNames, readKernel } from './kernel-runner.ts';

const FILES = readdirSync(KERNEL_FOLDER).filter((name) => name.endsWith('.cu'));
const nvcc = findExecutable('nvcc');
const ptxas = findExecutable('ptxas');

let toolchain: Toolchain;
beforeAll(async () => {
  toolchain = await createClangToolchain();
});

const run = (command: string, args: string[], cwd: string) =>
  runProcess({
    command,
    args,
    cwd,
    timeoutMs: 120_000,
    maximumOutputBytes: 1 << 20,
    env: { PATH: process.env.PATH ?? '', TMPDIR: cwd },
  });

describe('the corpus of ordinary kernels', () => {
  it('has at least one kernel in every file', () => {
    expect(FILES.length).toBeGreaterThanOrEqual(17);
    for (const file of FILES) expect(kernelNames(readKernel(file)), file).not.toEqual([]);
  });

  it.each(FILES)('%s compiles unchanged, without warnings', async (file) => {
    const code = await compileCorpusFile(toolchain, file, 'sm_89');
    expect(code.diagnostics).toEqual([]);
    for (const name of kernelNames(readKernel(file))) expect(code.text).toContain(`.entry ${name}(`);
    // Nothing is left for a linker: every function called is there.
    expect(code.text).not.toMatch(/^\.extern \.func/m);
  });

  it.each(['sm_80', 'sm_90a'])('compiles for %s', async (architecture) => {
    const files = [
      'half.cu',
      'bfloat16.cu',
      'wmma.cu',
      'atomics.cu',
      'warp_functions.cu',
      'groups.cu',
      'pipeline.cu',
      'attention.cu',
    ];
    for (const file of files) await compileCorpusFile(toolchain, file, architecture);
  });

  it('compiles with fast math and as C++20', async () => {
    for (const file of ['half.cu', 'bfloat16.cu', 'attention.cu', 'fast_math.cu', 'library.cu']) {
      await compileCorpusFile(toolchain, file, 'sm_89', ['--use_fast_math']);
      await compileCorpusFile(toolchain, file, 'sm_89', ['-std=c++20']);
    }
  });

  it('survives macros with ordinary names: parameters are macros', async () => {
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
    const names = [
      ...letters,
      'BLOCK',
      'BLOCK_M',
      'THREADS',
      'WARPS',
      'STAGES',
      'TILE',
      'WIDTH',
      'SIZE',
      'VECTOR',
      'UNROLL',
      'ROWS',
    ];
    const parameters = Object.fromEntries(names.map((name, index) => [name, index]));
    const headers = [
      'cuda_fp16.h',
      'cuda_bf16.h',
      'mma.h',
      'cooperative_groups.h',
      'cuda_pipeline.h',
      'algorithm',
      'array',
      'functional',
      'limits',
      'cmath',
    ];
    const source = `${headers.map((name) => `#include <${name}>\n`).join('')}extern "C" __global__ void run(half* o) { o[0] = half(BLOCK_M); }`;
    await compiles(toolchain, { source, parameters });
  });

  it.skipIf(nvcc === undefined)('is CUDA as nvcc understands it (skipped without nvcc)', () =>
    withTemporaryFolder(async (folder) => {
      for (const file of FILES) {
        const args = ['-std=c++17', '-arch=sm_89', '-ptx', '-o', join(folder, 'out.ptx'), join(KERNEL_FOLDER, file)];
        const outcome = await run(nvcc!, args, folder);
        expect(outcome, `${file}: ${outcome.stderr}`).toMatchObject({ end: 'exited', exitCode: 0 });
      }
    }),
  );

  it.skipIf(ptxas === undefined)('gives PTX that the assembler takes (skipped without ptxas)', () =>
    withTemporaryFolder(async (folder) => {
      mkdirSync(join(folder, 'ptx'));
      for (const file of FILES) {
        const path = join(folder, 'ptx', `${file}.ptx`);
        writeFileSync(path, (await compileCorpusFile(toolchain, file, 'sm_89')).text);
        const outcome = await run(ptxas!, ['-arch=sm_89', '-O1', '-o', join(folder, 'out.cubin'), path], folder);
        expect(outcome, `${file}: ${outcome.stderr}`).toMatchObject({ end: 'exited', exitCode: 0 });
      }
    }),
  );
});
