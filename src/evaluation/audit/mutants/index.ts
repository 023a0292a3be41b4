import type { ProblemFile } from '../../../core/problem.ts';
import type { Mutant } from './mutant.ts';
import { flagMutants, inputMutants, knowingMutants, namedMistakes } from './of-declarations.ts';
import { misplacedMutants, oneElementMutants, wholeOutputMutants } from './of-outputs.ts';
import { operandMutants, precisionMutants } from './precision.ts';
import { reducedAxisMutants } from './reduced-axis.ts';
import { specialValueMutants } from './special-values.ts';
import { timedMutants } from './when-timed.ts';

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
