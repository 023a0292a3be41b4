import { isFloating } from '../../../core/dtype.ts';
import type { ProblemFile } from '../../../core/problem.ts';
import { fromRight, type Mutant } from './mutant.ts';
import { namedMistakes } from './of-declarations.ts';
import { operandMutants } from './precision.ts';
import { sampledMutants } from './reduced-axis.ts';

const whenTimed = (mutant: Mutant): Mutant => ({
  ...mutant,
  id: `timed:${mutant.id}`,
  title: `${mutant.title}, but only at sizes like the timed ones`,
  isTimedOnly: true,
});

/**
 * Of one input there are no products, which tensor cores would take in fewer bits. Its sums are too long at the timed sizes: the error of
 * 13 bits grows with √n, what additions may err in any order with n.
 */
const multiplies = ({ inputs }: ProblemFile): boolean =>
  Object.values(inputs).filter(({ dtype }) => isFloating(dtype)).length > 1;

/**
 * Kernels that are right at every check shape, and make a mistake at the timed one. There sums are longer, and tolerances
 * with them.
 */
export const timedMutants = (problem: ProblemFile): Mutant[] => [
  ...[
    ...(multiplies(problem) ? operandMutants(problem) : []),
    ...namedMistakes(problem),
    ...sampledMutants(problem),
  ].map(whenTimed),
  {
    id: 'limits-leave-one-shape',
    title: 'takes one check shape and the timed one by its limits, and writes zeros at the timed one',
    isTimedOnly: true,
    mustShow: true,
    outputs: (context) => fromRight(context, (values) => new Float64Array(values.length)),
  },
];
