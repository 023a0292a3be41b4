import { beforeAll, describe, expect, it } from 'vitest';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';
import { candidateOf, compileFails, compiles, entryOf } from './support.ts';

let toolchain: Toolchain;
beforeAll(async () => {
  toolchain = await createClangToolchain();
});

describe('functions', () => {
  const source = `
    template <int D, typename T, bool kCausal> __global__ void attention(T* o) { o[0] = T(D + kCausal); }
    namespace deep { template <typename T> __global__ void fill(T* o) { o[0] = T(1); } }
    extern "C" __global__ void plain(float* o) { o[0] = 3.0f; }
    __global__ void mangled(float* o) { o[0] = 4.0f; }
    template <int N = 1> __global__ void never_asked_for(float* o) { o[0] = N; }
    static __global__ void internal(float* o) { o[0] = 5.0f; }
  `;
  const functions = [
    'attention<64, float, true>',
    'attention<WIDTH, int, 2 < 1>',
    'deep::fill<float>',
    'plain',
    'mangled',
  ];

  it('gives each name of kernel.json its symbol, instantiating templates on the way', async () => {
    const code = await compiles(toolchain, { source, functions, parameters: { WIDTH: 96 } });
    expect(Object.keys(code.functionSymbols)).toEqual(functions);
    expect(code.functionSymbols.plain).toBe('plain');
    expect(entryOf(code, 'attention<64, float, true>')).toContain('1115815936'); // 65.0f
    expect(entryOf(code, 'attention<WIDTH, int, 2 < 1>')).toMatch(/st\.global\.b32\s+\[%rd\d+\], 96;/);
    expect(entryOf(code, 'deep::fill<float>')).toContain('1065353216');
    expect(entryOf(code, 'mangled')).toContain('1082130432');
    expect(code.text).not.toContain('never_asked_for');
  });

  it('leaves nothing of the resolution behind', async () => {
    const code = await compiles(toolchain, { source, functions: ['plain', 'internal'] });
    expect(code.text).not.toContain('__warpsmith_function');
    expect(code.text).not.toMatch(/^\.visible \.entry \w+\s*$/m); // no forward declarations either
    expect(entryOf(code, 'internal')).toContain('1084227584');
  });

  it('names the functions there are when one is missing', async () => {
    const failure = await compileFails(toolchain, { source, functions: ['atention<64, float, true>'] });
    expect(failure.status).toBe('invalid');
    expect(failure.message).toContain('`atention<64, float, true>`');
    expect(failure.message).toContain('attention, fill, plain, mangled, never_asked_for, internal');
  });

  it('refuses a template without arguments and arguments that do not fit', async () => {
    expect(await compileFails(toolchain, { source, functions: ['attention'] })).toMatchObject({ status: 'invalid' });
    expect(await compileFails(toolchain, { source, functions: ['attention<1>'] })).toMatchObject({ status: 'invalid' });
  });

  it.each(['plain); int x = (0', 'plain\n#include "x"', 'a"b', 'f<1;>', ''])('refuses %j as a name', async (name) => {
    const failure = await compileFails(toolchain, { source, functions: [name] });
    expect(failure).toMatchObject({
      status: 'invalid',
      message: expect.stringContaining('is not the name of a function'),
    });
  });

  it('compiles several files as one unit, with headers beside them', async () => {
    const code = await compiles(toolchain, {
      source: {
        'first.cu': '#include "parts/tile.cuh"\nextern "C" __global__ void first(float* o) { o[0] = twice(1.0f); }',
        'second.cu': '#include <parts/tile.cuh>\nextern "C" __global__ void second(float* o) { o[0] = twice(2.0f); }',
        'parts/tile.cuh':
          '#pragma once\n#include "../scale.h"\n__device__ inline float twice(float x) { return kScale * x; }',
        'scale.h': '#pragma once\nconstexpr float kScale = 2.0f;',
      },
      includes: ['parts/tile.cuh', 'scale.h'],
      functions: ['first', 'second'],
    });
    expect(entryOf(code, 'second')).toContain('1082130432'); // 4.0f
    expect(code.text).toMatch(/\.file\s+\d+ "first\.cu"/);
  });
});

describe('what comes out', () => {
  it('does not depend on where it was compiled', async () => {
    const source =
      '#include <cuda_fp16.h>\nextern "C" __global__ void run(half* o) { o[0] = __float2half(threadIdx.x); }';
    const other = await createClangToolchain();
    const [first, second] = [await compiles(toolchain, { source }), await compiles(other, { source })];
    expect(second).toEqual(first);
    expect(first.text).not.toMatch(/\/tmp|warpsmith-\w{6}\b/);
    expect(first.text).toMatch(/\.file\s+\d+ "kernel\.cu"/);
  });

  it('does not depend on when it was compiled', async () => {
    const source =
      'extern "C" __global__ void run(char* o) { o[0] = __DATE__[7]; o[1] = __TIME__[0]; o[2] = __TIMESTAMP__[20]; }';
    const { text } = await compiles(toolchain, { source });
    const stored = [...text.matchAll(/st\.global\.b8\s+\[%rd\d+(?:\+\d+)?\], (\d+);/g)].map((match) =>
      Number(match[1]),
    );
    expect(String.fromCharCode(...stored)).toBe('101'); // Jan 1 1970 00:00:00
  });

  it('has line directives of the user file, through inlined functions', async () => {
    const source =
      '__device__ float f(float x) {\n  return x * 3.0f;\n}\nextern "C" __global__ void run(float* o) {\n  o[0] = f(o[1]);\n}';
    const code = await compiles(toolchain, { source });
    const file = /\.file\s+(\d+) "kernel\.cu"/.exec(code.text)?.[1];
    expect(code.text).toMatch(new RegExp(`\\.loc\\s+${file} 2 \\d+`));
    expect(code.text).toContain('// kernel.cu:2:12 @[ kernel.cu:5:10 ]');
    expect(code.text).not.toContain('kernel/');
  });

  it('is for the architecture asked for', async () => {
    const source = 'extern "C" __global__ void run(int* o) { o[0] = __CUDA_ARCH__; }';
    const expected = { sm_80: '800', sm_89: '890', sm_90a: '900' };
    for (const [architecture, value] of Object.entries(expected)) {
      const code = await compiles(toolchain, { source }, architecture);
      expect(code.text).toContain(`.target ${architecture}`);
      expect(code.text).toMatch(new RegExp(`st\\.global\\.b32\\s+\\[%rd\\d+\\], ${value};`));
    }
  });

  it('is unsupported, not wrong, where the kernel or the compiler does not serve the device', async () => {
    const source = 'extern "C" __global__ void run(int* o) { o[0] = 1; }';
    const onlyHopper = await compileFails(toolchain, { source, architectures: ['sm_90a'] });
    expect(onlyHopper).toMatchObject({
      status: 'unsupported',
      message: 'This kernel is for sm_90a; the device is sm_89.',
    });
    expect(await compileFails(toolchain, { source }, 'sm_30')).toMatchObject({ status: 'unsupported' });
    expect(await compileFails(toolchain, { source, kind: 'cubin' })).toMatchObject({ status: 'unsupported' });
  });

  it('passes PTX sources through', async () => {
    const text = '.version 7.8\n.target sm_80\n.address_size 64\n.visible .entry run() { ret; }\n';
    const code = await compiles(toolchain, { source: { 'run.ptx': text }, kind: 'ptx' });
    expect(code).toMatchObject({ kind: 'ptx', text, functionSymbols: { run: 'run' } });
    const missing = await compileFails(toolchain, { source: { 'run.ptx': text }, kind: 'ptx', functions: ['walk'] });
    expect(missing).toMatchObject({ status: 'invalid', message: 'run.ptx has no entry `walk`; it has run.' });
  });

  it('takes a function that merges two structs passed by value, as Welford’s sums are', async () => {
    const source = `
      struct Sums { float count, mean, squares; };
      __device__ Sums merged(Sums a, Sums b) {
        const float count = a.count + b.count;
        if (count == 0) return a;
        const float d = b.mean - a.mean, share = b.count / count;
        return Sums{count, a.mean + d * share, a.squares + b.squares + d * d * a.count * share};
      }
      extern "C" __global__ void k(float* o, float x) {
        Sums sums{0, 0, 0};
        for (int i = 0; i < 3; ++i) sums = merged(sums, Sums{1, x * i, 0});
        o[0] = sums.mean;
        o[1] = sums.squares;
      }`;
    const code = await compiles(toolchain, { source, functions: ['k'] });
    expect(entryOf(code, 'k')).toContain('st.global');
    expect(code.text).not.toContain('merged');
  });

  it('copies 16-byte aligned structs in 16-byte accesses', async () => {
    const source = `
      #include <cuda_fp16.h>
      struct alignas(16) Pack { half2 values[4]; };
      union Bits { uint4 whole; half2 parts[4]; };
      extern "C" __global__ void run(float4* __restrict__ a, const float4* __restrict__ b, const Pack* p, Pack* q, Bits* u) {
        __shared__ float4 tile[32];
        extern __shared__ uint4 ring[];
        tile[threadIdx.x] = b[threadIdx.x];
        q[threadIdx.x] = p[threadIdx.x];
        Bits bits;
        bits.whole = ring[threadIdx.x];
        bits.parts[1] = __hadd2(bits.parts[1], bits.parts[2]);
        u[threadIdx.x] = bits;
        __syncthreads();
        a[threadIdx.x] = tile[31 - threadIdx.x];
      }`;
    const ptx = (await compiles(toolchain, { source })).text;
    const accesses = [...ptx.matchAll(/\b(?:ld|st)\.(?:global|shared)\S*/g)].map(([word]) => word).sort();
    expect(accesses).toEqual([
      'ld.global.nc.v4.b32',
      'ld.global.v4.b32',
      'ld.shared.v4.b32',
      'ld.shared.v4.b32',
      'st.global.v4.b32',
      'st.global.v4.b32',
      'st.global.v4.b32',
      'st.shared.v4.b32',
    ]);
  });
});

describe('aborting', () => {
  it('rejects with the reason of the signal', async () => {
    const candidate = candidateOf({ source: 'extern "C" __global__ void run() {}' });
    const signal = AbortSignal.abort(new Error('no longer wanted'));
    await expect(toolchain.compile({ candidate, architecture: 'sm_89', signal })).rejects.toThrow('no longer wanted');
  });
});

it('inlines as nvcc does: a long lambda that several places call, and that keeps its arrays in registers', async () => {
  const source = `
    extern "C" __global__ void run(float* o, int n) {
      float sums[64] = {};
      float factor = o[0];
      const auto advance = [&]() {
#pragma unroll
        for (int j = 0; j < 16; ++j)
#pragma unroll
          for (int i = 0; i < 64; ++i) sums[i] = fmaf(sums[i], factor, sums[(i + j) % 64]);
      };
      for (int k = 0; k < n; ++k) {
        advance();
        if (sums[0] > 1.0f) advance();
        factor = __shfl_xor_sync(0xffffffff, factor, 1);
      }
#pragma unroll
      for (int i = 0; i < 64; ++i) o[i] = sums[i];
    }`;
  const code = await compiles(toolchain, { source, functions: ['run'] });
  expect(code.text).not.toContain('call.uni');
  expect(code.text).not.toContain('.local');
});
