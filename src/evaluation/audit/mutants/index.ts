import { isFloating } from '../../../core/dtype.ts';
import type { ProblemFile } from '../../../core/problem.ts';
import { type Mutant, zeros } from './mutant.ts';
import { flagMutants, inputMutants, knowingMutants, namedMistakes } from './of-declarations.ts';
import { misplacedMutants, oneElementMutants, wholeOutputMutants } from './of-outputs.ts';
import { operandMutants, precisionMutants } from './precision.ts';
import { reducedAxisMutants, sampledMutants } from './reduced-axis.ts';
import { specialValueMutants } from './special-values.ts';

/** Wrong kernels that any check of any problem must refuse. They are computed from right outputs alone. */
export const mutantsOfAnyProblem: readonly Mutant[] = [
  ...wholeOutputMutants.filter(({ id }) => id !== 'gain'),
  ...misplacedMutants,
];

/** Every generic wrong kernel that makes sense for a problem. */
export const mutantsOf = (problem: ProblemFile): Mutant[] => [
  ...wholeOutputMutants,
  ...oneElementMutants,
  ...misplacedMutants,
  ...precisionMutants,
  ...operandMutants(problem),
  ...specialValueMutants(problem),
  ...knowingMutants(problem),
  ...namedMistakes(problem),
  ...inputMutants(problem),
  ...reducedAxisMutants(problem),
  ...flagMutants(problem),
  ...timedMutants(problem),
];

const whenTimed = (mutant: Mutant): Mutant => ({
  ...mutant,
  id: `timed:${mutant.id}`,
  title: `${mutant.title}, but only at sizes like the timed ones`,
  isTimedOnly: true,
});

/**
 * Too few bits of operands. In a long sum of products honest kernels keep all of them. But a sum of one input's values in fp32 that has
 * grown large itself keeps few bits of each next one, and no check can tell that from operands of as few bits. So there they are a mistake only
 * where they err by more.
 */
const timedOperands = (problem: ProblemFile): Mutant[] =>
  operandMutants(problem).map((mutant) => ({ ...mutant, mayErrAsAdditions: !multiplies(problem) }));

const multiplies = ({ inputs }: ProblemFile): boolean =>
  Object.values(inputs).filter(({ dtype }) => isFloating(dtype)).length > 1;

/**
 * Kernels that are right at every check shape, and make a mistake at the timed one. There sums are longer, and tolerances
 * with them.
 */
const timedMutants = (problem: ProblemFile): Mutant[] => [
  ...[...timedOperands(problem), ...namedMistakes(problem), ...sampledMutants(problem)].map(whenTimed),
  {
    id: 'limits-leave-one-shape',
    title: 'takes one check shape and the timed one by its limits, and writes zeros at the timed one',
    isTimedOnly: true,
    mustShow: true,
    outputs: zeros,
  },
];
