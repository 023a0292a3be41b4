import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reference, referenceRows } from '../../problems/gemm/reference.ts';
import { evaluateKernel } from '../../src/app/evaluate.ts';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { loadProblem } from '../../src/app/loading/load-problem.ts';
import { optimizeProblem } from '../../src/app/optimize.ts';
import { openSession, type Session } from '../../src/app/session.ts';
import type { DType } from '../../src/core/dtype.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { expandPlan } from '../../src/core/plan/expand-plan.ts';
import { validAssignments } from '../../src/core/plan/parameters.ts';
import { float64Room } from '../../src/evaluation/oracle/float64/room.ts';
import { NOTHING_KEPT, UNLIMITED } from '../../src/store/events.ts';
import { type Edit, judgeRung } from '../support/judge-rung.ts';
import { narrowCopy } from '../support/narrowed.ts';
import { longTestOf } from '../support/sampling/long-tests.ts';
import { climb, mistakesOf, rungsOf } from './support/matrices.ts';

const exact = (value: number): number => value;

const SHARED_RUNGS = ['01_naive', '02_tiled', '03_register_tiled', '04_vectorised'];
const ALL_RUNGS = [...SHARED_RUNGS, '05_tensor_cores'];
const FOLDER = 'problems/gemm';
/** Rungs that compute in the dtype, and what the problem is called then. */
const LADDERS = [
  ['f32', 'gemm', SHARED_RUNGS],
  ['f16', 'gemm-f16', ALL_RUNGS],
  ['bf16', 'gemm-bf16', ALL_RUNGS],
] as const;

/** Element by element, along the inner axis: another order than the reference's. */
const product = (A: Float64Array, B: Float64Array, M: number, N: number, K: number): Float64Array =>
  Float64Array.from({ length: M * N }, (_, i) => {
    const [m, n] = [Math.floor(i / N), i % N];
    return Array.from({ length: K }, (_, k) => A[m * K + k]! * B[k * N + n]!).reduce((sum, term) => sum + term, 0);
  });

let session: Session;
beforeAll(async () => {
  session = await openSession({ device: 'virtual:l4', threads: 1 });
});
afterAll(() => session[Symbol.asyncDispose]());

/** Judges a kernel on its problem's check shapes and a small ragged workload. */
const judge = (folder: string, dtype: DType, edits: readonly Edit[] = []): Promise<Evaluation> =>
  judgeRung(session, { folder, dtype, edits, workload: 'M=70,N=72,K=40' });

describe('reference', () => {
  it('multiplies matrices of different extents', () => {
    // Small integers: every sum is exact in any order.
    const [M, N, K] = [3, 5, 4];
    const A = Float64Array.from({ length: M * K }, (_, i) => ((i * 7) % 11) - 5);
    const B = Float64Array.from({ length: K * N }, (_, i) => ((i * 5) % 13) - 6);
    expect(reference({ A, B }, { M, N, K }, exact).C).toEqual(product(A, B, M, N, K));
  });

  it('has the same bits in a room for products', () => {
    // More rows than are in the room at once.
    const [M, N, K] = [131, 37, 90];
    const A = Float64Array.from({ length: M * K }, (_, i) => Math.sin(i));
    const B = Float64Array.from({ length: K * N }, (_, i) => Math.sin(2 * i));
    const rows = { C: Uint32Array.from({ length: M }, (_, m) => m).filter((m) => m % 5 > 0) };
    for (const round of [exact, Math.fround]) {
      const run = [{ A, B }, { M, N, K }, round] as const;
      expect(reference(...run, float64Room)).toEqual(reference(...run));
      expect(referenceRows(...run, rows, float64Room)).toEqual(referenceRows(...run, rows));
    }
  });

  it('gives the right factor back when the left one is a permutation', () => {
    const B = Float64Array.of(1, 2, 3, 4, 5, 6);
    const swapRows = Float64Array.of(0, 1, 1, 0);
    expect(reference({ A: swapRows, B }, { M: 2, N: 3, K: 2 }, exact).C).toEqual(Float64Array.of(4, 5, 6, 1, 2, 3));
  });

  it('rounds a sum once, at its end', () => {
    const seen: number[] = [];
    const round = (value: number): number => {
      seen.push(value);
      return Math.floor(value);
    };
    const { C } = reference({ A: Float64Array.of(0.5, 0.25), B: Float64Array.of(3, 5) }, { M: 1, N: 1, K: 2 }, round);
    expect(seen).toEqual([2.75]);
    expect(C).toEqual(Float64Array.of(2));
  });
});

describe.each(LADDERS)('the ladder of gemm in %s', (dtype, name, rungs) => {
  it('is listed in problem.json in this order, starts at its first rung, and is told from other dtypes by its name', async () => {
    const { file } = await loadProblem(FOLDER, { dtype });
    expect(file.rungs).toEqual(ALL_RUNGS);
    expect(file.start).toBe('01_naive');
    expect([file.name, file.dtype]).toEqual([name, dtype]);
    expect(Object.values({ ...file.inputs, ...file.outputs }).map((buffer) => buffer.dtype)).toEqual([
      dtype,
      dtype,
      dtype,
    ]);
  });

  it('has from 60 to 150 valid configurations, which plan one launch for every check shape', async () => {
    let count = 0;
    for (const rung of rungs) {
      const { kernel, problem } = await loadKernel(join(FOLDER, rung), { dtype });
      for (const parameters of validAssignments(kernel.file)) {
        count += 1;
        for (const { dimensions } of problem.file.checkShapes) {
          const device = { smCount: 58, sharedBytesPerCta: 99 * 1024 };
          const plan = expandPlan({ problem: problem.file, kernel: kernel.file, parameters, dimensions, device });
          expect(plan.steps.map(({ kind }) => kind)).toEqual(['launch']);
        }
      }
    }
    expect(count).toBeGreaterThanOrEqual(60);
    expect(count).toBeLessThanOrEqual(150);
  });

  rungsOf(
    'gemm',
    rungs,
    dtype,
  )('%s is right on every check shape and a ragged workload', async (rung) => {
    const { status, reason } = await judge(join(FOLDER, rung), dtype);
    expect({ status, reason }).toEqual({ status: 'passed', reason: undefined });
  });
});

describe('a rung for tensor cores', () => {
  const RUNG = join(FOLDER, '05_tensor_cores');

  it('says in which dtypes it computes where another one is asked for', async () => {
    const request = { target: RUNG, dtype: 'f32', device: 'virtual:l4', workload: 'M=70,N=72,K=40', seed: 1 } as const;
    const { status, reason } = await evaluateKernel(request);
    expect(status).toBe('unsupported');
    expect(reason).toBe('05_tensor_cores does not take this workload: dtype in f16, bf16 (dtype = f32)');
  });

  it('computes in the first of them where none is named', async () => {
    const { problem } = await loadKernel(RUNG);
    expect(problem.file.name).toBe('gemm-f16');
  });
});

/** 02_tiled with one expression of its source replaced. */
const tampered = (dtype: DType, expression: string, replacement: string): Promise<Evaluation> =>
  judge(join(FOLDER, '02_tiled'), dtype, [[expression, replacement]]);

describe('the checks', () => {
  const PRODUCT = 'sum += A_smem[threadIdx.y][k] * B_smem[k][threadIdx.x]';

  mistakesOf('gemm', [
    ['f32', 'TF32 factors', 'return value; }', 'return __uint_as_float(__float_as_uint(value) & 0xffffe000u); }'],
    ['f32', 'sums in bf16 precision', PRODUCT, `${PRODUCT}, sum = __uint_as_float(__float_as_uint(sum) & 0xffff0000u)`],
    ['f16', 'sums in fp16', PRODUCT, `${PRODUCT}, sum = __half2float(__float2half(sum))`],
    ['bf16', 'sums in bf16', PRODUCT, `${PRODUCT}, sum = __bfloat162float(__float2bfloat16(sum))`],
  ] as const)('of %s products refuse %s', async (dtype, _what, expression, replacement) => {
    expect((await tampered(dtype, expression, replacement)).status).toBe('wrong');
  });

  longTestOf(import.meta.filename)('of fp32 products leave honest sums a margin', async () => {
    const { correctness } = await judge(join(FOLDER, '02_tiled'), 'f32');
    expect(correctness!.worstErrorRatio).toBeLessThan(0.5);
  });
});

/** What the search is for, and small shapes, ragged ones among them. */
const FEW_SHAPES = [
  'M * N * K <= 262144 || M == 512 && N == 512 && K == 128',
  'M % 32 == 0 || M == 33',
  'N % 32 == 0 || N == 17',
  'K % 32 == 0 || K == 41',
];
const CLIMBED = { name: 'climbed', dimensions: { M: 512, N: 512, K: 128 } };

describe('optimising gemm', () => {
  climb('gemm on virtual:l4')('climbs from the naive rung to the last one', async () => {
    const store = await mkdtemp(join(tmpdir(), 'warpsmith-gemm-'));
    try {
      const { result } = await optimizeProblem({
        target: narrowCopy(FOLDER, store, FEW_SHAPES, CLIMBED),
        device: 'virtual:l4',
        // Large enough for the ladder's order, small enough for a test.
        workloads: ['M=512,N=512,K=128'],
        parameters: {},
        seed: 1,
        threads: 1,
        store,
        budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 5 },
      });
      expect(result.best?.candidate.kernel.file.name).toBe('04_vectorised');
      expect(result.speedup).toBeGreaterThan(3);
    } finally {
      await rm(store, { recursive: true, force: true });
    }
  });
});
