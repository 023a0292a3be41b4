import { glob } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { constantsAsParameters, usersOfConstant } from '../../src/cuda-source/constant-memory.ts';
import { blankHostCode, cutHostCode } from '../../src/cuda-source/cut.ts';
import { isKernel, readCudaSource } from '../../src/cuda-source/source.ts';

const HEADERS = new Set(['cuda_fp16.h', 'cooperative_groups.h', 'stdio.h']);

function cut(text: string, kernel?: string) {
  const source = readCudaSource(text, 'a.cu');
  const kernels = source.items.filter((item) => isKernel(item) && (kernel === undefined || item.name === kernel));
  return cutHostCode(source, kernels, (name) => HEADERS.has(name));
}

const KERNEL = '__global__ void k(float *x) { x[0] = 1.f; }';

describe('host code is cut, device code stays as it is', () => {
  it.each<[what: string, text: string, kept: string]>([
    ['main', `${KERNEL}\nint main() { k<<<1, 1>>>(nullptr); }`, KERNEL],
    ['braces in strings and characters', `void f() { puts("}{\\"}"); char c = '}'; }\n${KERNEL}`, KERNEL],
    ['braces in raw strings', `const char *s = R"x(}}} __global__ )")x";\n${KERNEL}`, KERNEL],
    ['braces in comments', `int main() { // }\n /* } */ return 0; }\n${KERNEL}`, KERNEL],
    [
      'host code, but not the short name of a namespace',
      `namespace cg = cooperative_groups;\nint main() {}\n__global__ void k() { cg::this_grid(); }`,
      'namespace cg = cooperative_groups;\n__global__ void k() { cg::this_grid(); }',
    ],
    ['host includes', `#include <iostream>\n#include <vector>\n${KERNEL}`, KERNEL],
    ['host templates', `template <typename T, int N = (3 > 2)> T f(T a) { return a < N ? a : N; }\n${KERNEL}`, KERNEL],
    ['lambdas in main', `int main() { auto f = [&](int i) { return i; }; f(1); }\n${KERNEL}`, KERNEL],
    ['host variables', `std::vector<float> all; float *h_x = nullptr;\n${KERNEL}`, KERNEL],
    ['a comment above it', `${KERNEL}\n\n// what main does\nint main() {}`, KERNEL],
    ['macros of the host', `#define CHECK(x) do { if (x) \\\n exit(1); } while (0)\n${KERNEL}`, KERNEL],
  ])('%s', (_, text, kept) => expect(cut(text).text.trim()).toBe(kept));

  const STRUCTS = [
    'template <int N> struct Product;',
    '#define ALL(N, ...) ONE(N, __VA_ARGS__)',
    '#define ONE(N, ...) \\\n  template <> struct Product<N> { static __device__ float of(float x) { return x * N; } };',
    'ALL(2, a) // no semicolon',
    'ALL(4, b)',
    'template <int N> __device__ float inner(float x) { return Product<N>::of(x); }',
    '__global__ void k(float *x) { x[0] = inner<2>(x[0]); }',
  ].join('\n');

  it.each<[what: string, text: string, kept: string]>([
    ['that declare what the kernel uses, without a semicolon', STRUCTS, STRUCTS],
    [
      'that instantiate it',
      `#define INST(N) template __global__ void k<N>(float *)\ntemplate <int N> ${KERNEL}\nINST(4);\nINST(8);\nint main() {}`,
      `#define INST(N) template __global__ void k<N>(float *)\ntemplate <int N> ${KERNEL}\nINST(4);\nINST(8);`,
    ],
    [
      'that define host code',
      `#define RUN(f) void run_##f() { f<<<1, 1>>>(0); }\n${KERNEL}\nRUN(k)\nint main() {}`,
      KERNEL,
    ],
  ])('calls of macros %s', (_, text, kept) => expect(cut(text).text.trim()).toBe(kept));

  it('keeps what the kernel reaches, in order, and nothing else', () => {
    const { text, removed } = cut(
      [
        '#include <cuda_fp16.h>',
        '#define TILE 16',
        '#define UNUSED 3',
        'constexpr int kDouble = 2 * TILE;',
        'struct Pair { float a, b; };',
        'enum Mode { FAST = 1, SLOW };',
        'using real = float;',
        '__device__ real helper(Pair p) { return p.a * kDouble; }',
        '__device__ float unused(float x) { return x; }',
        'float helper_host(Pair p) { return p.a; }',
        '__global__ void k(real *x) { Pair p{x[0], x[1]}; if (FAST) x[0] = helper(p); }',
        'int main() {}',
      ].join('\n'),
    );
    expect(text.trim().split('\n')).toEqual([
      '#include <cuda_fp16.h>',
      '#define TILE 16',
      'constexpr int kDouble = 2 * TILE;',
      'struct Pair { float a, b; };',
      'enum Mode { FAST = 1, SLOW };',
      'using real = float;',
      '__device__ real helper(Pair p) { return p.a * kDouble; }',
      '__global__ void k(real *x) { Pair p{x[0], x[1]}; if (FAST) x[0] = helper(p); }',
    ]);
    expect(removed).toEqual(['unused()', 'helper_host()', 'main()']);
  });

  it('keeps a device function and cuts the host function of the same name', () => {
    const device = '__device__ float f(float x) { return x; }';
    const { text } = cut(`${device}\nfloat f(double x) { return 0; }\n__global__ void k(float *x) { x[0] = f(x[1]); }`);
    expect(text).toContain(device);
    expect(text).not.toContain('double');
  });

  it('keeps namespaces and extern "C" around what stays, and drops empty ones', () => {
    const { text } = cut(
      `namespace a { namespace b {\n${KERNEL}\n} }\nnamespace host { int f() { return 1; } }\nextern "C" { void g() {} }`,
    );
    expect(text.replaceAll(/\s+/g, ' ').trim()).toBe(`namespace a { namespace b { ${KERNEL} } }`);
  });

  it('keeps conditions with the macros that they test', () => {
    const text = [
      '#define FAST',
      '#ifdef FAST',
      KERNEL,
      '#else',
      'int main() {}',
      '#endif',
      '#ifdef HOST',
      'void f() {}',
      '#endif',
    ];
    expect(cut(text.join('\n')).text.trim().split('\n')).toEqual([
      '#define FAST',
      '#ifdef FAST',
      KERNEL,
      '#else',
      '#endif',
    ]);
  });

  it('keeps attributes, launch bounds and templates of kernels', () => {
    const kernel =
      'template <typename T, int N>\n__global__ void __launch_bounds__(256, 2) k(T *__restrict__ x) { x[N] = T(0); }';
    expect(cut(`${kernel}\ntemplate <typename T> void run(T *x) { k<T, 4><<<1, 256>>>(x); }`).text.trim()).toBe(kernel);
  });

  it('keeps the comment at the head of the file', () => {
    expect(cut(`// Copyright somebody\n#include <iostream>\n${KERNEL}`).text).toContain('// Copyright somebody');
  });

  it('takes one kernel of several', () => {
    expect(cut(`${KERNEL}\n__global__ void other(float *x) {}`, 'k').text.trim()).toBe(KERNEL);
  });

  it.each([
    ['cub', '__global__ void k() { cub::WarpReduce<float> r; }'],
    [
      'thrust',
      '__device__ float f() { return thrust::plus<float>()(1, 2); } __global__ void k(float *x) { x[0] = f(); }',
    ],
    ['cuRAND', '__global__ void k(float *x, curandState *s) { x[0] = curand_uniform(s); }'],
  ])('names %s where device code calls it', (name, text) => expect(cut(text).libraries).toEqual([name]));

  it('names no library that only the host uses', () => {
    expect(cut(`#include <thrust/sort.h>\n${KERNEL}\nint main() { thrust::sort(a, b); }`).libraries).toEqual([]);
  });
});

describe('constant memory that the host fills', () => {
  const rewritten = (text: string, name: string): string =>
    constantsAsParameters(text, 'a.cu', [usersOfConstant(readCudaSource(text, 'a.cu'), name)])
      .replaceAll(/\s+/g, ' ')
      .trim();

  it('becomes a parameter of the same name', () =>
    expect(rewritten('__constant__ float f[7];\n__global__ void k(float *x) { x[0] = f[3]; }', 'f')).toBe(
      '__global__ void k(float *x, const float* __restrict__ f) { x[0] = f[3]; }',
    ));
  it('keeps the inner extents of a matrix', () =>
    expect(rewritten('__constant__ float f[5][6];\n__global__ void k() { f[1][2]; }', 'f')).toBe(
      '__global__ void k(const float (*__restrict__ f)[6]) { f[1][2]; }',
    ));
  it('leaves kernels alone that do not use it', () =>
    expect(rewritten('__constant__ int f[2];\n__global__ void k(int a) {}', 'f')).toBe('__global__ void k(int a) {}'));
  it('is found in other functions', () =>
    expect(
      usersOfConstant(readCudaSource('__constant__ int f[2]; __device__ int g() { return f[0]; }', 'a.cu'), 'f')
        .otherUser,
    ).toBe('g'));
});

it('finds no host code in the kernels of the bundled problems, which all compilers get as they are', async () => {
  const problems = join(import.meta.dirname, '..', '..', 'problems');
  const files: string[] = [];
  for await (const file of glob('*/*/kernel.json', { cwd: problems })) files.push(file);
  expect(files.length).toBeGreaterThan(40);
  for (const file of files) {
    const { kernel } = await loadKernel(join(problems, dirname(file)));
    const functions = kernel.file.steps.flatMap((step) => ('function' in step ? [step.function] : []));
    expect(
      blankHostCode(kernel.sources, functions, () => true),
      file,
    ).toBeUndefined();
  }
});
