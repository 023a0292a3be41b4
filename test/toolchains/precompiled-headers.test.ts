import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { withTemporaryFolder } from '../../src/process/temporary-folder.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { type ClangCompiler, locateClang } from '../../src/toolchains/locate-clang.ts';
import { longTests, sampled } from '../support/sampling/matrix.ts';
import { candidateOf, type KernelDescription } from './support.ts';

const long = longTests(import.meta.filename, { oneIn: 5 });

let compiler: ClangCompiler;
beforeAll(async () => {
  // Everything is compiled, and parsed headers are kept where a test says.
  vi.stubEnv('WARPSMITH_CACHE', 'off');
  compiler = await locateClang();
});
afterAll(() => vi.unstubAllEnvs());

const BODY = 'extern "C" __global__ void run(float* o, half* h) { o[threadIdx.x] = sinf(__half2float(h[0])) * N; }';
const HALF: KernelDescription = { source: `// Halves.\n#include <cuda_fp16.h>\n${BODY}`, parameters: { N: 4 } };

const compile = async (description: KernelDescription, parsedHeadersFolder?: string) => {
  const toolchain = await createClangToolchain({ compiler, ...(parsedHeadersFolder && { parsedHeadersFolder }) });
  const { elapsedMs: _, ...outcome } = await toolchain.compile({
    candidate: candidateOf(description),
    architecture: 'sm_89',
  });
  return outcome;
};

const parsed = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.pch'));

describe('parsed headers', () => {
  it('are made once, and the code is the same to the byte', () =>
    withTemporaryFolder(async (folder) => {
      const plain = await compile(HALF);
      expect(plain).toMatchObject({ ok: true, cached: false });
      expect(await compile(HALF, folder)).toEqual(plain);
      const [name, ...others] = parsed(folder);
      expect(others).toEqual([]);
      const before = readFileSync(join(folder, name!));
      expect(await compile(HALF, folder)).toEqual(plain);
      expect(parsed(folder)).toEqual([name]);
      expect(readFileSync(join(folder, name!)).equals(before)).toBe(true);
    }));

  long('do not lend a kernel what it does not include', () =>
    withTemporaryFolder(async (folder) => {
      expect(await compile(HALF, folder)).toMatchObject({ ok: true });
      const without = { ...HALF, source: BODY };
      const outcome = await compile(without, folder);
      expect(outcome).toMatchObject({ ok: false, status: 'compile-failed' });
      expect(outcome).toEqual(await compile(without));
    }),
  );

  long('leave messages and warnings as they are', () =>
    withTemporaryFolder(async (folder) => {
      const source = `#include <cuda_fp16.h>\n#warning "look here"\n${BODY}`;
      for (const text of [source, `${source}\nint broken = nothing;`]) {
        const description = { ...HALF, source: text };
        expect(await compile(description, folder)).toEqual(await compile(description));
      }
    }),
  );

  long('are made anew when damaged', () =>
    withTemporaryFolder(async (folder) => {
      const plain = await compile(HALF, folder);
      const path = join(folder, parsed(folder)[0]!);
      const whole = readFileSync(path);
      for (const damaged of [whole.subarray(0, 1000), Buffer.concat([whole.subarray(0, -8), Buffer.alloc(8)])]) {
        writeFileSync(path, damaged);
        expect(await compile(HALF, folder)).toEqual(plain);
        expect(readFileSync(path).length).toBe(whole.length);
      }
    }),
  );

  long('are done without in a folder that cannot be written', () =>
    withTemporaryFolder(async (folder) => {
      writeFileSync(join(folder, 'file'), '');
      expect(await compile(HALF, join(folder, 'file', 'headers'))).toEqual(await compile(HALF));
    }),
  );

  const WITH_A_SAY: [string, KernelDescription][] = [
    [
      'that brings a header of that name',
      {
        ...HALF,
        source: {
          'kernel.cu': BODY.replace('half*', 'float*').replace('__half2float(h[0])', 'h[0]'),
          'cuda_fp16.h': '',
        },
        includes: ['cuda_fp16.h'],
      },
    ],
    ['whose macro is a name in the headers', { ...HALF, flags: ['-DCUDART_PI_F=3'] }],
    ['whose macro the headers could put together', { ...HALF, flags: ['-Dcosf=sinf'] }],
  ];

  sampled('kernels with a say in headers', WITH_A_SAY, { oneIn: 5 })(
    'are not used for a kernel %s',
    (_what, description) =>
      withTemporaryFolder(async (folder) => {
        expect(await compile(description, folder)).toEqual(await compile(description));
        expect(parsed(folder)).toEqual([]);
      }),
  );

  long('are of what stands at the top of the kernel', () =>
    withTemporaryFolder(async (folder) => {
      const sources = [
        HALF.source,
        `/* Halves. */ #pragma once\n#include "cuda_fp16.h" // here\n#include <cuda_bf16.h>\n${BODY}`,
        `#define MINE 1\n#include <cuda_fp16.h>\n${BODY}`,
        `#if 1\n#include <cuda_fp16.h>\n#endif\n${BODY}`,
        `#include <cmath> /* and */\n#include <cuda_fp16.h>\n${BODY}`,
      ] as string[];
      // The third to fifth share what holds the prelude alone.
      const counts = [];
      for (const source of sources) {
        expect(await compile({ ...HALF, source }, folder)).toEqual(await compile({ ...HALF, source }));
        counts.push(parsed(folder).length);
      }
      expect(counts).toEqual([1, 2, 3, 3, 3]);
    }),
  );
});
