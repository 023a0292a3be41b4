import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkTarget } from '../../../src/app/check.ts';
import { initProblem } from '../../../src/app/init/init-problem.ts';
import type { InitOptions } from '../../../src/app/init/options.ts';
import { WarpsmithError } from '../../../src/core/errors.ts';
import { sampled } from '../../support/sampling/matrix.ts';
import { summaryOf } from './summary.ts';

const FIXTURES = join(import.meta.dirname, '../../cuda-source/fixtures');
/** Parameters have tests of their own. */
const NOTHING: InitOptions = { kernels: [], values: {}, buffers: [], parameters: ['none'] };

/** What each file says, read by a person. */
const EXPECTED: Readonly<Record<string, ReturnType<typeof summaryOf>>> = {
  'attention-naive': {
    buffers: 'in f32 Q[n, d], in f32 K[n, d], in f32 V[n, d], out f32 O[n, d]',
    steps: [
      'workspace S: 4 * n * n',
      'needs ceilDiv(n, 16) <= 65535',
      'scores (ceilDiv(n, 16), ceilDiv(n, 16)) x (16, 16): Q, K, S, n, d, 1 / sqrt(d)',
      'softmax_rows (ceilDiv(n, 128)) x (128): S, n',
      'weighted (ceilDiv(d, 16), ceilDiv(n, 16)) x (16, 16): S, V, O, n, d',
    ],
    reference: 'attention_cpu',
  },
  'batched-gemm': {
    buffers: 'in f32 A[batch, M, K], in f32 B[batch, K, N], out f32 C[batch, M, N]',
    steps: [
      'needs ceilDiv(M, 16) <= 65535',
      'needs batch <= 65535',
      'bmm (ceilDiv(N, 16), ceilDiv(M, 16), batch) x (16, 16): A, B, C, M, N, K',
    ],
    reference: 'bmm_cpu',
  },
  'black-scholes': {
    buffers: 'in f32 S[OPT_N], in f32 X[OPT_N], in f32 T[OPT_N], out f32 Call[OPT_N], out f32 Put[OPT_N]',
    steps: ['BlackScholesGPU (ceilDiv(OPT_N, 128)) x (128): Call, Put, S, X, T, 0.02, 0.3, OPT_N'],
    reference: 'stub',
  },
  'conv1d-constant': {
    buffers: 'in i32 array[n], in i32 mask[7], out i32 result[n]',
    steps: ['convolution_1d (ceilDiv(n, 256)) x (256): array, result, n, mask'],
    reference: 'convolve_cpu',
  },
  conv2d: {
    buffers: 'in f32 img[H, W], in f32 flt[25], out f32 out[(H - 4) * (W - 4)]',
    steps: [
      'needs ceilDiv(H - 4, 16) <= 65535',
      'conv2d<float, 5> (ceilDiv(W - 4, 16), ceilDiv(H - 4, 16)) x (16, 16): img, flt, out, H, W',
    ],
    reference: 'conv2d_cpu',
  },
  dot: {
    buffers: 'in f32 a[N], in f32 b[N], out f32 partial_c[32 < ceilDiv(N, 256) ? 32 : ceilDiv(N, 256)]',
    steps: ['dot (32 < ceilDiv(N, 256) ? 32 : ceilDiv(N, 256)) x (256): a, b, partial_c'],
    reference: 'stub',
  },
  embedding: {
    buffers: 'in i64 tokens[count], in bf16 table[vocabulary, dim], out bf16 out[count, dim]',
    steps: ['embed<__nv_bfloat16> (count) x (128): tokens, table, out, dim'],
    reference: 'embed_cpu',
  },
  gelu: {
    buffers: 'in f32 inp[N4, 4], out f32 out[N4, 4]',
    steps: ['gelu_forward (ceilDiv(N4, 128)) x (128): out, inp, N4'],
    reference: 'gelu_forward_cpu',
  },
  histogram: {
    buffers: 'in u8 data[n], out u32 bins[256]',
    steps: ['zero bins', 'histogram_shared (64) x (256): data, bins, n'],
    reference: 'histogram_cpu',
  },
  layernorm: {
    buffers: 'in f32 inp[N, C], in f32 weight[C], in f32 bias[C], out f32 out[N, C], out f32 mean[N], out f32 rstd[N]',
    steps: ['layernorm_kernel<256> (N) x (256): out, mean, rstd, inp, weight, bias, C'],
    reference: 'layernorm_forward_cpu',
  },
  matvec: {
    buffers: 'in f64 A[rows, cols], in f64 x[cols], out f64 y[rows]',
    steps: ['matvec (ceilDiv(rows * 32, 128)) x (128): A, x, y, rows, cols'],
    reference: 'matvec',
  },
  'reduce-shared': {
    buffers: 'in f32 in[N], out f32 out[1]',
    steps: ['zero out', 'reduce_sum (ceilDiv(N, 1024)) x (512), 2048 B: in, out, N'],
    reference: 'sum_cpu',
  },
  'reduce-two-pass': {
    buffers: 'in f32 in[N], out f32 out[1]',
    steps: [
      'workspace partial: 4 * min(ceilDiv(N, 256), 1024)',
      'deviceReduceKernel (min(ceilDiv(N, 256), 1024)) x (256): in, partial, N',
      'deviceReduceKernel (1) x (1024): partial, out, min(ceilDiv(N, 256), 1024)',
    ],
    reference: 'cpuSum',
  },
  rmsnorm: {
    buffers: 'in f16 dx[tokens, dim], in f16 dw[dim], out f16 o[tokens, dim]',
    steps: ['rmsnorm_kernel (tokens) x (256): o, dx, dw, dim, 0.000001'],
    reference: 'rmsnorm_cpu',
  },
  rope: {
    buffers:
      'inout f32 q[seq_len, n_heads, head_dim], in f32 cos[seq_len * floor(head_dim / 2)], in f32 sin[seq_len * floor(head_dim / 2)]',
    steps: [
      'rope_kernel (ceilDiv(seq_len * n_heads * floor(head_dim / 2), 256)) x (256): q, cos, sin, seq_len, n_heads, head_dim',
    ],
    reference: 'rope_cpu',
  },
  'saxpy-managed': {
    buffers: 'in f32 x[N], inout f32 y[N]',
    steps: ['saxpy (ceilDiv(N, 256)) x (256): N, 2, x, y'],
    reference: 'saxpy_host',
  },
  scan: {
    buffers: 'in i32 in[n], out i32 out[n]',
    steps: [
      'workspace sums: 4 * ceilDiv(n, 512)',
      'scan_blocks (ceilDiv(n, 512)) x (512): in, out, sums, n',
      'scan_sums (1) x (32): sums, ceilDiv(n, 512)',
      'add_sums (ceilDiv(n, 512)) x (512): out, sums, n',
    ],
    reference: 'inclusive_scan',
  },
  'several-gemms': {
    buffers: 'in f32 a[n, n], in f32 b[n, n], out f32 c[n, n]',
    steps: [
      'needs ceilDiv(n, 16) <= 65535',
      'gemm_naive (ceilDiv(n, 16), ceilDiv(n, 16)) x (16, 16): a, b, c, n',
      'needs ceilDiv(n, 16) <= 65535',
      'gemm_shared (ceilDiv(n, 16), ceilDiv(n, 16)) x (16, 16): a, b, c, n',
    ],
    reference: 'cpu_gemm',
  },
  'sgemm-blocktiled': {
    buffers: 'in f32 A[m, k], in f32 B[k, n], inout f32 C[m, n]',
    steps: [
      'needs m % 64 == 0',
      'needs n % 64 == 0',
      'needs k % 8 == 0',
      'needs ceilDiv(m, 64) <= 65535',
      'sgemm1DBlocktiling<64, 64, 8, 8> (ceilDiv(n, 64), ceilDiv(m, 64)) x (512): m, n, k, 0.5, A, B, 3, C',
    ],
    reference: 'stub',
  },
  'sgemm-naive': {
    buffers: 'in f32 A[M, K], in f32 B[K, N], inout f32 C[M, N]',
    steps: [
      'needs ceilDiv(N, 32) <= 65535',
      'sgemm_naive (ceilDiv(M, 32), ceilDiv(N, 32)) x (32, 32): M, N, K, 0.5, A, B, 3, C',
    ],
    reference: 'sgemm_cpu',
  },
  'sgemm-tiled': {
    buffers: 'in f32 A[M, K], in f32 B[K, N], out f32 C[M, N]',
    steps: [
      'needs ceilDiv(M, 16) <= 65535',
      'matmul_tiled (ceilDiv(N, 16), ceilDiv(M, 16)) x (16, 16): A, B, C, M, N, K',
    ],
    reference: 'matmul_reference',
  },
  softmax: {
    buffers: 'in f32 inp[B, T, V], out f32 out[B, T, V]',
    steps: ['softmax_forward_kernel (ceilDiv(B * T * 32, 128)) x (128): out, inp, B * T, V'],
    reference: 'softmax_forward_cpu',
  },
  'stencil-2d': {
    buffers: 'in f32 in[rows, cols], out f32 out[rows, cols]',
    steps: [
      'needs ceilDiv(rows, 8) <= 65535',
      'jacobi (ceilDiv(cols, 32), ceilDiv(rows, 8)) x (32, 8): in, out, rows, cols',
    ],
    reference: 'jacobi_cpu',
  },
  'thrust-in-host': {
    buffers: 'in f32 x[n], out f32 y[n]',
    steps: ['affine_clamp (ceilDiv(n, 256)) x (256): x, y, n, 2, -0.25'],
    reference: 'stub',
  },
  transpose: {
    buffers: 'in f32 idata[nx, ny], out f32 odata[nx, ny]',
    steps: [
      'needs ceilDiv(ny, 32) <= 65535',
      'transpose::transposeCoalesced (ceilDiv(nx, 32), ceilDiv(ny, 32)) x (32, 8): odata, idata, nx, ny',
    ],
    reference: 'transpose_gold',
  },
  'vector-add': {
    buffers: 'in f32 A[numElements], in f32 B[numElements], out f32 C[numElements]',
    steps: ['vectorAdd (ceilDiv(numElements, 256)) x (256): A, B, C, numElements'],
    reference: 'stub',
  },
};

/** Files that need an answer, or can't be done: the code, and the place or option that the error names. */
const REFUSED: Readonly<Record<string, [code: string, path: string | undefined]>> = {
  'bitonic-loop': ['launched-in-a-loop', 'line 27'],
  'cub-in-device': ['needs-a-library', undefined],
  'mse-backward': ['not-in-the-file', '--value'],
  'particles-struct': ['unsupported-type', undefined],
  'relu-leetgpu': ['not-in-the-file', '--buffer'],
};

const out = mkdtempSync(join(tmpdir(), 'warpsmith-init-'));
afterAll(() => rmSync(out, { recursive: true, force: true }));
let count = 0;
const fresh = (): string => join(out, `problem${count++}`);

const init = (name: string, options: Partial<InitOptions> = {}, folder = fresh()) =>
  initProblem(join(FIXTURES, `${name}.cu`), { ...NOTHING, ...options }, folder);

const failureOf = async (path: string, options: Partial<InitOptions> = {}) => {
  const error = await initProblem(path, { ...NOTHING, ...options }, fresh()).catch((thrown: unknown) => thrown);
  if (!(error instanceof WarpsmithError)) throw new Error(`no WarpsmithError: ${String(error)}`);
  return error.details;
};

/** A file of these lines. */
function fileOf(text: string, name = 'file.cu'): string {
  const folder = fresh();
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe('files as people publish them', () => {
  const names = readdirSync(FIXTURES).map((file) => basename(file, '.cu'));

  it('are all listed', () => {
    expect(names.toSorted()).toEqual([...Object.keys(EXPECTED), ...Object.keys(REFUSED)].toSorted());
    expect(names.length).toBeGreaterThanOrEqual(25);
  });

  sampled('files that become problems', Object.keys(EXPECTED), {
    oneIn: 4,
    placeOf: (name) => `test/cuda-source/fixtures/${name}.cu`,
  })('%s becomes a problem folder that check takes', async (name) => {
    const { folder } = await init(name);
    expect(summaryOf(folder)).toEqual(EXPECTED[name]);
    const { kernels } = await checkTarget({ target: folder });
    for (const { plans } of kernels) expect(plans.some(({ plan }) => plan !== null)).toBe(true);
    for (const kernel of kernels) {
      const text = readFileSync(join(kernel.folder, 'kernel.cu'), 'utf8');
      expect(text).not.toMatch(
        /\bmain\s*\(|\bcuda(?:Malloc|Memcpy|Free)|<<<|\bmalloc\b|#include <(?:iostream|vector)>/,
      );
    }
  });

  sampled('files that are refused', Object.entries(REFUSED), { oneIn: 2 })(
    '%s is refused by name',
    async (name, [code, path]) => {
      const details = await failureOf(join(FIXTURES, `${name}.cu`));
      expect([details.code, details.path]).toEqual([code, path]);
      expect(details.hint).toBeTruthy();
      expect(details.expected).toBeTruthy();
    },
  );
});

describe('what a file does not say', () => {
  it('is said by options: a size that is read at run time', async () => {
    const { folder } = await init('mse-backward', { values: { n: 5000 } });
    expect(summaryOf(folder).buffers).toBe('in f32 p[n], in f32 t[n], out f32 g[n]');
  });

  it('is said by options: buffers of a file without main', async () => {
    const { folder } = await init('relu-leetgpu', { values: { N: 4096 }, buffers: ['input=N', 'output=N'] });
    expect(summaryOf(folder)).toMatchObject({
      buffers: 'in f32 input[N], out f32 output[N]',
      steps: ['relu_kernel (ceilDiv(N, 256)) x (256): input, output, N'],
    });
  });

  it('is said by options: the launch of a kernel alone', async () => {
    const path = fileOf('__global__ void twice(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2.f; }\n');
    expect(await failureOf(path)).toMatchObject({ code: 'not-in-the-file' });
    const options = { values: { n: 100 }, buffers: ['x=n'], grid: '1', block: '128' };
    const { folder } = await initProblem(path, { ...NOTHING, ...options }, fresh());
    expect(summaryOf(folder)).toMatchObject({ buffers: 'inout f32 x[n]', steps: ['twice (1) x (128): x, n'] });
  });

  it('chooses among kernels', async () => {
    const { folder } = await init('several-gemms', { kernels: ['gemm_shared'] });
    expect(summaryOf(folder).steps.filter((step) => !step.startsWith('needs '))).toEqual([
      expect.stringMatching(/^gemm_shared /),
    ]);
    expect(await failureOf(join(FIXTURES, 'several-gemms.cu'), { kernels: ['gemm'] })).toMatchObject({
      code: 'no-such-kernel',
      received: 'gemm',
    });
  });

  it('leaves the reference to the user if asked', async () => {
    const { folder } = await init('sgemm-naive', { reference: 'stub' });
    expect(summaryOf(folder).reference).toBe('stub');
  });
});

describe('what can’t be done', () => {
  const KERNEL = '__global__ void k(float* x) { x[threadIdx.x] = 1.f; }';

  it.each([
    ['no kernel at all', 'int main() { return 0; }', 'no-kernel'],
    ['a comment that does not end', `${KERNEL} /* int main`, 'unreadable-source'],
    ['device code that does not compile', KERNEL.replace('1.f', 'helper(1.f)'), 'does-not-compile'],
    [
      'a template that nothing launches',
      'template <int N> __global__ void k(float* x) { x[N] = 1.f; }',
      'template-not-launched',
    ],
    [
      'constant memory that a device function reads',
      '__constant__ float c[4]; __device__ float f(int i) { return c[i]; } ' +
        '__global__ void k(float* x) { x[threadIdx.x] = f(0); } ' +
        'int main() { float h[4]; float* d; cudaMalloc(&d, 4 * sizeof(float)); cudaMemcpyToSymbol(c, h, sizeof(h)); k<<<1, 4>>>(d); }',
      'constant-memory',
    ],
    [
      'launches whose results nobody reads',
      '__global__ void k(const float* x, float* y) { if (x[0] > 1e30f) y[0] = x[1]; } ' +
        'int main() { float *a, *b, h[4]; cudaMalloc(&a, 16); cudaMalloc(&b, 16); k<<<1, 1>>>(a, nullptr); cudaMemcpy(h, a, 16, cudaMemcpyDeviceToHost); }',
      'no-result',
    ],
  ])('%s', async (_, text, code) => {
    expect(await failureOf(fileOf(text))).toMatchObject({ code });
  });

  it('says where files lie that are not there', async () => {
    expect(await failureOf(join(out, 'nowhere.cu'))).toMatchObject({ code: 'missing-file' });
  });
});

it('reads headers beside the file', async () => {
  const path = fileOf(
    '#include "kernels.cuh"\nint main() { int n = 300; float* d; cudaMalloc(&d, n * sizeof(float)); fill<<<(n + 63) / 64, 64>>>(d, n); }\n',
  );
  writeFileSync(
    join(path, '../kernels.cuh'),
    '#pragma once\n__global__ void fill(float* x, int n) { int i = blockIdx.x * 64 + threadIdx.x; if (i < n) x[i] = 3.f; }\n',
  );
  const { folder } = await initProblem(path, NOTHING, fresh());
  expect(summaryOf(folder)).toMatchObject({ buffers: 'out f32 d[n]', steps: ['fill (ceilDiv(n, 64)) x (64): d, n'] });
});

it('takes nothing but sources beside the file', async () => {
  const path = fileOf(
    '#include "key.txt"\n#include "folder.cuh"\n#ifndef KEY\n#define KEY 3.f\n#endif\n' +
      '__global__ void fill(float* x, int n) { int i = blockIdx.x * 64 + threadIdx.x; if (i < n) x[i] = KEY; }\n' +
      'int main() { int n = 300; float* d; cudaMalloc(&d, n * sizeof(float)); fill<<<(n + 63) / 64, 64>>>(d, n); }\n',
  );
  writeFileSync(join(path, '../key.txt'), '#define KEY 1234567.f\n');
  mkdirSync(join(path, '../folder.cuh'));
  const { folder } = await initProblem(path, NOTHING, fresh());
  expect(readFileSync(join(folder, '01_fill/kernel.cu'), 'utf8')).not.toContain('1234567');
});
