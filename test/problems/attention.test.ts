import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mistakes, reference, referenceRows } from '../../problems/attention/reference.ts';
import { evaluateKernel } from '../../src/app/evaluate.ts';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { evaluateExpression } from '../../src/core/expressions/evaluate.ts';
import type { Kernel } from '../../src/core/kernel.ts';
import { completeDimensions } from '../../src/core/plan/dimensions.ts';
import { expandPlan } from '../../src/core/plan/expand-plan.ts';
import { failedLimit } from '../../src/core/plan/limits.ts';
import { completeParameters, validAssignments } from '../../src/core/plan/parameters.ts';
import type { Problem } from '../../src/core/problem.ts';
import { float64Room } from '../../src/evaluation/oracle/float64/room.ts';
import { narrowAttention } from '../support/attention-problem.ts';
import { sampledOne } from '../support/sampling/matrix.ts';

const RUNGS = [
  ...['01_minimal', '02_tiled', '03_rows', '04_warp'],
  ...['05_mma', '05_wmma', '06_ldmatrix', '07_cp_async', '07_queue'],
  ...['08_key_split', '08_two_pass', '09_fragments', '09_lean'],
];

const exact = (value: number): number => value;

/** `[1, 1, rows, D]` with the given values in column 0 and zeros elsewhere. */
const column0 = (values: readonly number[], headDim: number): Float64Array => {
  const matrix = new Float64Array(values.length * headDim);
  for (const [row, value] of values.entries()) matrix[row * headDim] = value;
  return matrix;
};

const PLAIN = { bottomRight: 0, bshd: 0, lse: 0 };
const oneHead = (S: number, causal: number) => ({ B: 1, H: 1, S, D: 64, causal, Hkv: 1, Skv: S, ...PLAIN });

/** What only a general kernel takes, beside shapes in which keys and queries are alike. */
const GENERAL = '09_lean';

describe('reference', () => {
  it('weighs two keys by the logistic function of the difference of their scaled scores', () => {
    // Scores of query 8 are 8·k/√64 = k: 3 and 1. Weight of key 0: 1 ÷ (1 + e^(1−3)).
    const inputs = { Q: column0([8, 8], 64), K: column0([3, 1], 64), V: column0([1, 0], 64) };
    const { O } = reference(inputs, oneHead(2, 0), exact);
    const weight = 1 / (1 + Math.exp(-2));
    expect(O![0]).toBeCloseTo(weight, 14);
    expect(O![64]).toBeCloseTo(weight, 14);
    expect(O![1]).toBe(0);
  });

  it('shows query i keys 0 to i only when causal', () => {
    // All scores are 0, so a row is the mean of the values it sees: 6; (6 + 12)/2; …; all seven.
    const values = [6, 12, 18, 24, 30, 36, 42];
    const inputs = { Q: column0(values, 64), K: new Float64Array(7 * 64), V: column0(values, 64) };
    const causal = reference(inputs, oneHead(7, 1), exact).O!;
    const full = reference(inputs, oneHead(7, 0), exact).O!;
    for (let row = 0; row < 7; row++) {
      expect(causal[row * 64]).toBeCloseTo(3 * (row + 2), 12);
      expect(full[row * 64]).toBeCloseTo(24, 12);
    }
  });

  it('keeps heads and batch elements apart', () => {
    const S = 3;
    const D = 32;
    const V = Float64Array.from({ length: 2 * 2 * S * D }, (_, i) => Math.floor(i / (S * D)));
    const zeros = new Float64Array(V.length);
    const { O } = reference(
      { Q: zeros, K: zeros, V },
      { B: 2, H: 2, S, D, causal: 0, Hkv: 2, Skv: S, ...PLAIN },
      exact,
    );
    for (const [i, value] of O!.entries()) expect(value).toBeCloseTo(V[i]!, 14);
  });

  it('is not upset by logits far beyond the range of exp', () => {
    const inputs = { Q: column0([8000, 8000], 64), K: column0([3, 1], 64), V: column0([5, 7], 64) };
    expect(reference(inputs, oneHead(2, 0), exact).O![0]).toBe(5);
  });

  it('lets neighbouring heads share keys and values', () => {
    const sizes = { B: 1, H: 4, S: 1, D: 32, causal: 0, Hkv: 2, Skv: 1, ...PLAIN };
    const V = Float64Array.from({ length: 2 * 32 }, (_, i) => Math.floor(i / 32));
    const { O } = reference({ Q: new Float64Array(4 * 32), K: new Float64Array(V.length), V }, sizes, exact);
    expect([0, 1, 2, 3].map((head) => O![head * 32])).toEqual([0, 0, 1, 1]);
  });

  it.each([
    ['top left', 0, [1, 1.5, 1.5, 1.5]],
    ['bottom right', 1, [0, 0, 1, 1.5]],
  ])('aligns a mask over 4 queries and 2 keys with the %s', (_, bottomRight, means) => {
    const sizes = { ...oneHead(4, 1), Skv: 2, bottomRight, lse: 1 };
    const inputs = { Q: new Float64Array(4 * 64), K: new Float64Array(2 * 64), V: column0([1, 2], 64) };
    const { O, LSE } = reference(inputs, sizes, exact);
    expect(means.map((_mean, row) => O![row * 64])).toEqual(means);
    // All scores are 0: the sum of exponentials is the number of keys that a query sees.
    const seen = bottomRight ? [0, 0, 1, 2] : [1, 2, 2, 2];
    expect([...LSE!]).toEqual(seen.map(Math.log));
  });

  it('returns the rows of LSE that are asked for, whichever rows of O are', () => {
    const sizes = { ...oneHead(5, 0), lse: 1 };
    const inputs = {
      Q: column0([1, 2, 3, 4, 5], 64),
      K: column0([1, 2, 3, 4, 5], 64),
      V: column0([1, 2, 3, 4, 5], 64),
    };
    const whole = reference(inputs, sizes, exact);
    const some = referenceRows(inputs, sizes, exact, { O: Uint32Array.of(1), LSE: Uint32Array.of(0, 4) });
    expect([...some.LSE!]).toEqual([whole.LSE![0], whole.LSE![4]]);
    expect([...some.O!]).toEqual([...whole.O!.subarray(64, 128)]);
  });

  it.each([
    ['causal, with fewer keys than queries', { S: 70, Skv: 33, causal: 1, bottomRight: 1 }],
    ['causal from the top left', { S: 37, Skv: 50, causal: 1, bottomRight: 0 }],
    ['full, with grouped heads', { H: 4, Hkv: 2, S: 21, Skv: 130, D: 32 }],
  ])('has the same bits in a room for products: %s', (_, given) => {
    const sizes = { ...oneHead(1, 0), B: 2, lse: 1, ...given };
    const { B, H, Hkv, S, Skv, D } = sizes;
    const values = (count: number, seed: number) =>
      Float64Array.from({ length: count }, (_, i) => 3 * Math.sin(seed * i));
    const inputs = { Q: values(B * H * S * D, 1), K: values(B * Hkv * Skv * D, 2), V: values(B * Hkv * Skv * D, 3) };
    const rows = {
      O: Uint32Array.from({ length: B * H * S }, (_, i) => i).filter((i) => i % 11 > 2),
      LSE: Uint32Array.of(0, 5),
    };
    const functions = [reference, ...Object.values(mistakes)];
    for (const round of [exact, Math.fround]) {
      for (const of of functions) expect(of(inputs, sizes, round, float64Room)).toEqual(of(inputs, sizes, round));
      expect(referenceRows(inputs, sizes, round, rows, float64Room)).toEqual(referenceRows(inputs, sizes, round, rows));
    }
  });

  it('rounds the result of each operation', () => {
    // Q·K is 3, the scaled score 3/√64 = 0.375, the only weight 1, the output 2.5; each is rounded down.
    const inputs = { Q: column0([1], 64), K: column0([3], 64), V: column0([2.5], 64) };
    const seen: number[] = [];
    const round = (value: number): number => {
      seen.push(value);
      return Math.floor(value);
    };
    const { O } = reference(inputs, oneHead(1, 0), round);
    expect(seen.slice(0, 4)).toEqual([3, 0.375, 1, 2.5]);
    expect(O![0]).toBe(2);
  });
});

describe('the ladder', () => {
  let problem: Problem;
  const kernels: Kernel[] = [];

  beforeAll(async () => {
    for (const rung of RUNGS) {
      const loaded = await loadKernel(`problems/attention/${rung}`);
      problem = loaded.problem;
      kernels.push(loaded.kernel);
    }
  });

  it('is listed in problem.json in this order and starts at its first rung', () => {
    // Behind these come the rungs of attention-hopper.test.ts.
    expect(problem.file.rungs.slice(0, RUNGS.length)).toEqual(kernels.map(({ file }) => file.name));
    expect(problem.file.start).toBe('01_minimal');
  });

  it('has at least 50 valid configurations at every head dimension from 06 on, at least 16 before', () => {
    for (const [place, { file }] of kernels.entries()) {
      for (const D of [32, 64, 96, 128]) {
        const count = validAssignments(file, { B: 1, H: 8, S: 512, D, causal: 0, Hkv: 8, Skv: 512, ...PLAIN }).length;
        expect(count, `${file.name} at D = ${D}`).toBeGreaterThanOrEqual(place < 5 ? 16 : 50);
      }
    }
  });

  it.each([64, 128])('refuses a setting for its shared memory only where it does not fit, D = %i', async (D) => {
    const rungs = problem.file.rungs.map((rung) => loadKernel(`problems/attention/${rung}`, { problem }));
    for (const { kernel } of await Promise.all(rungs)) {
      const { name, steps, constraints = [], parameters = {} } = kernel.file;
      const functions = [`attention<${D}>`, `split<${D}>`, `decode<${D}>`];
      const step = steps.find((each) => 'function' in each && functions.includes(each.function));
      const needed = step && 'sharedBytes' in step ? step.sharedBytes : undefined;
      const limits = constraints.map(String).filter((constraint) => constraint.includes('* 1024'));
      if (needed === undefined) expect(limits, name).toEqual([]);
      for (const limit of limits) {
        const bytes = 1024 * Number(/<= (99|227) \* 1024$/.exec(limit)![1]);
        for (const setting of validAssignments({ ...kernel.file, parameters, constraints: [] })) {
          const scope: Record<string, number> = { B: 1, H: 8, S: 512, D, causal: 0, ...setting };
          // Of several CTAs, the system takes 1 KiB for each.
          const ctas = limit.includes('CTAS_PER_SM') ? scope.CTAS_PER_SM! : 1;
          const fits = ctas * (evaluateExpression(needed!, scope) + 1024) - 1024 <= bytes;
          expect(evaluateExpression(limit, scope) !== 0, `${name} ${JSON.stringify(setting)}`).toBe(fits);
        }
      }
    }
  });

  it('plans one launch, or split and merge, for every valid configuration at every head dimension, within 99 KiB of shared memory', () => {
    const plain = problem.file.checkShapes.filter(
      ({ dimensions }) => failedLimit(kernels[0]!.file, dimensions) === undefined,
    );
    const shapes = new Map(plain.map((shape) => [shape.dimensions.D, shape]));
    const oneShapeOfEachD = [...shapes.values()];
    expect(oneShapeOfEachD).toHaveLength(4);
    for (const kernel of kernels) {
      for (const { dimensions } of oneShapeOfEachD) {
        for (const parameters of validAssignments(
          kernel.file,
          completeDimensions(problem.file.dimensions, dimensions),
        )) {
          const device = { smCount: 58, sharedBytesPerCta: 99 * 1024 };
          const plan = expandPlan({ problem: problem.file, kernel: kernel.file, parameters, dimensions, device });
          const launched = plan.steps.map((step) => step.kind === 'launch' && step.functionName);
          const functions = kernel.file.name === '08_two_pass' ? ['split', 'merge'] : ['attention'];
          expect(launched).toEqual(functions.map((name) => `${name}<${dimensions.D}>`));
        }
      }
    }
  });

  it('takes grouped heads, other keys than queries, both corners, layouts and LSE in the general rung, and says so in others', () => {
    const others = problem.file.checkShapes.filter(({ dimensions }) => failedLimit(kernels[0]!.file, dimensions));
    expect(others.length).toBeGreaterThanOrEqual(6);
    for (const { file } of kernels) {
      for (const { dimensions } of others) {
        const refused = failedLimit(file, dimensions);
        if (file.name === GENERAL) expect(refused).toBeUndefined();
        else expect(refused).toMatch(/^(D <= 128|Skv == S && Hkv == H && !bottomRight && !bshd && !lse) \(/);
      }
    }
  });

  it('hands the general rung a null pointer for LSE where it is not wanted', () => {
    const { file } = kernels.find(({ file: { name } }) => name === GENERAL)!;
    const device = { smCount: 58 };
    const argumentsOf = (lse: number) => {
      const dimensions = completeDimensions(problem.file.dimensions, { S: 40, D: 64, bshd: 1, lse });
      const parameters = completeParameters(file, {});
      const [step] = expandPlan({ problem: problem.file, kernel: file, parameters, dimensions, device }).steps;
      return step?.kind === 'launch' ? step.arguments : [];
    };
    expect(argumentsOf(0)[4]).toEqual({ kind: 'null' });
    expect(argumentsOf(1)[4]).toMatchObject({ kind: 'buffer', buffer: 'LSE' });
  });
});

/** What follows is about rungs; with these limits their verifications draw small shapes. */
const place = mkdtempSync(join(tmpdir(), 'warpsmith-attention-'));
afterAll(() => rmSync(place, { recursive: true }));
const narrow = (...limits: string[]): string => narrowAttention(mkdtempSync(join(place, 'of-')), limits);

/** Rungs for shapes that the others do not take, in both dtypes. */
const wide = sampledOne(
  'dtypes of rungs of attention',
  ['12_decode', GENERAL].flatMap((rung) => [`${rung} f16`, `${rung} bf16`]),
  { oneIn: 4, placeOf: (member) => `problems/attention/${member.split(' ')[0]}` },
);

describe('the decode rung', () => {
  const FOLDER = 'problems/attention/12_decode';

  it('is for one query, and has at least 50 settings at every head dimension', async () => {
    const { kernel, problem } = await loadKernel(FOLDER);
    const shape = (S: number, D: number) =>
      completeDimensions(problem.file.dimensions, { H: 32, Hkv: 8, S, Skv: 8192, D });
    expect(failedLimit(kernel.file, shape(2, 64))).toBe('S == 1 (S = 2)');
    for (const D of [32, 64, 96, 128]) {
      expect(failedLimit(kernel.file, shape(1, D))).toBeUndefined();
      expect(validAssignments(kernel.file, shape(1, D)).length, `D = ${D}`).toBeGreaterThanOrEqual(50);
    }
    expect(validAssignments(kernel.file, shape(1, 256)).length).toBeGreaterThan(10);
  });

  for (const dtype of ['f16', 'bf16'] as const)
    wide(`12_decode ${dtype}`)(
      `is right in ${dtype}, also where keys are split over CTAs and a group has 16 heads`,
      async () => {
        const { status, reason, coverage } = await evaluateKernel({
          target: join(narrow('S <= 64', 'Skv <= 300', 'B * H <= 16', 'D <= 64'), '12_decode'),
          dtype,
          device: 'virtual:l4',
          checks: 'usual',
          workload: 'B=1,H=16,Hkv=1,S=1,Skv=300,D=64,lse=1,bshd=1',
          parameters: { SPLIT_KEYS: 128, WARPS: 2 },
          seed: 10,
          threads: 1,
        });
        expect({ status, reason }).toEqual({ status: 'passed', reason: undefined });
        expect(coverage!.checkShapes).toBeGreaterThanOrEqual(2);
      },
    );
});

describe('the general rung', () => {
  for (const dtype of ['f16', 'bf16'] as const)
    wide(`${GENERAL} ${dtype}`)(`is right at D = 256 in ${dtype}`, async () => {
      const { status, reason } = await evaluateKernel({
        target: join(narrow('S <= 64', 'Skv <= 64', 'B * H <= 4'), GENERAL),
        dtype,
        device: 'virtual:l4',
        checks: 'usual',
        workload: 'H=2,Hkv=1,S=17,Skv=40,D=256,causal=1,bottomRight=1,bshd=1,lse=1',
        parameters: { WARPS: 4, STAGES: 2 },
        seed: 1,
        threads: 1,
      });
      expect({ status, reason }).toEqual({ status: 'passed', reason: undefined });
    });
});
