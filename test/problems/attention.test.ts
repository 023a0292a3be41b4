import { beforeAll, describe, expect, it } from 'vitest';
import { reference } from '../../problems/attention/reference.ts';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { evaluateExpression } from '../../src/core/expressions/evaluate.ts';
import type { Kernel } from '../../src/core/kernel.ts';
import { completeDimensions } from '../../src/core/plan/dimensions.ts';
import { expandPlan } from '../../src/core/plan/expand-plan.ts';
import { validAssignments } from '../../src/core/plan/parameters.ts';
import type { Problem } from '../../src/core/problem.ts';

const RUNGS = [
  ...['01_minimal', '02_tiled', '03_rows', '04_warp'],
  ...['05_mma', '06_ldmatrix', '07_cp_async', '08_key_split', '09_fragments', '09_lean'],
];

const exact = (value: number): number => value;

/** `[1, 1, rows, D]` with the given values in column 0 and zeros elsewhere. */
const column0 = (values: readonly number[], headDim: number): Float64Array => {
  const matrix = new Float64Array(values.length * headDim);
  for (const [row, value] of values.entries()) matrix[row * headDim] = value;
  return matrix;
};

const oneHead = (S: number, causal: number) => ({ B: 1, H: 1, S, D: 64, causal });

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
    const { O } = reference({ Q: zeros, K: zeros, V }, { B: 2, H: 2, S, D, causal: 0 }, exact);
    for (const [i, value] of O!.entries()) expect(value).toBeCloseTo(V[i]!, 14);
  });

  it('is not upset by logits far beyond the range of exp', () => {
    const inputs = { Q: column0([8000, 8000], 64), K: column0([3, 1], 64), V: column0([5, 7], 64) };
    expect(reference(inputs, oneHead(2, 0), exact).O![0]).toBe(5);
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
        const count = validAssignments(file, { B: 1, H: 8, S: 512, D, causal: 0 }).length;
        expect(count, `${file.name} at D = ${D}`).toBeGreaterThanOrEqual(place < 5 ? 16 : 50);
      }
    }
  });

  it.each([64, 128])('refuses a setting for its shared memory only where it does not fit, D = %i', async (D) => {
    const rungs = problem.file.rungs.map((rung) => loadKernel(`problems/attention/${rung}`, { problem }));
    for (const { kernel } of await Promise.all(rungs)) {
      const { name, steps, constraints = [], parameters = {} } = kernel.file;
      const step = steps.find((each) => 'function' in each && each.function === `attention<${D}>`);
      const needed = step && 'sharedBytes' in step ? step.sharedBytes : undefined;
      const limits = constraints.map(String).filter((constraint) => constraint.includes('* 1024'));
      if (needed === undefined) expect(limits, name).toEqual([]);
      for (const limit of limits) {
        const bytes = 1024 * Number(/<= (99|227) \* 1024$/.exec(limit)![1]);
        for (const setting of validAssignments({ ...kernel.file, parameters, constraints: [] })) {
          const scope = { B: 1, H: 8, S: 512, D, causal: 0, ...setting };
          const fits = evaluateExpression(needed!, scope) <= bytes;
          expect(evaluateExpression(limit, scope) !== 0, `${name} ${JSON.stringify(setting)}`).toBe(fits);
        }
      }
    }
  });

  it('plans one launch for every valid configuration at every head dimension, within 99 KiB of shared memory', () => {
    const shapes = new Map(problem.file.checkShapes.map((shape) => [shape.dimensions.D, shape]));
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
          expect(plan.steps).toHaveLength(1);
          expect(plan.steps[0]).toMatchObject({ kind: 'launch', functionName: `attention<${dimensions.D}>` });
        }
      }
    }
  });
});
