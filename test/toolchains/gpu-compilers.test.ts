import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { CompiledCode } from '../../src/core/compiled-code.ts';
import { withTemporaryFolder } from '../../src/process/temporary-folder.ts';
import { createToolchain, type ToolchainKind } from '../../src/toolchains/create-toolchain.ts';
import { readCubin } from '../../src/toolchains/cubin.ts';
import { findCudaTool } from '../../src/toolchains/cuda-toolkit.ts';
import { disassemble } from '../../src/toolchains/disassemble.ts';
import { locateNvrtc } from '../../src/toolchains/nvrtc/locate-nvrtc.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';
import { sampled } from '../support/sampling/matrix.ts';
import { KERNEL_FOLDER, kernelNames, readKernel } from './header-pack/kernel-runner.ts';
import { candidateOf, compileFails, compiles, type KernelDescription } from './support.ts';

const KERNELS_OF_RULES = join(import.meta.dirname, '..', 'diagnosis', 'kernels');
const ATTENTION = join(import.meta.dirname, '..', '..', 'problems', 'attention');
// Each takes seconds: the plainest, one with mma.sync, one with wgmma.
const RUNGS = readdirSync(ATTENTION).filter((name) => /^(01|08|11)_/.test(name));
const CORPUS = readdirSync(KERNEL_FOLDER).filter((name) => name.endsWith('.cu'));

const AVAILABLE: Readonly<Record<'nvrtc' | 'nvcc', boolean>> = {
  nvrtc: await locateNvrtc().then(
    () => true,
    () => false,
  ),
  nvcc: findCudaTool('nvcc') !== undefined,
};

const cubinOf = (code: CompiledCode) => readCubin(Buffer.from(code.text, 'base64'));

describe.each(['nvrtc', 'nvcc'] as const)('%s', (kind: ToolchainKind & ('nvrtc' | 'nvcc')) => {
  describe.skipIf(!AVAILABLE[kind])(`compiles to machine code (skipped without ${kind})`, () => {
    let toolchain: Toolchain;
    /** The plainest kernel, compiled once. */
    const PLAIN = { source: 'extern "C" __global__ void run(float* o) { o[0] = 1.0f; }' };
    let plain: CompiledCode;
    beforeAll(async () => {
      toolchain = await createToolchain({ target: 'cuda', kind, driverVersion: '580.1' });
      plain = await compiles(toolchain, PLAIN, 'sm_90a');
    });
    afterAll(async () => toolchain.close?.());

    const fails = (description: KernelDescription) => compileFails(toolchain, description, 'sm_90a');

    it('gives another process its code through a folder that they share', () =>
      withTemporaryFolder(async (codeFolder) => {
        const outcomes = [];
        for (const _ of ['one', 'another']) {
          const own = await createToolchain({ target: 'cuda', kind, driverVersion: '580.1', codeFolder });
          outcomes.push(await own.compile({ candidate: candidateOf(PLAIN), architecture: 'sm_90a' }));
          await own.close?.();
        }
        expect(outcomes).toMatchObject([
          { ok: true, cached: false },
          { ok: true, cached: true },
        ]);
        expect(outcomes.map((outcome) => outcome.ok && outcome.code)).toEqual([plain, plain]);
      }));

    sampled(`attention by ${kind}`, RUNGS, { oneIn: 16 })(
      'attention rung %s, with the symbols of its template instantiations',
      async (rung) => {
        const { kernel } = await loadKernel(join(ATTENTION, rung));
        const parameters = Object.fromEntries(
          Object.entries(kernel.file.parameters ?? {}).map(([name, declaration]) => [name, declaration.default]),
        );
        const outcome = await toolchain.compile({
          candidate: makeCandidate(kernel, parameters),
          architecture: 'sm_90a',
        });
        if (!outcome.ok) throw new Error(outcome.message);
        const cubin = cubinOf(outcome.code);
        expect(cubin?.computeCapability).toBe(90);
        const names = kernel.file.steps.flatMap((step) => ('function' in step ? [step.function] : []));
        expect(names.length).toBeGreaterThanOrEqual(2);
        for (const name of names) {
          const symbol = outcome.code.functionSymbols[name];
          expect(symbol).toContain(name.replace(/<(\d+)>/, 'ILi$1E'));
          expect(cubin?.functions).toContain(symbol);
          expect(outcome.code.ptx).toContain(`.entry ${symbol}(`);
        }
        expect(cubin?.functions).toHaveLength(names.length);
        expect(outcome.code.ptx).not.toContain('__warpsmith');
        expect(outcome.code.ptx).toMatch(/^\s*\.file\s+1 "kernel\.cu"/m);
      },
    );

    sampled(`ordinary kernels by ${kind}`, CORPUS, { oneIn: CORPUS.length })(
      'ordinary kernels, unchanged: %s',
      async (file) => {
        const functions = kernelNames(readKernel(file));
        const code = await compiles(toolchain, { source: readKernel(file), functions }, 'sm_90a');
        expect(cubinOf(code)?.functions).toEqual(expect.arrayContaining(functions));
      },
    );

    /** What it must do: each takes a compile or several of about a second. */
    const COMPILES: Readonly<Record<string, () => Promise<void>>> = {
      'names of templates, namespaces, overloaded back-references and static kernels': async () => {
        const source = `namespace ns { struct A {}; struct B {};
        template <typename X, typename Y, typename Z> __global__ void three(X* x, Y* y, Z* z) {} }
        template <typename T> __global__ void one(const T* a, const T* b, T* o) { o[0] = a[0] + b[0]; }
        __global__ void plain(const float* a, float* o) { o[0] = a[0]; }`;
        const functions = ['ns::three<ns::A, ns::B, ns::A>', 'ns::three<ns::A, ns::B, ns::B>', 'one<float>', 'plain'];
        const code = await compiles(toolchain, { source, functions }, 'sm_90a');
        const symbols = functions.map((name) => code.functionSymbols[name]);
        expect(symbols).toEqual([
          '_ZN2ns5threeINS_1AENS_1BES1_EEvPT_PT0_PT1_',
          '_ZN2ns5threeINS_1AENS_1BES2_EEvPT_PT0_PT1_',
          '_Z3oneIfEvPKT_S2_PS0_',
          '_Z5plainPKfPf',
        ]);
        expect(cubinOf(code)?.functions.toSorted()).toEqual((symbols as string[]).toSorted());
      },
      'several files that include each other from folders': async () => {
        const source = {
          'kernel.cu': '#include "parts/tile.cuh"\nextern "C" __global__ void run(float* o) { o[0] = kTile; }',
          'parts/tile.cuh': '#include "size.cuh"\nconstexpr float kTile = 2.0f * kSize;',
          'parts/size.cuh': '#pragma once\nconstexpr float kSize = 4.0f;',
          'second.cu': 'extern "C" __global__ void other(float* o) { o[0] = 3.0f; }',
        };
        const includes = ['parts/tile.cuh', 'parts/size.cuh'];
        const code = await compiles(toolchain, { source, includes, functions: ['run', 'other'] }, 'sm_90a');
        expect(code.functionSymbols).toEqual({ run: 'run', other: 'other' });
      },
      'parameters, macros and flags': async () => {
        const source =
          'static_assert(BLOCK == 64 && WIDTH == 3, "");\nextern "C" __global__ void run(float* o) { o[0] = sinf(o[1]) / o[2]; }';
        const description = { source, parameters: { BLOCK: 64 } };
        const exact = await compiles(toolchain, { ...description, flags: ['-DWIDTH=3'] }, 'sm_90a');
        const fast = await compiles(toolchain, { ...description, flags: ['-DWIDTH=3', '--use_fast_math'] }, 'sm_90a');
        const part = await compiles(
          toolchain,
          { ...description, flags: ['-DWIDTH=3', '-use_fast_math', '-prec-div=true'] },
          'sm_90a',
        );
        expect(exact.ptx).toContain('div.rn.f32');
        expect(fast.ptx).toMatch(/sin\.approx\.ftz\.f32[\s\S]*div\.approx\.ftz\.f32/);
        expect(part.ptx).toMatch(/sin\.approx\.ftz\.f32[\s\S]*div\.rn\.ftz\.f32/);
        expect(new Set([exact.key, fast.key, part.key]).size).toBe(3);
      },
      'older language standards': async () => {
        const source = '#include <type_traits>\nextern "C" __global__ void run(float* o) { o[0] = 1.0f; }';
        await compiles(toolchain, { source, flags: ['-std=c++14'] }, 'sm_90a');
      },
      'the same bytes for the same inputs': async () => {
        const again = await createToolchain({ target: 'cuda', kind, driverVersion: '580.1' });
        const second = await compiles(again, PLAIN, 'sm_90a');
        await again.close?.();
        expect(second).toEqual(plain);
      },
      'another key for another driver': async () => {
        const other = await createToolchain({ target: 'cuda', kind, driverVersion: '590.2' });
        const { key } = await compiles(other, PLAIN, 'sm_90a');
        await other.close?.();
        expect(key).not.toBe(plain.key);
      },
      'what passes through as a cubin source, and no other file': async () => {
        const cubin = { kind: 'cubin', source: { 'kernel.cubin': plain.text } } as const;
        expect(await compiles(toolchain, cubin, 'sm_90a')).toMatchObject({ kind: 'cubin', text: plain.text });
        expect(await fails({ ...cubin, functions: ['absent'] })).toMatchObject({
          status: 'invalid',
          message: 'kernel.cubin has no kernel `absent`; it has run.',
        });
        expect(await compileFails(toolchain, cubin, 'sm_80')).toMatchObject({
          status: 'unsupported',
          message: 'kernel.cubin is machine code for sm_90; the device is sm_80.',
        });
        const damaged = { kind: 'cubin', source: { 'kernel.cubin': plain.text.slice(0, 200) } } as const;
        expect(await fails(damaged)).toMatchObject({
          status: 'invalid',
          message: expect.stringContaining('not a cubin'),
        });
      },
      'says where the assembler serialises wgmma, in the words that the rule wgmma-serialized looks for': async () => {
        const source = readFileSync(join(KERNELS_OF_RULES, 'wgmma_serialized.cu'), 'utf8');
        const functions = ['reads_too_early', 'waits_first'];
        const { diagnostics } = await compiles(toolchain, { source, functions }, 'sm_90a');
        const notes = diagnostics.filter(({ message }) =>
          message.includes('wgmma.mma_async instructions are serialized'),
        );
        expect(notes.map(({ severity }) => severity)).toEqual(['note']);
        expect(notes[0]!.message).toMatch(/\(C75\d\d\) .* in the function 'reads_too_early'$/);
      },
      'PTX that can be read again, and SASS where a disassembler is installed': async () => {
        const { ptx, sass, notes } = await disassemble(plain);
        expect(ptx).toContain('.entry run(');
        const tools = findCudaTool('nvdisasm') ?? findCudaTool('cuobjdump');
        if (tools === undefined) expect(notes).toEqual([expect.stringContaining('SASS: nvdisasm or cuobjdump')]);
        else expect(sass).toContain('EXIT');
      },
    };
    const REFUSES: typeof COMPILES = {
      'errors with the file and line of the user': async () => {
        const source = {
          'kernel.cu': '#include "tile.cuh"\nextern "C" __global__ void run(float* o) {\n  o[0] = missing;\n}',
          'tile.cuh': 'constexpr int kTile = 3;',
        };
        expect(await fails({ source, includes: ['tile.cuh'] })).toMatchObject({
          status: 'compile-failed',
          message: 'identifier "missing" is undefined',
          diagnostics: [{ severity: 'error', location: { file: 'kernel.cu', line: 3 } }],
        });
        const broken = {
          'kernel.cu': source['kernel.cu'].replace('missing', '1'),
          'tile.cuh': '\n__device__ int f() { return x; }',
        };
        const inHeader = await fails({ source: broken, includes: ['tile.cuh'] });
        expect(inHeader.diagnostics[0]?.location).toEqual({ file: 'tile.cuh', line: 2 });
      },
      'errors in kernel.json as such': async () => {
        expect(await fails({ ...PLAIN, functions: ['run', 'absent'] })).toMatchObject({
          status: 'invalid',
          message: expect.stringMatching(/launches `absent`, which can't be resolved: .*The sources have run\./),
        });
      },
      'a file that ends too early': async () => {
        const failure = await fails({ source: 'extern "C" __global__ void run(float* o) {\n  o[0] = 1.0f;\n' });
        expect(failure).toMatchObject({
          status: 'compile-failed',
          message: expect.stringContaining('kernel.cu ends in the middle'),
          diagnostics: [{ location: { file: 'kernel.cu', line: 1 } }],
        });
      },
      'no launch from device code': async () => {
        const source =
          '__global__ void child() {}\nextern "C" __global__ void run(float* o) {\n  child<<<1, 1>>>();\n}';
        expect(await fails({ source })).toMatchObject({
          status: 'invalid',
          message: expect.stringContaining("a kernel can't launch kernels"),
          diagnostics: [{ location: { file: 'kernel.cu', line: 3 } }],
        });
      },
      'inline assembly that the assembler refuses': async () => {
        const source = 'extern "C" __global__ void run(float* o) { asm volatile("bogus.f32 %f1;"); }';
        expect(await fails({ source })).toMatchObject({
          status: 'compile-failed',
          message: expect.stringMatching(/assembler says: .*bogus/),
        });
      },
      'nothing for an architecture it does not know': async () => {
        const outcome = await toolchain.compile({ candidate: candidateOf({ source: '' }), architecture: 'sm_30' });
        expect(outcome).toMatchObject({ ok: false, status: 'unsupported', message: expect.stringContaining('sm_30') });
      },
      'within its time': async () => {
        const endless = `template <int N, int M> struct Tree { static constexpr int value = Tree<N - 1, 3 * M>::value + Tree<N - 1, 3 * M + 1>::value + Tree<N - 1, 3 * M + 2>::value; };
        template <int M> struct Tree<0, M> { static constexpr int value = M & 1; };
        extern "C" __global__ void run(int* o) { o[0] = Tree<15, 0>::value; }`;
        const limits = { timeoutMs: 1500 };
        const limited =
          kind === 'nvrtc'
            ? await (await import('../../src/toolchains/nvrtc/nvrtc.ts')).createNvrtcToolchain({ limits })
            : await (await import('../../src/toolchains/nvcc/nvcc.ts')).createNvccToolchain({ limits });
        const failure = await compileFails(limited, { source: endless }, 'sm_90a');
        await limited.close?.();
        expect(failure).toMatchObject({ status: 'timed-out', message: 'Compiling took longer than 1.5 s.' });
      },
    };
    for (const [what, claims] of Object.entries({ COMPILES, REFUSES }))
      sampled(`${kind} ${what}`, Object.entries(claims), { oneIn: 5, placeOf: () => `src/toolchains/${kind}` })(
        '%s',
        (_, holds) => holds(),
      );

    it.each([
      ['absolute', '#include "/etc/hostname"'],
      ['above', '#include "../../etc/hostname"'],
      ['made by a macro', '#define FILE "/etc/hostname"\n#include FILE'],
      ['probed', '#if __has_include("/etc/hostname")\n#endif'],
    ])('nothing that reads a file outside: %s', async (_how, line) => {
      const failure = await fails({ source: `${line}\nextern "C" __global__ void run(float* o) {}` });
      expect(failure.status).toBe('invalid');
      expect(failure.diagnostics[0]?.location?.file).toBe('kernel.cu');
    });
  });
});

describe('disassemble', () => {
  it('says what is missing, and never fails', async () => {
    const nothing = { environment: {}, installFolders: [], nsightComputeFolder: '/nowhere' };
    const base = { architecture: 'sm_90a', functionSymbols: {}, key: '', diagnostics: [] };
    const compiler = { name: 'none', version: '' };
    expect(await disassemble({ ...base, compiler, kind: 'cubin', text: 'AAAA' }, nothing)).toEqual({
      notes: [expect.stringContaining('PTX: '), expect.stringContaining('neither was found')],
    });
    expect(await disassemble({ ...base, compiler, kind: 'ptx', text: '.version 8.0' }, nothing)).toEqual({
      ptx: '.version 8.0',
      notes: [expect.stringContaining('ptxas of the CUDA toolkit')],
    });
  });
});
