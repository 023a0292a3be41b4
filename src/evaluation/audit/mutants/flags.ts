import { isShapeOf } from '../../../core/plan/dimensions.ts';
import { expandBuffers } from '../../../core/plan/expand-buffers.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import type { Mutant } from './mutant.ts';

const shapesOf = (problem: ProblemFile, dimensions: Dimensions): string =>
  JSON.stringify(expandBuffers(problem, dimensions).map(({ shape }) => shape));

/** Kernels that invert a yes-or-no dimension, such as `causal`. */
export const flagMutants = (problem: ProblemFile): Mutant[] =>
  Object.entries(problem.dimensions)
    .filter(([, { values }]) => values?.toSorted().join() === '0,1')
    .map(([flag]) => ({
      id: `flipped:${flag}`,
      title: `computes as if ${flag} were the other way`,
      mustShow: true,
      outputs: ({ dimensions, compute }) => {
        const flipped = { ...dimensions, [flag]: 1 - dimensions[flag]! };
        if (!isShapeOf(problem, flipped)) return undefined;
        if (shapesOf(problem, flipped) !== shapesOf(problem, dimensions)) return undefined;
        return compute({ dimensions: flipped });
      },
    }));
