import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reference, referenceRowsOfSparse } from '../../problems/softmax/reference.ts';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { loadProblem } from '../../src/app/loading/load-problem.ts';
import { optimizeProblem } from '../../src/app/optimize.ts';
import { openSession, type Session } from '../../src/app/session.ts';
import { expandPlan } from '../../src/core/plan/expand-plan.ts';
import { validAssignments } from '../../src/core/plan/parameters.ts';
import { compareOutput } from '../../src/evaluation/oracle/compare.ts';
import { prepareCheck } from '../../src/evaluation/oracle/expectation-cache.ts';
import { gatherRows } from '../../src/evaluation/oracle/expected-rows.ts';
import { ulpAt } from '../../src/evaluation/oracle/ulp.ts';
import { NOTHING_KEPT, UNLIMITED } from '../../src/store/events.ts';
import { compareReferences } from '../support/compare-device-reference.ts';
import { type Edit, judgeRung } from '../support/judge-rung.ts';
import { narrowCopy } from '../support/narrowed.ts';
import { agreementOf, climb, effectOfRungs, mistakesOf, rungsOf } from './support/matrices.ts';

const FOLDER = 'problems/softmax';
const RUNGS = ['01_naive', '02_warp_per_row', '03_online', '04_vectorised'];

const exact = (value: number): number => value;

const softmaxOf = (x: readonly number[], rowCount = 1): number[] => {
  const dimensions = { R: rowCount, N: x.length / rowCount };
  return [...reference({ X: Float64Array.from(x) }, dimensions, exact).Y!];
};

describe('the tolerance', () => {
  it('bears a serial fp32 sum of many terms, most of them equal', async () => {
    const N = 71_258;
    const problem = await loadProblem(FOLDER);
    const dimensions = { R: 1, N };
    const prepared = prepareCheck({ problem, dimensions, seed: 1, generatorSet: 'oneHot' });
    const x = [...prepared.inputs.tensors.X!];
    const most = x.reduce((one, other) => Math.max(one, other), Number.NEGATIVE_INFINITY);
    const weights = x.map((value) => Math.fround(Math.exp(value - most)));
    const sum = weights.reduce((total, weight) => Math.fround(total + weight), 0);
    const y = Float64Array.from(weights, (weight) => Math.fround(weight / sum));
    const expectation = (await prepared.expectations()).get('Y')!;
    const buffer = prepared.buffers.find(({ name }) => name === 'Y')!;
    expect(compareOutput(buffer, expectation, y).passed).toBe(true);
    const errors = y.map((value, i) => Math.abs(value - expectation.want[i]!) / ulpAt(expectation.want[i]!, 'f32'));
    expect(Math.max(...errors.slice(0, 100))).toBeGreaterThan(128);
  });
});

describe('reference', () => {
  it('weighs two elements by the logistic function of their difference', () => {
    const [first, second] = softmaxOf([3, 1]);
    expect(first).toBeCloseTo(1 / (1 + Math.exp(-2)), 15);
    expect(second).toBeCloseTo(1 / (1 + Math.exp(2)), 15);
  });

  it('gives 1 ÷ Σ exp(x[j] − x[i]) for element i, which needs no maximum', () => {
    const x = [0.5, -1.25, 2, 0, 1.75, -3];
    for (const [i, y] of softmaxOf(x).entries()) {
      expect(y).toBeCloseTo(1 / x.reduce((sum, other) => sum + Math.exp(other - x[i]!), 0), 15);
    }
  });

  it('keeps rows apart and does not depend on what is added to a row', () => {
    const row = [1, 2, 4];
    const rows = softmaxOf([...row, ...row.map((value) => value + 5000), ...row.map((value) => value - 5000)], 3);
    expect(rows.slice(3, 6)).toEqual(rows.slice(0, 3));
    expect(rows.slice(6)).toEqual(rows.slice(0, 3));
    expect(rows.slice(0, 3).reduce((sum, value) => sum + value)).toBeCloseTo(1, 15);
  });

  it('rounds difference, exponential, sum and quotient', () => {
    const seen: number[] = [];
    const round = (value: number): number => {
      seen.push(value);
      return value;
    };
    reference({ X: Float64Array.of(7, 7) }, { R: 1, N: 2 }, round);
    expect(seen).toEqual([0, 1, 0, 1, 2, 0.5, 0.5]);
  });

  it('has the same bits in single rows', () => {
    const [R, N] = [37, 23];
    const X = Float64Array.from({ length: R * N }, (_, i) => 9 * Math.sin(i));
    const Y = Uint32Array.of(0, 2, 3, 36);
    for (const round of [(value: number): number => value, Math.fround]) {
      const whole = reference({ X }, { R, N }, round).Y!;
      expect(referenceRowsOfSparse({ X }, { R, N }, round, { Y }).Y).toEqual(gatherRows(whole, Y, N));
    }
  });
});

describe('the device reference', () => {
  agreementOf('softmax')('agrees with reference.ts on every check', async () => {
    // Only the order of float64 sums and the last bits of exp differ.
    for (const { oracle } of await compareReferences(FOLDER, 'Y')) expect(oracle).toBeLessThan(1e-13);
  });
});

describe('the ladder', () => {
  let session: Session;
  beforeAll(async () => {
    session = await openSession({ device: 'virtual:l4', threads: 1 });
  });
  afterAll(async () => await session[Symbol.asyncDispose]());

  const judge = (rung: string, more: { edits?: Edit[]; generators?: string[]; parameters?: Record<string, number> }) =>
    judgeRung(session, { folder: join(FOLDER, rung), workload: 'R=5,N=260', ...more });

  it('is listed in problem.json in this order and starts at its first rung', async () => {
    const { file } = await loadProblem(FOLDER);
    expect(file.rungs).toEqual(RUNGS);
    expect(file.start).toBe(RUNGS[0]);
  });

  it('has from 60 to 150 valid configurations, which plan one launch for every check shape', async () => {
    let count = 0;
    for (const rung of RUNGS) {
      const { kernel, problem } = await loadKernel(join(FOLDER, rung));
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

  it('checks rows of more than one chunk of every configuration', async () => {
    const { kernel, problem } = await loadKernel(join(FOLDER, '04_vectorised'));
    const chunks = validAssignments(kernel.file).map(
      ({ WARPS, ROWS_PER_CTA, UNROLL, VECTOR_WIDTH }) => ((32 * WARPS!) / ROWS_PER_CTA!) * UNROLL! * VECTOR_WIDTH!,
    );
    const wide = problem.file.checkShapes.filter(({ dimensions }) => dimensions.N! % 4 === 0);
    expect(Math.max(...wide.map(({ dimensions }) => dimensions.N!))).toBeGreaterThan(2 * Math.max(...chunks));
  });

  rungsOf('softmax', RUNGS)('%s is right on every check shape', async (rung) => {
    const { status, reason } = await judge(rung, {});
    expect({ status, reason }).toEqual({ status: 'passed', reason: undefined });
  });

  effectOfRungs('softmax')('is faster with every rung, as predicted for the first workload', async () => {
    const times: number[] = [];
    for (const rung of RUNGS) {
      const { timing } = await judgeRung(session, { folder: join(FOLDER, rung), workload: 'r32n2048' });
      times.push(timing!.medianNs);
    }
    for (const [index, time] of times.entries())
      expect(time).toBeLessThan(times[index - 1] ?? Number.POSITIVE_INFINITY);
  });

  mistakesOf<{ mistake: string; rung: string; edits: Edit[]; generators: string[] }>('softmax', [
    {
      mistake: 'no maximum is subtracted',
      rung: '02_warp_per_row',
      edits: [['expf(x[c] - maximum)', 'expf(x[c])']],
      generators: ['large'],
    },
    {
      mistake: 'the running maximum starts at 0',
      rung: '03_online',
      edits: [['pair{-FLT_MAX, 0.0f}', 'pair{0.0f, 0.0f}']],
      generators: ['negative'],
    },
    {
      mistake: 'what lies beyond the row weighs as much as 0',
      rung: '03_online',
      edits: [[': -INFINITY;', ': 0.0f;']],
      generators: ['negative'],
    },
    {
      mistake: 'a new maximum does not scale the sum',
      rung: '03_online',
      edits: [['pair.sum *= expf(pair.maximum - larger);', '']],
      generators: ['normal'],
    },
    {
      mistake: 'chunks that are read again are scaled by the wrong maximum',
      rung: '04_vectorised',
      edits: [['weight(values[u][i], whole.maximum)', 'weight(values[u][i], pair.maximum)']],
      generators: ['normal'],
    },
    {
      mistake: 'the sum is kept in fp16',
      rung: '02_warp_per_row',
      edits: [
        ['constexpr int kWarpSize', '#include <cuda_fp16.h>\nconstexpr int kWarpSize'],
        ['sum += expf(x[c] - maximum);', 'sum = __half2float(__float2half(sum + expf(x[c] - maximum)));'],
      ],
      generators: ['normal'],
    },
  ])('refuses a kernel in which $mistake', async ({ rung, edits, generators }) => {
    expect((await judge(rung, { edits, generators })).status).toBe('wrong');
  });

  it('refuses a kernel whose warps do not wait for each other', async () => {
    const { status } = await judge('04_vectorised', { edits: [['__syncthreads();', '']] });
    expect(['wrong', 'unsafe']).toContain(status);
  });
});

/** Small shapes, ragged ones among them: the confirmation verifies hundreds where there are as many. */
const FEW_SHAPES = ['R * N <= 32768', 'R % 16 == 0 || R == 17', 'N % 64 == 0 || N == 127'];
const CLIMBED = { name: 'climbed', dimensions: { R: 32, N: 1024 } };

describe('optimising', () => {
  for (const device of ['virtual:l4', 'virtual:h200'])
    climb(`softmax on ${device}`)(`climbs from the naive rung to the last one on ${device}`, async () => {
      const store = await mkdtemp(join(tmpdir(), 'warpsmith-softmax-'));
      try {
        const { result } = await optimizeProblem({
          target: narrowCopy(FOLDER, store, FEW_SHAPES, CLIMBED),
          device,
          workloads: ['R=32,N=1024'],
          parameters: {},
          seed: 1,
          threads: 1,
          ablation: false,
          store,
          budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 10 },
        });
        expect(result.best?.candidate.kernel.file.name).toBe('04_vectorised');
        expect(result.speedup).toBeGreaterThan(50);
      } finally {
        await rm(store, { recursive: true, force: true });
      }
    });
});
