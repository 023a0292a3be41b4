import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { findExecutable } from '../../../src/process/find-executable.ts';
import { runProcess } from '../../../src/process/run-process.ts';
import { withTemporaryFolder } from '../../../src/process/temporary-folder.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import type { Toolchain } from '../../../src/toolchains/toolchain.ts';
import { sampled } from '../../support/sampling/matrix.ts';
import { compiles } from '../support.ts';
import { compileCorpusFile, KERNEL_FOLDER, kernelNames, readKernel } from './kernel-runner.ts';

const FILES = readdirSync(KERNEL_FOLDER).filter((name) => name.endsWith('.cu'));
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

  sampled('ordinary kernels by clang', FILES, { oneIn: 16 })(
    '%s compiles unchanged, without warnings',
    async (file) => {
      const code = await compileCorpusFile(toolchain, file, 'sm_89');
      expect(code.diagnostics).toEqual([]);
      for (const name of kernelNames(readKernel(file))) expect(code.text).toContain(`.entry ${name}(`);
      // Nothing is left for a linker: every function called is there, or a driver has it.
      const external = [...code.text.matchAll(/^\.extern \.func .*?([\w$]+)\s*$/gm)].map(([, name]) => name);
      expect(external.filter((name) => name !== '__assertfail' && name !== 'vprintf')).toEqual([]);
    },
  );

  const elsewhere = [
    'half',
    'bfloat16',
    'wmma',
    'atomics',
    'warp_functions',
    'groups',
    'pipeline',
    'attention',
  ].flatMap((name) => ['sm_80', 'sm_90a'].map((architecture) => [`${name}.cu`, architecture] as const));
  sampled('ordinary kernels for other GPUs', elsewhere, { oneIn: 16, kindOf: ([, architecture]) => architecture })(
    '%s compiles for %s',
    async (file, architecture) => void (await compileCorpusFile(toolchain, file, architecture)),
  );

  const otherwise = ['half', 'bfloat16', 'attention', 'fast_math', 'library'].flatMap((name) =>
    ['--use_fast_math', '-std=c++20'].map((flag) => [`${name}.cu`, flag] as const),
  );
  sampled('ordinary kernels with flags', otherwise, { oneIn: 16, kindOf: ([, flag]) => flag })(
    '%s compiles with %s',
    async (file, flag) => void (await compileCorpusFile(toolchain, file, 'sm_89', [flag])),
  );

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

  sampled('ordinary kernels by ptxas', FILES, { oneIn: 16 })(
    '%s gives PTX that the assembler takes (skipped without ptxas)',
    { skip: ptxas === undefined },
    (file) =>
      withTemporaryFolder(async (folder) => {
        const path = join(folder, 'kernel.ptx');
        writeFileSync(path, (await compileCorpusFile(toolchain, file, 'sm_89')).text);
        const outcome = await run(ptxas!, ['-arch=sm_89', '-O1', '-o', join(folder, 'out.cubin'), path], folder);
        expect(outcome, `${file}: ${outcome.stderr}`).toMatchObject({ end: 'exited', exitCode: 0 });
      }),
  );
});
