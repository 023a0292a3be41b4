import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadProblem } from '../../../../src/app/loading/load-problem.ts';
import { completeDimensions } from '../../../../src/core/plan/dimensions.ts';
import type { ReferenceTensors } from '../../../../src/core/problem.ts';
import { compareOutput } from '../../../../src/evaluation/oracle/compare.ts';
import { prepareCheck } from '../../../../src/evaluation/oracle/expectation-cache.ts';
import { variantSetsOf } from '../../../../src/evaluation/oracle/secret/sets-of-problem.ts';
import { accumulatorFor, factorsOf, tensorModel } from '../../../../src/virtual-gpu/runtime/tensor-model.ts';
import { judgeHonestly } from '../../../support/judge-honestly.ts';
import { sampled } from '../../../support/sampling/matrix.ts';

/** One query's row as one warp of an L4 computes it, all keys one after the other: weights in fp16, products added as mma.sync adds them. */
function onTensorCores({ Q, K, V }: ReferenceTensors, accumulator: 'f32' | 'f16'): Float64Array {
  const [D, keys] = [Q!.length, K!.length / Q!.length];
  const scores = Float64Array.from({ length: keys }, (_, key) =>
    Q!.reduce((sum, q, d) => sum + q * K![key * D + d]!, 0),
  );
  const maximum = scores.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY);
  const weights = scores.map((score) => Math.exp((score - maximum) / Math.sqrt(D)));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  // Larger by a power of two, so that small ones stay normal numbers.
  const scale = accumulator === 'f32' ? 2 ** 14 : 1;
  const accumulate = accumulatorFor(accumulator, 'f16', tensorModel('sm_89'))!;
  const factors = factorsOf(weights.map((weight) => Math.f16round(weight * scale)));
  return Float64Array.from({ length: D }, (_, d) => {
    const column = factorsOf(Float64Array.from({ length: keys }, (_, key) => V![key * D + d]!));
    return Math.f16round(Math.fround(accumulate(0, factors, column, 0, 0, keys) / scale / total));
  });
}

const problem = await loadProblem(path.resolve(import.meta.dirname, '../../../../problems/attention'));

describe('what an honest attention kernel loses', () => {
  const shapeOf = (shape: Readonly<Record<string, number>>) =>
    completeDimensions(problem.file.dimensions, { B: 1, H: 1, causal: 0, ...shape });

  it('is borne where one score decides a row and two runs say by chance that it hardly reacts', async () => {
    const check = {
      seed: 3_244_566_254,
      dimensions: shapeOf({ B: 2, S: 130, D: 64 }),
      generatorSet: 'secret:trends (3)',
    };
    expect(await judgeHonestly(problem, check, 'fp32')).toEqual({ passes: false, passesInTheEnd: true });
  });

  it('is borne where values cancel, and roundings of weights do not', async () => {
    const generatorSet = 'secret:mutated 105232 of secret:zeros';
    const check = { seed: 13, dimensions: shapeOf({ S: 80, D: 64, causal: 1 }), generatorSet };
    expect(await judgeHonestly(problem, check, 'fp16 weights')).toEqual({ passes: false, passesInTheEnd: true });
    expect(await judgeHonestly(problem, check, 'fp32')).toEqual({ passes: true, passesInTheEnd: true });
  });

  it('is asked for a second time whatever the head dimension is', () => {
    for (const D of [32, 64]) {
      const prepared = prepareCheck({
        problem,
        seed: 1,
        dimensions: shapeOf({ S: 9, D }),
        generatorSet: 'secret:zeros',
      });
      expect(prepared.surerExpectations).toBeDefined();
    }
  });

  it.each([
    ['secret:scales (2)', 1],
    ['secret:trends (7)', 3],
  ])('is borne where tensor cores cut 66,272 products of one sign off: %s', async (generatorSet, seed) => {
    const dimensions = shapeOf({ S: 1, D: 32, Skv: 66_272 });
    const prepared = prepareCheck({ problem, dimensions, seed, generatorSet });
    const expected = (await prepared.expectations()).get('O')!;
    const judge = (accumulator: 'f32' | 'f16') =>
      compareOutput({ name: 'O', shape: [1, 1, 1, 32] }, expected, onTensorCores(prepared.inputs.tensors, accumulator));
    // Not at the edge, and such that two and a half times the loss would not be borne.
    const { passed, rmsErrorRatio } = judge('f32');
    expect({ passed, isNear: rmsErrorRatio > 0.4 && rmsErrorRatio < 0.9 }).toEqual({ passed: true, isNear: true });
    expect(judge('f16').passed).toBe(false);
  });

  sampled('honest attention and kinds of inputs', [...variantSetsOf(problem.file)], {
    oneIn: 3,
    placeOf: () => 'problems/attention/problem.json',
  })('is borne with inputs of every kind: %s', async (generatorSet) => {
    for (const arithmetic of ['fp32', 'fp16 weights'] as const) {
      const check = { seed: 24, dimensions: shapeOf({ S: 130, D: 64 }), generatorSet };
      const { passesInTheEnd } = await judgeHonestly(problem, check, arithmetic);
      expect({ arithmetic, passesInTheEnd }).toEqual({ arithmetic, passesInTheEnd: true });
    }
  });
});
