import { WarpsmithError } from '../../../core/errors.ts';
import { unitRoundoff } from '../ulp.ts';
import { conditionOf } from './condition.ts';
import type { Expectation, OutputFacts } from './tolerance.ts';

/** √ of the additions that are taken to lie behind a result. */
const ROUNDINGS = 16;

/**
 * The rounded oracle with a tolerance for each element, if these do not follow from the inputs but bear them: each is at least 16
 * roundings of the result and of what it is computed from. That is only asked of inputs that the problem's author did not foresee.
 *
 * @throws WarpsmithError `uncalibratable` otherwise.
 */
export function bearing(facts: OutputFacts, tolerances: Float64Array): Expectation {
  const { oracle, rounded, dtype } = facts;
  const expectation = { want: rounded, tolerances, groupSize: 1 };
  if (!facts.tried) return expectation;
  const [unit, condition] = [unitRoundoff(dtype), facts.perturbed && conditionOf({ ...facts, placed: false })];
  const isBorne = (i: number): boolean =>
    !Number.isFinite(rounded[i]) || ROUNDINGS * unit * (Math.abs(oracle[i]!) + condition![i]!) <= tolerances[i]!;
  let borne = 0;
  while (condition && borne < oracle.length && isBorne(borne)) borne++;
  if (condition && borne === oracle.length) return expectation;
  throw new WarpsmithError({
    code: 'uncalibratable',
    message: `the tolerance of output '${facts.output}' does not bear the rounding errors of these inputs`,
    path: 'comparison',
    hint: 'Declare a scaling for the inputs.',
  });
}
