import { describe, expect, it } from 'vitest';
import { findDeviceLaunches, withoutHostLaunchers } from '../../src/toolchains/device-launches.ts';

const lines = (text: string) => findDeviceLaunches({ 'kernel.cu': text }).map(({ location }) => location?.line);

describe('launches from device code', () => {
  it.each([
    ['in a kernel', '__global__ void child();\n__global__ void run() {\n  child<<<1, 32>>>();\n}', [3]],
    ['in a device function', '__device__ void f() { if (threadIdx.x == 0) { g<<<1, 1>>>(); } }', [1]],
    ['in a template', 'template <int N>\n__global__ void run() {\n  for (;;) {\n    k<N><<<1, 1>>>();\n  }\n}', [4]],
    ['in a member', 'struct S {\n  __device__ void f() { k<<<1, 1>>>(); }\n};', [2]],
    ['inside a namespace', 'namespace n {\n__global__ void run() { k<<<1, 1>>>(); }\n}', [2]],
    ['twice', '__device__ void f() {\n  a<<<1, 1>>>();\n  b<<<1, 1>>>();\n}', [2, 3]],
  ])('%s are found', (_where, text, expected) => expect(lines(text)).toEqual(expected));

  it.each([
    ['a comment', '__global__ void run() { /* k<<<1, 1>>>() */ } // k<<<1, 1>>>()'],
    ['a string', '__global__ void run() { const char* s = "k<<<1, 1>>>()"; }'],
    ['a raw string', '__global__ void run() { const char* s = R"(k<<<1, 1>>>())"; }'],
    ['host code', '__global__ void run() {}\nvoid launch() { run<<<1, 1>>>(); }'],
    [
      'host code after a kernel in a namespace',
      'namespace n { __global__ void run() {} }\nint main() { n::run<<<1, 1>>>(); }',
    ],
    ['a shift', '__device__ int f(int a) { return a << (1 << 2); }'],
  ])('%s is not one', (_what, text) => expect(lines(text)).toEqual([]));
});

describe('without host launchers', () => {
  it('only functions that launch are blanked, in place', () => {
    const text =
      '__global__ void run(int* o) { o[0] = 1; }\n\nvoid launch(int* o) {\n  run<<<1, 1>>>(o);\n}\n__device__ int f() { return 1; }';
    const shown = withoutHostLaunchers(text);
    expect(shown.split('\n')).toHaveLength(text.split('\n').length);
    expect(shown).not.toContain('<<<');
    expect(shown).toContain('o[0] = 1; }');
    expect(shown).toContain('__device__ int f() { return 1; }');
    expect(shown.length).toBe(text.length);
  });
});
