import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Expression } from '../../src/core/expressions/syntax-tree.ts';
import type { ArgumentDeclaration, Candidate, KernelFile, StepDeclaration } from '../../src/core/kernel.ts';
import { PROBLEMS, type ProblemName } from './problems.ts';

/** What is in the source, and what is to stand there instead: makes a right kernel subtly wrong. */
export type Edit = readonly [text: string, instead: string];

/** A kernel of kernels/, named by its function. */
export interface HonestKernel {
  readonly problem: ProblemName;
  readonly name: string;
  readonly file: Partial<KernelFile> & Pick<KernelFile, 'steps'>;
  /** Name of its source in kernels/, where it is not its problem's. */
  readonly source?: string;
}

const i32 = (scalar: string): ArgumentDeclaration => ({ scalar, dtype: 'i32' });
const buffers = (...names: string[]): ArgumentDeclaration[] => names.map((buffer) => ({ buffer }));

const launch = (
  name: string,
  grid: Expression[],
  block: number,
  args: ArgumentDeclaration[],
  more: object = {},
): StepDeclaration => ({ function: name, grid, block: [block], arguments: args, ...more });

/** By launches: of a thread a row, a warp a row, a CTA of 128 a row, a thread an element. */
const rowArguments = [...buffers('x', 'y'), i32('R'), i32('N')];
const perThread = (name: string, args = rowArguments) => launch(name, ['ceilDiv(R, 32)'], 32, args);
const perWarp = (name: string, args = rowArguments) => launch(name, ['R'], 32, args);
const elementwise = (name: string, args: ArgumentDeclaration[], count = 'N') =>
  launch(name, [`ceilDiv(${count}, 64)`], 64, args);
const few = (name: string, args: ArgumentDeclaration[]) => launch(name, [3], 64, args);

const kernel = (
  problem: ProblemName,
  name: string,
  steps: StepDeclaration | StepDeclaration[],
  more: Partial<KernelFile> = {},
): HonestKernel => ({ problem, name, file: { steps: [steps].flat(), ...more } });

const MATRICES = [...buffers('A', 'B', 'C'), i32('M'), i32('N'), i32('K')];
const PARTIALS = [...buffers('A', 'B', 'partials'), i32('M'), i32('N'), i32('K')];
const matrix = (name: string, args = MATRICES, z = 1) => launch(name, ['ceilDiv(N, 32)', 'M', z], 32, args);
const attentionArguments: ArgumentDeclaration[] = [
  ...buffers('Q', 'K', 'V', 'O'),
  i32('S'),
  { scalar: '1 / sqrt(32)', dtype: 'f32' },
];
const attention = (type: 'f16' | 'bf16', name: string): HonestKernel => {
  const cuda = { f16: 'half', bf16: '__nv_bfloat16' }[type];
  return kernel(`attention-${type}`, name, launch(`${name}<${cuda}>`, ['ceilDiv(S, 32)'], 32, attentionArguments));
};
const NORM = [...buffers('x', 'w', 'y'), i32('R'), i32('N')];
const DOT = [...buffers('a', 'b', 'y'), i32('R'), i32('N')];
const COUNTS = [...buffers('x', 'counts'), i32('N')];
const VECTOR = [...buffers('x', 'y'), i32('N')];
const ADAMW = [...buffers('p', 'g', 'm', 'v', 'next', 'm_next', 'v_next'), i32('N')];
const clearCounts = launch('clear', [1], 16, buffers('counts'));
const zeroed: StepDeclaration = { memset: { buffer: 'y', byteValue: 0 } };

/** On tensor cores: a CTA of a few warps for each tile of C. */
const onTensorCores = (name: string, columns: number, warps = 1): HonestKernel => ({
  ...kernel('gemm-f16', name, launch(name, [`ceilDiv(N, ${columns})`, 'ceilDiv(M, 16)'], 32 * warps, MATRICES)),
  source: 'gemm-f16-tensor',
});

export const HONEST_KERNELS: readonly HonestKernel[] = [
  ...['serial', 'reversed', 'kahan', 'four_sums', 'in_double'].map((name) => kernel('row-sum', name, perThread(name))),
  ...['warp_per_row', 'vectors'].map((name) => kernel('row-sum', name, perWarp(name))),
  kernel('row-sum', 'shared_tree', launch('shared_tree', ['R'], 128, rowArguments)),
  kernel('row-sum', 'persistent', launch('persistent', [2], 32, rowArguments)),
  kernel(
    'row-sum',
    'split',
    [
      launch('split', ['R', 4], 32, [...buffers('x', 'partials'), i32('R'), i32('N')]),
      launch('join', [1], 32, [...buffers('partials', 'y'), i32('R')]),
    ],
    { workspaces: { partials: { bytes: '16 * R', init: 'undefined' } } },
  ),
  kernel(
    'row-sum',
    'last_block',
    launch('last_block', ['R', 4], 32, [...buffers('x', 'y', 'partials', 'arrived'), i32('R'), i32('N')]),
    { workspaces: { partials: { bytes: '16 * R', init: 'undefined' }, arrived: { bytes: '4 * R', init: 'zero' } } },
  ),
  ...['atomics', 'atomic_per_warp'].map((name) => kernel('total', name, [zeroed, elementwise(name, VECTOR)])),
  ...['two_pass', 'welford', 'shifted'].map((name) => kernel('variance', name, perThread(name))),
  kernel('variance', 'chunked', perWarp('chunked')),
  ...['three_passes', 'online', 'lazy_rescale', 'exp2_folded'].map((name) => kernel('softmax', name, perThread(name))),
  kernel('softmax', 'fast_intrinsics', perWarp('fast_intrinsics')),
  ...['naive', 'half2_loads'].map((name) => kernel('gemm-f16', name, matrix(name))),
  kernel('gemm-f16', 'double_buffered', launch('double_buffered', ['ceilDiv(N, 8)', 'ceilDiv(M, 8)'], 64, MATRICES)),
  kernel(
    'gemm-f16',
    'split_k',
    [matrix('split_k', PARTIALS, 3), elementwise('join', [...buffers('partials', 'C'), i32('M'), i32('N')], 'M * N')],
    { workspaces: { partials: { bytes: '12 * M * N', init: 'undefined' } } },
  ),
  kernel(
    'gemm-f16',
    'stream_k',
    [
      launch('stream_k', [5], 32, PARTIALS),
      elementwise('fix_up', [...buffers('partials', 'C'), i32('M'), i32('N'), i32('K'), i32('5')], 'M * N'),
    ],
    { workspaces: { partials: { bytes: '20 * M * N', init: 'undefined' } } },
  ),
  onTensorCores('wmma_tiles', 16),
  onTensorCores('ldmatrix_mma', 8),
  onTensorCores('cp_async', 8),
  onTensorCores('named_barriers', 8, 2),
  {
    ...kernel(
      'gemm-f16',
      'grid_barrier',
      launch('grid_barrier', [1], 64, [...buffers('A', 'B', 'C', 'partials', 'arrived'), i32('M'), i32('N'), i32('K')]),
      { workspaces: { partials: { bytes: '8 * M * N', init: 'undefined' }, arrived: { bytes: 4, init: 'zero' } } },
    ),
    source: 'gemm-f16-tensor',
  },
  kernel('gemm-f32', 'naive', matrix('naive')),
  kernel('gemm-f32', 'warp_per_element', launch('warp_per_element', ['N', 'M'], 32, MATRICES)),
  attention('f16', 'flash'),
  attention('f16', 'two_passes'),
  attention('bf16', 'flash'),
  attention('bf16', 'two_passes'),
  kernel('rms-norm', 'thread_per_row', perThread('thread_per_row', NORM)),
  kernel('rms-norm', 'warp_per_row', perWarp('warp_per_row', NORM)),
  ...['dot_scalar', 'dot_dp4a'].map((name) => kernel('dot-i8', name, perThread(name, DOT))),
  kernel('sort', 'sort_bitonic', launch('sort_bitonic', ['R'], 256, VECTOR)),
  ...['sort_by_rank', 'sort_radix'].map((name) => kernel('sort', name, launch(name, ['R'], 128, VECTOR))),
  kernel('histogram', 'histogram_atomics', [clearCounts, elementwise('histogram_atomics', COUNTS)]),
  kernel('histogram', 'histogram_shared', [clearCounts, few('histogram_shared', COUNTS)]),
  kernel('histogram', 'histogram_by_bin', launch('histogram_by_bin', [1], 16, COUNTS)),
  kernel('scan', 'scan_serial', launch('scan_serial', [1], 1, VECTOR)),
  ...['scan_doubling', 'scan_blelloch'].map((name) => kernel('scan', name, launch(name, [1], 256, VECTOR))),
  kernel(
    'transpose',
    'transpose_direct',
    elementwise('transpose_direct', [...buffers('x', 'y'), i32('M'), i32('N')], 'M * N'),
  ),
  kernel(
    'transpose',
    'transpose_tile',
    launch('transpose_tile', ['ceilDiv(N, 16)', 'ceilDiv(M, 16)'], 256, [...buffers('x', 'y'), i32('M'), i32('N')]),
  ),
  kernel('axpy', 'axpy', elementwise('axpy', VECTOR)),
  kernel('axpy', 'axpy_grid_stride', few('axpy_grid_stride', VECTOR)),
  kernel('axpy', 'axpy_pairs', elementwise('axpy_pairs', VECTOR)),
  kernel(
    'axpy',
    'axpy_step',
    launch('axpy_step', [1], 64, [...buffers('x', 'y', 'position'), i32('N')], { repeat: 'ceilDiv(N, 64)' }),
    { workspaces: { position: { bytes: 4, init: 'zero' } } },
  ),
  kernel('axpy', 'axpy_scratch', elementwise('axpy_scratch', [...buffers('x', 'y', 'claimed'), i32('N')]), {
    workspaces: { claimed: { bytes: '4 * N', init: 'once' } },
  }),
  kernel('dot-f64', 'serial', perThread('serial', DOT)),
  kernel('dot-f64', 'warp_per_row', perWarp('warp_per_row', DOT)),
  ...['with_tanh', 'with_fast_exp'].map((name) => kernel('gelu', name, elementwise(name, VECTOR))),
  ...['plain', 'folded'].map((name) => kernel('adamw', name, elementwise(name, ADAMW))),
  kernel('adamw', 'grid_stride', few('grid_stride', ADAMW)),
  kernel('blur', 'window', elementwise('window', rowArguments, 'R * N')),
  kernel('blur', 'running_sum', perThread('running_sum')),
  kernel('blur', 'prefix_sums', launch('prefix_sums', ['R'], 32, rowArguments, { sharedBytes: '4 * (N + 1)' })),
];

/** Twins of honest kernels, wrong in one small way each. */
export interface WrongKernel {
  readonly title: string;
  readonly kernel: HonestKernel;
  readonly edits: readonly Edit[];
}

const wrong = (problem: ProblemName, name: string, title: string, ...edits: Edit[]): WrongKernel => ({
  title,
  kernel: HONEST_KERNELS.find((honest) => honest.problem === problem && honest.name === name)!,
  edits,
});

/** Rounds to so many bits less than fp32 has, to nearest. */
const narrowed = (value: string, bits: number): string =>
  `__int_as_float((__float_as_int(${value}) + ${2 ** (bits - 1)}) & ~${2 ** bits - 1})`;
const HALF_SUM = '__half2float(__float2half(sum))';

export const WRONG_KERNELS: readonly WrongKernel[] = [
  wrong('row-sum', 'serial', 'drops the last element', [
    'float sum = 0.0f;\n  for (int c = 0; c < N; ++c) sum +=',
    'float sum = 0.0f;\n  for (int c = 0; c < N - 1; ++c) sum +=',
  ]),
  wrong('row-sum', 'four_sums', 'forgets the tail', [
    'for (; c < N; ++c) sums[0] +=',
    'for (; c < N && false; ++c) sums[0] +=',
  ]),
  wrong('row-sum', 'warp_per_row', 'reads its operands as tf32', [
    'blockIdx.x;\n  float sum = 0.0f;\n  for (int c = threadIdx.x; c < N; c += WARP) sum += x[row * N + c];',
    `blockIdx.x;\n  float sum = 0.0f;\n  for (int c = threadIdx.x; c < N; c += WARP) sum += ${narrowed('x[row * N + c]', 13)};`,
  ]),
  wrong('row-sum', 'shared_tree', 'is biased by a thousand units in the last place', [
    'if (threadIdx.x == 0) y[row] = values[0];',
    'if (threadIdx.x == 0) y[row] = values[0] * (1.0f + 1000 * 1.19209290e-7f);',
  ]),
  wrong(
    'row-sum',
    'kahan',
    'accumulates in fp16',
    ['sum = next;', 'sum = __half2float(__float2half(next));'],
    ['constexpr int WARP = 32;', '#include <cuda_fp16.h>\nconstexpr int WARP = 32;'],
  ),
  wrong('total', 'atomic_per_warp', 'leaves one element out', ['sum += x[i];', 'sum += i == 37 ? 0.0f : x[i];']),
  wrong('variance', 'shifted', 'subtracts nothing: E[x²] − E[x]²', ['shift += x[row * N + c] / 16;', 'shift += 0.0f;']),
  wrong('variance', 'two_pass', 'divides by N − 1', [
    'y[row] = squares / N;\n}\n\nextern "C" __global__ void welford',
    'y[row] = squares / (N - 1);\n}\n\nextern "C" __global__ void welford',
  ]),
  wrong('softmax', 'three_passes', 'subtracts no maximum', [
    'maximum = fmaxf(maximum, x[row * N + c]);\n  for (int c = 0; c < N; ++c) sum += expf(x[row * N + c] - maximum);',
    'maximum = 0.0f;\n  for (int c = 0; c < N; ++c) sum += expf(x[row * N + c] - maximum);',
  ]),
  wrong('softmax', 'online', 'forgets to rescale', ['sum = sum * expf(maximum - larger) +', 'sum = sum +']),
  wrong('softmax', 'fast_intrinsics', 'rounds the weights to 13 bits', [
    'y[row * N + c] = __expf(x[row * N + c] - maximum) * inverse;',
    `y[row * N + c] = ${narrowed('__expf(x[row * N + c] - maximum)', 11)} * inverse;`,
  ]),
  wrong('gemm-f16', 'naive', 'accumulates in fp16', [
    'sum += product(A[m * K + k], B[k * N + n]);\n  C[m',
    `{ sum += product(A[m * K + k], B[k * N + n]); sum = ${HALF_SUM}; }\n  C[m`,
  ]),
  wrong('gemm-f16', 'half2_loads', 'leaves out the odd term at the end', [
    'if (k < K) even =',
    'if (k < K && false) even =',
  ]),
  // Adding up in fp16 instead rounds 5 times for 67 terms here, since a wmma rounds once: no more than the result's own rounding.
  wrong('gemm-f16', 'wmma_tiles', 'leaves out the last step, which is not full', [
    'for (int k = 0; k < K; k += 16) {',
    'for (int k = 0; k + 16 <= K; k += 16) {',
  ]),
  wrong('gemm-f16', 'ldmatrix_mma', 'does not transpose B on the way', ['.m8n8.x2.trans.', '.m8n8.x2.']),
  wrong('gemm-f16', 'cp_async', 'multiplies a tile that is still on its way', ['wait_prior(1)', 'wait_prior(2)']),
  wrong('gemm-f16', 'named_barriers', 'never has the last tile multiplied', [
    'sync(1 + stage);\n      multiply',
    'sync(1 + stage);\n      if (k + K_TILE < K || K <= K_TILE) multiply',
  ]),
  wrong('gemm-f16', 'grid_barrier', 'leaves out half of the terms', [
    'partials[i] + partials[M * N + i]',
    '2.0f * partials[i]',
  ]),
  wrong('gemm-f32', 'naive', 'multiplies in tf32', [
    'sum += A[m * K + k] * B[k * N + n];',
    `sum += ${narrowed('A[m * K + k]', 13)} * ${narrowed('B[k * N + n]', 13)};`,
  ]),
  wrong('gemm-f32', 'warp_per_element', 'multiplies with 16 bits', [
    'fmaf(A[m * K + k], B[k * N + n], sum)',
    `fmaf(${narrowed('A[m * K + k]', 8)}, ${narrowed('B[k * N + n]', 8)}, sum)`,
  ]),
  wrong('attention-f16', 'flash', 'rounds its weights to 8 bits', [
    'const float p = rounded<T>(weight);',
    'const float p = rounded<__nv_bfloat16>(weight);',
  ]),
  wrong('attention-f16', 'two_passes', 'accumulates P · V in fp16', [
    'out[d] += weight * to_float(V[key * D + d]);',
    'out[d] = rounded<T>(out[d] + weight * to_float(V[key * D + d]));',
  ]),
  wrong('attention-bf16', 'two_passes', 'adds up its weights in bf16', [
    '    sum += weight;\n    for (int d = 0; d < D; ++d) out[d] += weight',
    '    sum = rounded<T>(sum + weight);\n    for (int d = 0; d < D; ++d) out[d] += weight',
  ]),
  wrong('rms-norm', 'thread_per_row', 'accumulates in fp16, K = 256', [
    'squares += __half2float(x[row * N + c]) * __half2float(x[row * N + c]);',
    'squares = __half2float(__hadd(__float2half(squares), __hmul(x[row * N + c], x[row * N + c])));',
  ]),
  {
    title: 'adds squares up in fp16, as a tree',
    kernel: kernel('rms-norm', 'half_tree', perWarp('half_tree', NORM)),
    edits: [],
  },
  wrong('dot-i8', 'dot_scalar', 'saturates at 16 bits', [
    'y[row] = sum;\n}\n\n// Four',
    'y[row] = max(-32768, min(32767, sum));\n}\n\n// Four',
  ]),
  wrong('sort', 'sort_by_rank', 'loses equal values', ['|| (row[j] == row[i] && j < i)', '']),
  wrong('dot-f64', 'serial', 'accumulates in fp32', [
    'double sum = 0.0;\n  for (int c = 0;',
    'float sum = 0.0f;\n  for (int c = 0;',
  ]),
  wrong('gelu', 'with_tanh', 'takes the sigmoid for the tanh', [
    'y[i] = 0.5f * x[i] * (1.0f + tanhf(C0 * (x[i] + C1 * x[i] * x[i] * x[i])));',
    'y[i] = x[i] / (1.0f + expf(-1.702f * x[i]));',
  ]),
  wrong('adamw', 'plain', 'takes the root with eps inside', [
    'sqrtf(square / CORRECTION2) + EPS',
    'sqrtf(square / CORRECTION2 + 1e-4f)',
  ]),
  wrong('adamw', 'folded', 'forgets the decay', ['fmaf(p[i], 1.0f - LR * DECAY,', 'fmaf(p[i], 1.0f,']),
  wrong('blur', 'running_sum', 'subtracts one element too late', [
    'c - RADIUS, N);\n  }\n}\n\n// Differences',
    'c - RADIUS - 1, N);\n  }\n}\n\n// Differences',
  ]),
];

const FILES: Partial<Record<ProblemName, string>> = {
  'attention-f16': 'attention',
  'attention-bf16': 'attention',
  'dot-i8': 'integers',
  sort: 'integers',
  histogram: 'integers',
  scan: 'integers',
  transpose: 'copies',
  axpy: 'copies',
};

/** A candidate with the kernel's source, edits made. @throws Error when an edit's text is not there exactly once. */
export const candidateOf = (
  { problem, name, file, source: named }: HonestKernel,
  edits: readonly Edit[] = [],
): Candidate => {
  const path = join(import.meta.dirname, 'kernels', `${named ?? FILES[problem] ?? problem}.cu`);
  const source = edits.reduce(
    (text, [from, to]) => {
      if (text.split(from).length !== 2) throw new Error(`not there exactly once in ${path}: ${from}`);
      return text.replace(from, () => to);
    },
    readFileSync(path, 'utf8'),
  );
  return makeCandidate(
    {
      folder: `test/honest/${problem}/${name}`,
      file: {
        schemaVersion: 1,
        name,
        description: '',
        problem: '../problem.json',
        source: { kind: 'cuda', files: ['kernel.cu'] },
        ...file,
      },
      sources: { 'kernel.cu': source },
    },
    {},
  );
};

export const problemOf = ({ problem }: HonestKernel) => PROBLEMS[problem];
