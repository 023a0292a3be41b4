import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { withTemporaryFolder } from '../../src/process/temporary-folder.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { locateClang } from '../../src/toolchains/locate-clang.ts';
import { kernelHeaders, nvrtcUnit } from '../../src/toolchains/nvrtc/program.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';
import { candidateOf, compileFails, compiles } from './support.ts';

let toolchain: Toolchain;
beforeAll(async () => {
  toolchain = await createClangToolchain();
});

/** A file as samples and tutorials publish it. */
const WHOLE = `#include <iostream>
#include <vector>
#include <cublas_v2.h>
#include "helper_cuda.h"
using namespace std;
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { cerr << cudaGetErrorString(e); exit(1); } } while (0)
#define WIDTH 4
struct Timer { cudaEvent_t start; std::vector<float> ms; float stop() { return ms.back(); } };
__device__ float twice(float x) { return x * 2; }
template <int N> __global__ void scale(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = max(twice(in[i]), 0.0f) * N;
}
__global__ void unused(float* out) { out[0] = cublas_is_not_here; }
static void report(const vector<float>& values) { for (float v : values) cout << v << endl; }
int main(int argc, char** argv) {
  vector<float> h(100, 1.0f);
  float *d;
  CHECK(cudaMalloc(&d, 400));
  scale<WIDTH><<<dim3(1), 128>>>(d, d, 100);
  report(h);
}
`;

describe('whole files', () => {
  it('compile: host code is left out, on the same lines, and a note says so', async () => {
    const code = await compiles(toolchain, { source: WHOLE, functions: ['scale<4>'] });
    expect(code.text.match(/\.entry/g)).toHaveLength(1);
    expect(code.text).toContain('kernel.cu:12:');
    const [note] = code.diagnostics.filter(({ severity }) => severity === 'note');
    expect(note?.message).toContain('left out, because no host code runs: #include <iostream>');
    for (const gone of ['main()', 'report()', 'unused()', '#include "helper_cuda.h"'])
      expect(note?.message).toContain(gone);
  });

  it('an error in device code keeps its line, and the note says what was left out', async () => {
    const source = WHOLE.replace('twice(in[i])', 'thrice(in[i])');
    const failure = await compileFails(toolchain, { source, functions: ['scale<4>'] });
    expect(failure.message).toContain("undeclared identifier 'thrice'");
    expect(failure.diagnostics.find(({ severity }) => severity === 'error')?.location?.line).toBe(12);
    expect(failure.diagnostics.at(-1)?.message).toContain('left out');
  });

  it('a function that is not there is named as before', async () => {
    const failure = await compileFails(toolchain, { source: WHOLE, functions: ['missing'] });
    expect(failure.message).toContain('iostream');
  });

  it('only kernels that are launched are compiled', async () => {
    const source = `template <int N> __global__ void t(float* o) { o[0] = N; }
template __global__ void t<3>(float*);
namespace n { __global__ void other(float* o) { o[0] = 1; } }
extern "C" __global__ void first(float* o) { o[0] = 2; }
extern "C" __global__ void second(float* o) { o[0] = 3; }`;
    const code = await compiles(toolchain, { source, functions: ['second', 't<5>'] });
    expect(Object.keys(code.functionSymbols)).toEqual(['second', 't<5>']);
    for (const symbol of Object.values(code.functionSymbols)) expect(code.text).toContain(`.entry ${symbol}(`);
    expect(code.text.match(/\.entry/g)).toHaveLength(2);
  });

  it('NVRTC gets the parts of the library that nvcc has without an include', () => {
    const { kernel } = candidateOf({ source: WHOLE, functions: ['scale<4>'] });
    expect(nvrtcUnit(kernel).text).toContain('#include "algorithm"');
    const bare = candidateOf({ source: '__global__ void run(float* o) { o[0] = 1; }' }).kernel;
    expect(nvrtcUnit(bare).text).not.toContain('algorithm');
    expect(kernelHeaders(bare)).toEqual([['kernel.cu', bare.sources['kernel.cu']]]);
  });
});

describe('what no device offers', () => {
  it.each([
    ['float* p = new float[4]; o[0] = p[0];', 'the device heap outlives a launch'],
    ['float* p = (float*)malloc(16); o[0] = p[0]; free(p);', 'the device heap outlives a launch'],
    ['o[0] = tex2D<float>((cudaTextureObject_t)0, 1.0f, 2.0f);', 'textures (tex2D)'],
    ['surf2Dwrite(1.0f, (cudaSurfaceObject_t)0, 4, 2);', 'surfaces (surf2Dwrite)'],
  ])('%s is unsupported by name', async (body, message) => {
    const failure = await compileFails(toolchain, { source: `__global__ void run(float* o) { ${body} }` });
    expect(failure.status).toBe('unsupported');
    expect(failure.message).toContain(message);
  });
});

describe('a crash of clang', () => {
  it('over 16-byte copies is answered with 8-byte ones, and a note', () =>
    withTemporaryFolder(async (folder) => {
      const real = await locateClang();
      const script = join(folder, 'clang.sh');
      // Crashes in the second stage where the IR has widened copies.
      const lines = [
        '#!/bin/bash',
        'case "$*" in *"-x ir"*) cat > "$TMPDIR/ir"; grep -q ws.copy "$TMPDIR/ir" && kill -SEGV $$',
        `exec '${real.path}' ${real.prefix.join(' ')} "$@" < "$TMPDIR/ir";; esac`,
        `exec '${real.path}' ${real.prefix.join(' ')} "$@"`,
      ];
      writeFileSync(script, lines.join('\n'));
      chmodSync(script, 0o755);
      const crashing = await createClangToolchain({
        compiler: { ...real, path: script, prefix: [], fingerprint: 'crashes' },
        cacheFolder: folder,
      });
      const source = '__global__ void run(const float4* in, float4* out) { out[threadIdx.x] = in[threadIdx.x]; }';
      const code = await compiles(crashing, { source });
      expect(code.diagnostics.map(({ message }) => message)).toEqual([
        'clang crashed (SIGSEGV) over 16-byte copies of structs; they are 8-byte accesses here',
      ]);
      expect(code.text).not.toContain('.v4.');
    }));
});
