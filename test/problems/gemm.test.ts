import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { reference } from '../../problems/gemm/reference.ts';
import { audit } from '../../src/app/audit.ts';
import { evaluateKernel } from '../../src/app/evaluate.ts';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { loadProblem } from '../../src/app/loading/load-problem.ts';
import { optimizeProblem } from '../../src/app/optimize.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { expandPlan } from '../../src/core/plan/expand-plan.ts';
import { validAssignments } from '../../src/core/plan/parameters.ts';
import { NOTHING_KEPT, UNLIMITED } from '../../src/store/events.ts';

const exact = (value: number): number => value;

const SHARED_RUNGS = ['01_naive', '02_tiled', '03_register_tiled', '04_vectorised'];
const LADDERS = [
  ['gemm', SHARED_RUNGS],
  ['gemm-f16', [...SHARED_RUNGS, '05_tensor_cores']],
] as const;

/** Element by element, along the inner axis: another order than the reference's. */
const product = (A: Float64Array, B: Float64Array, M: number, N: number, K: number): Float64Array =>
  Float64Array.from({ length: M * N }, (_, i) => {
    const [m, n] = [Math.floor(i / N), i % N];
    return Array.from({ length: K }, (_, k) => A[m * K + k]! * B[k * N + n]!).reduce((sum, term) => sum + term, 0);
  });

/** Judges a kernel on its problem's check shapes and a small ragged workload. */
const judge = (target: string): Promise<Evaluation> =>
  evaluateKernel({ target, device: 'virtual:l4', workload: 'M=70,N=72,K=40', parameters: {}, seed: 1, threads: 1 });

describe('reference', () => {
  it('multiplies matrices of different extents', () => {
    // Small integers: every sum is exact in any order.
    const [M, N, K] = [3, 5, 4];
    const A = Float64Array.from({ length: M * K }, (_, i) => ((i * 7) % 11) - 5);
    const B = Float64Array.from({ length: K * N }, (_, i) => ((i * 5) % 13) - 6);
    expect(reference({ A, B }, { M, N, K }, exact).C).toEqual(product(A, B, M, N, K));
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

describe.each(LADDERS)('the ladder of %s', (name, rungs) => {
  const folder = `problems/${name}`;

  it('is listed in problem.json in this order and starts at its first rung', async () => {
    const { file } = await loadProblem(folder);
    expect(file.rungs).toEqual(rungs);
    expect(file.start).toBe('01_naive');
  });

  it('has from 60 to 150 valid configurations, which plan one launch for every check shape', async () => {
    let count = 0;
    for (const rung of rungs) {
      const { kernel, problem } = await loadKernel(join(folder, rung));
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

  it.each(rungs)('%s is right on every check shape and a ragged workload', async (rung) => {
    const { status, reason } = await judge(join(folder, rung));
    expect({ status, reason }).toEqual({ status: 'passed', reason: undefined });
  });

  it('has checks that refuse every generic wrong kernel', async () => {
    const { mutants, falseAlarms } = await audit({ target: folder, seed: 1 });
    expect(mutants.filter(({ verdict }) => verdict !== 'caught').map(({ id }) => id)).toEqual([]);
    expect(falseAlarms).toEqual([]);
  });
});

it.each(['reference.ts', 'reference/kernel.cu', ...SHARED_RUNGS.map((rung) => `${rung}/kernel.cu`)])(
  '%s is the same for both dtypes',
  async (file) => {
    const source = (problem: string) => readFile(`problems/${problem}/${file}`, 'utf8');
    expect(await source('gemm-f16')).toBe(await source('gemm'));
  },
);

/** 02_tiled with one expression of its source replaced. */
async function tampered(problem: string, expression: string, replacement: string): Promise<Evaluation> {
  const folder = await mkdtemp(join(tmpdir(), 'warpsmith-gemm-'));
  try {
    const rung = `problems/${problem}/02_tiled`;
    const source = await readFile(join(rung, 'kernel.cu'), 'utf8');
    expect(source).toContain(expression);
    await writeFile(join(folder, 'kernel.cu'), source.replace(expression, replacement));
    const { $schema: _, ...file } = JSON.parse(await readFile(join(rung, 'kernel.json'), 'utf8'));
    const declared = { ...file, problem: relative(folder, `problems/${problem}/problem.json`) };
    await writeFile(join(folder, 'kernel.json'), JSON.stringify(declared));
    return await judge(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe('the checks', () => {
  const PRODUCT = 'sum += A_smem[threadIdx.y][k] * B_smem[k][threadIdx.x]';

  it.each([
    ['gemm', 'TF32 factors', 'return value; }', 'return __uint_as_float(__float_as_uint(value) & 0xffffe000u); }'],
    [
      'gemm',
      'sums in bf16 precision',
      PRODUCT,
      `${PRODUCT}, sum = __uint_as_float(__float_as_uint(sum) & 0xffff0000u)`,
    ],
    ['gemm-f16', 'sums in fp16', PRODUCT, `${PRODUCT}, sum = __half2float(__float2half(sum))`],
  ])('of %s refuse %s', async (problem, _what, expression, replacement) => {
    expect((await tampered(problem, expression, replacement)).status).toBe('wrong');
  });

  it('of gemm leave honest fp32 sums a margin', async () => {
    const { correctness } = await judge('problems/gemm/02_tiled');
    expect(correctness!.worstErrorRatio).toBeLessThan(0.5);
  });
});

describe('optimising gemm', () => {
  it('climbs from the naive rung to the last one', async () => {
    const store = await mkdtemp(join(tmpdir(), 'warpsmith-gemm-'));
    try {
      const { result } = await optimizeProblem({
        target: 'problems/gemm',
        device: 'virtual:l4',
        workloads: [],
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
