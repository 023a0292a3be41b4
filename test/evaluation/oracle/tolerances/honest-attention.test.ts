import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadProblem } from '../../../../src/app/loading/load-problem.ts';
import { completeDimensions } from '../../../../src/core/plan/dimensions.ts';
import { prepareCheck } from '../../../../src/evaluation/oracle/expectation-cache.ts';
import { variantSetsOf } from '../../../../src/evaluation/oracle/secret/sets-of-problem.ts';
import { judgeHonestly } from '../../../support/judge-honestly.ts';
import { sampled } from '../../../support/sampling/matrix.ts';

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
