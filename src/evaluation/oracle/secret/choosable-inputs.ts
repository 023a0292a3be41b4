import { isFloating } from '../../../core/dtype.ts';
import type { BufferDeclaration, ProblemFile, ReferenceTensors } from '../../../core/problem.ts';
import { encode } from '../../../core/rounding.ts';
import type { ChoosableInput } from '../solve-equalities.ts';
import { freedomOf, hasFewerAxes } from './freedom.ts';

/** Inputs of which single values may be chosen, with what they hold. */
export function choosableInputs(problem: ProblemFile, tensors: ReferenceTensors): ChoosableInput[] {
  const { isFree, longestRepeated } = freedomOf(problem);
  return Object.entries(problem.inputs).flatMap(([name, input], place) => {
    if (!isFree(name)) return [];
    const values = tensors[name]!;
    return {
      ...{ place, dtype: input.dtype, bytes: encode(values, input.dtype), takes: valuesTakenBy(input, values) },
      longestRepeated: hasFewerAxes(problem, name) ? Number.POSITIVE_INFINITY : longestRepeated(name),
    };
  });
}

/**
 * Whether an input may hold a value. Whole numbers may be indices, so they stay between those drawn; other numbers have a sign that was drawn. Infinities
 * must be in the domain.
 */
function valuesTakenBy(
  { dtype, domain = [] }: Pick<BufferDeclaration, 'dtype' | 'domain'>,
  drawn: Float64Array,
): (value: number) => boolean {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of drawn) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (!isFloating(dtype)) return (value) => value >= least && value <= most;
  return (value) => {
    if (Number.isNaN(value)) return false;
    if (!Number.isFinite(value)) return domain.includes(value > 0 ? 'infinity' : '-infinity');
    return value > 0 || least < 0 || value === least;
  };
}
