import { generatorSetsOf } from '../../../core/plan/generator-sets.ts';
import type { Generator, ProblemFile } from '../../../core/problem.ts';
import { mutatedSetOf } from '../mutated-inputs.ts';
import { freedomOf } from './freedom.ts';
import { isTried } from './kinds/rows.ts';
import { comparisonKinds, isArrangeable, scalingOf } from './scaling.ts';
import { SECRET_SETS, type SecretKind, secretSetOf } from './secret-set.ts';
import { variantsOf } from './variants/index.ts';

/** The secret sets that change some input of the problem. */
export function secretSetsOf(problem: ProblemFile): SecretKind[] {
  const inputs = Object.entries(problem.inputs);
  const scalings = inputs.map(([name]) => scalingOf(problem, name)).filter((scaling) => scaling !== undefined);
  return SECRET_SETS.filter((kind) => {
    if (kind === 'secret:large') return scalings.some(({ most, offset }) => most > 1 || offset > 0);
    if (kind === 'secret:small') return scalings.some(({ least }) => least < 1);
    return inputs.some(([, input]) => isArrangeable(input));
  });
}

/** The sets that come in variants and change some input of the problem. */
export function variantSetsOf(problem: ProblemFile): string[] {
  // Absolute and relative errors fit values of one size.
  return comparisonKinds(problem).has('allclose') ? [] : variantsOf(problem, freedomOf(problem));
}

/** Rows of these hold one value nearly everywhere, which rounds in one direction wherever it is added. */
const REPEATING: ReadonlySet<Generator['kind']> = new Set(['one-hot', 'sparse', 'constant']);

/** Whether an input of this set of the problem holds one value nearly everywhere. */
export const areValuesRepeated = (problem: ProblemFile, generatorSet: string): boolean =>
  Object.values(generatorSetsOf(problem)[baseOf(generatorSet)] ?? {}).some(({ kind }) => REPEATING.has(kind));

/** Whether the inputs of this set are to be tried: does the tolerance bear them? */
export function areValuesTried(problem: ProblemFile, generatorSet: string): boolean {
  const secret = secretSetOf(baseOf(generatorSet));
  if (secret?.kind !== 'secret:rows' || secret.level > 0) return false;
  return Object.keys(problem.inputs).some((input) => isTried(problem, input));
}

/** The set itself, or the one whose inputs it changes. */
const baseOf = (generatorSet: string): string => mutatedSetOf(generatorSet)?.base ?? generatorSet;
