import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { withTemporaryFolder } from '../../src/process/temporary-folder.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { findHeaderFolder, openHeaderPack } from '../../src/toolchains/header-pack.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';
import { compileFails, compiles } from './support.ts';

let toolchain: Toolchain;
beforeAll(async () => {
  toolchain = await createClangToolchain();
});

describe('compiler messages', () => {
  it('name the file, line and column of the user', async () => {
    const failure = await compileFails(toolchain, {
      source: 'extern "C" __global__ void run(float* o) {\n  int i = threadIdx.x;\n  o[i] = missing + 1.0f;\n}\n',
    });
    expect(failure).toMatchObject({
      status: 'compile-failed',
      message: "use of undeclared identifier 'missing'",
      diagnostics: [
        {
          severity: 'error',
          message: "use of undeclared identifier 'missing'",
          location: { file: 'kernel.cu', line: 3, column: 10 },
        },
      ],
    });
  });

  it('name an included file by its path in the kernel folder', async () => {
    const failure = await compileFails(toolchain, {
      source: { 'kernel.cu': '#include "parts/tile.cuh"\n', 'parts/tile.cuh': '\n\nfloat f(;\n' },
      includes: ['parts/tile.cuh'],
    });
    expect(failure.diagnostics[0]?.location).toMatchObject({ file: 'parts/tile.cuh', line: 3 });
  });

  it('keep the notes that say how a template was reached', async () => {
    const source =
      'template <int N> __device__ int f() {\n  static_assert(N > 4, "N is too small");\n  return N;\n}\nextern "C" __global__ void run(int* o) {\n  o[0] = f<3>();\n}';
    const failure = await compileFails(toolchain, { source });
    expect(failure.message).toContain('N is too small');
    expect(failure.diagnostics).toContainEqual({
      severity: 'note',
      message: expect.stringContaining("in instantiation of function template specialization 'f<3>'"),
      location: { file: 'kernel.cu', line: 6, column: 10 },
    });
  });

  it('are all there, not only the first', async () => {
    const source = 'extern "C" __global__ void run(int* o) {\n  o[0] = a;\n  o[1] = b;\n}';
    const failure = await compileFails(toolchain, { source });
    expect(failure.diagnostics.map(({ location }) => location?.line)).toEqual([2, 3]);
  });

  it('lead an error inside a device header back to the line that caused it', () =>
    withTemporaryFolder(async (folder) => {
      cpSync(findHeaderFolder(), folder, { recursive: true });
      writeFileSync(
        join(folder, 'strict.h'),
        '#pragma once\ntemplate <class T> __device__ T only_floats(T x) {\n  static_assert(sizeof(T) == 4, "four bytes");\n  return x;\n}\n',
      );
      const strict = await createClangToolchain({ headers: openHeaderPack(folder) });
      const source =
        '#include <strict.h>\nextern "C" __global__ void run(double* o) {\n\n  o[0] = only_floats(o[1]);\n}';
      const failure = await compileFails(strict, { source });
      expect(failure.diagnostics[0]).toMatchObject({
        severity: 'error',
        message: expect.stringMatching(/four bytes.* \(in strict\.h:3\)/),
        location: { file: 'kernel.cu', line: 4, column: 10 },
      });
    }));

  it('show an error in a header without a note at the include', () =>
    withTemporaryFolder(async (folder) => {
      cpSync(findHeaderFolder(), folder, { recursive: true });
      writeFileSync(join(folder, 'never.h'), '\n#error not for this device\n');
      const never = await createClangToolchain({ headers: openHeaderPack(folder) });
      const failure = await compileFails(never, { source: '\n\n#include <never.h>\n' });
      expect(failure.diagnostics[0]).toMatchObject({
        message: 'not for this device (in never.h:2)',
        location: { file: 'kernel.cu', line: 3 },
      });
    }));

  it('keep warnings of code that compiles', async () => {
    const source = 'extern "C" __global__ void run(int* o) {\n  o[0] = 1 / 0;\n}';
    const code = await compiles(toolchain, { source });
    expect(code.diagnostics).toContainEqual({
      severity: 'warning',
      message: 'division by zero is undefined [-Wdivision-by-zero]',
      location: { file: 'kernel.cu', line: 2, column: 12 },
    });
  });

  it('believe #line directives of generated code', async () => {
    const source = '#line 41 "generator.py"\nextern "C" __global__ void run(int* o) {\n  o[0] = a;\n}';
    const failure = await compileFails(toolchain, { source });
    expect(failure.diagnostics[0]?.location).toMatchObject({ file: 'generator.py', line: 42 });
  });

  it('point into a file that ends too early', async () => {
    const source = 'extern "C" __global__ void run(int* o) {\n  o[0] = 1;\n';
    const failure = await compileFails(toolchain, { source });
    expect(failure.status).toBe('compile-failed');
    expect(failure.message).toContain('kernel.cu ends in the middle of a declaration');
    expect(failure.diagnostics[0]?.location).toMatchObject({ file: 'kernel.cu', line: 1 }); // the open brace
  });
});
