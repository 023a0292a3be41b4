import { isDeepStrictEqual } from 'node:util';
import { completeDimensions } from '../../../core/plan/dimensions.ts';
import type { ProblemFile } from '../../../core/problem.ts';
import { fromRight, type Mutant } from './mutant.ts';

/** Kernels that are right where their author could look. */
export function knowingMutants(problem: ProblemFile): Mutant[] {
  const shape = completeDimensions(problem.dimensions, problem.checkShapes[0]!.dimensions);
  return [
    {
      id: 'one-shape-only',
      title: 'is right at the first check shape, and zero at every other',
      outputs: (context) =>
        isDeepStrictEqual(context.dimensions, shape)
          ? context.right
          : fromRight(context, (values) => new Float64Array(values.length)),
    },
  ];
}

/** Kernels that make the mistakes that problem.json names. */
export const namedMistakes = ({ mistakes = {} }: ProblemFile): Mutant[] =>
  Object.entries(mistakes).map(([name, title]) => ({
    id: name,
    title,
    outputs: ({ compute }) => compute({ mistake: name }),
  }));
