import { describe, expect, it } from 'vitest';
import { loadKernel } from '../../../../src/app/loading/load-kernel.ts';
import { evaluateExpression } from '../../../../src/core/expressions/evaluate.ts';
import { completeDimensions, isShapeOf } from '../../../../src/core/plan/dimensions.ts';
import { expandBuffers } from '../../../../src/core/plan/expand-buffers.ts';
import type { Dimensions, ProblemFile } from '../../../../src/core/problem.ts';
import { elementCountOf } from '../../../../src/evaluation/launches/layout.ts';
import { drawBeyondMemory } from '../../../../src/evaluation/oracle/shapes/beyond-memory.ts';

const START = {
  ...{ transpose: '01_naive', softmax: '01_naive', layernorm: '01_naive', gemm: '01_naive' },
  ...{ attention: '01_minimal', reduction: '01_atomics', histogram: '01_global_atomics' },
};

const problemOf = async (name: keyof typeof START): Promise<ProblemFile> =>
  (await loadKernel(`problems/${name}/${START[name]}`)).problem.file;

const timedOf = ({ dimensions, workloads }: ProblemFile): Dimensions =>
  completeDimensions(dimensions, workloads[0]!.dimensions);

function draw(problem: ProblemFile, seed: number, isFit: (shape: Dimensions) => boolean = () => true): Dimensions[] {
  return drawBeyondMemory({
    problem,
    timed: timedOf(problem),
    seed,
    isFit: (one) => isShapeOf(problem, one) && isFit(one),
  });
}

const largest = (problem: ProblemFile, shape: Dimensions): number =>
  Math.max(...expandBuffers(problem, shape).map(elementCountOf));

const SEEDS = Array.from({ length: 20 }, (_, seed) => seed);

describe('shapes larger than a virtual GPU’s memory', () => {
  it.each(['transpose', 'softmax', 'layernorm', 'gemm', 'attention'] as const)(
    'of %s have more than 2³⁰ and less than 2³¹ elements in the largest buffer',
    async (name) => {
      const problem = await problemOf(name);
      for (const seed of SEEDS) {
        const found = draw(problem, seed);
        expect(found.length).toBeGreaterThan(0);
        for (const shape of found) {
          expect(largest(problem, shape)).toBeGreaterThan(1.2 * 2 ** 30);
          expect(largest(problem, shape)).toBeLessThan(2 ** 31);
        }
      }
    },
  );

  it('have rows of results that a host computes quickly: never all of a large B', async () => {
    const gemm = await problemOf('gemm');
    for (const shape of SEEDS.flatMap((seed) => draw(gemm, seed)))
      expect(evaluateExpression(gemm.flop, shape) / shape.M!).toBeLessThanOrEqual(2 ** 22);
  });

  it('are those that a kernel takes: whole tiles, or as many keys as queries', async () => {
    const isTiled = ({ M, N }: Dimensions): boolean => M! % 64 === 0 && N! % 64 === 0;
    const isSquare = ({ H, Hkv, S, Skv }: Dimensions): boolean => H === Hkv && S === Skv;
    for (const [name, isFit] of [
      ['transpose', isTiled],
      ['attention', isSquare],
    ] as const) {
      const problem = await problemOf(name);
      const found = SEEDS.flatMap((seed) => draw(problem, seed, isFit));
      expect(found.length).toBeGreaterThanOrEqual(SEEDS.length / 2);
      expect(found.every(isFit)).toBe(true);
    }
  });

  it('differ from seed to seed, and there are none of vectors', async () => {
    const problem = await problemOf('transpose');
    const transposes = SEEDS.flatMap((seed) => draw(problem, seed));
    expect(new Set(transposes.map(({ M }) => M)).size).toBeGreaterThan(SEEDS.length / 2);
    expect(draw(await problemOf('reduction'), 1)).toEqual([]);
  });

  it('are none where a dimension that would have to be large may not be: bins of a histogram', async () => {
    const histogram = await problemOf('histogram');
    for (const seed of SEEDS) expect(draw(histogram, seed)).toEqual([]);
  });
});
