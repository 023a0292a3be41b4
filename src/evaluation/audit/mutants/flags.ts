import { namesInExpression } from '../../../core/expressions/evaluate.ts';
import { isShapeOf } from '../../../core/plan/dimensions.ts';
import { expandBuffers } from '../../../core/plan/expand-buffers.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import type { Mutant } from './mutant.ts';

const shapesOf = (problem: ProblemFile, dimensions: Dimensions): string =>
  JSON.stringify(expandBuffers(problem, dimensions).map(({ shape }) => shape));

/** Outputs are row-major here, whatever lies in memory: a kernel that mistakes a layout cannot be played. */
const isOfLayout = ({ inputs, outputs }: ProblemFile, flag: string): boolean =>
  [...Object.values(inputs), ...Object.values(outputs)].some(({ strides = [] }) =>
    strides.some((stride) => namesInExpression(stride).includes(flag)),
  );

/** Kernels that invert a yes-or-no dimension, such as `causal`. */
export const flagMutants = (problem: ProblemFile): Mutant[] =>
  Object.entries(problem.dimensions)
    .filter(([name, { values }]) => values?.toSorted().join() === '0,1' && !isOfLayout(problem, name))
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
