import type { DType } from '../../../core/dtype.ts';
import { WarpsmithError } from '../../../core/errors.ts';
import { multiIndexOf } from '../../launches/layout.ts';
import type { OutputFacts } from './tolerance.ts';

/** Whether a naive run rounds anything but the result. */
export const namesAny = (roundings: Readonly<Record<string, DType>> | undefined): boolean =>
  roundings !== undefined && Object.keys(roundings).length > 0;

/** |values − oracle|; 0 where the result itself is not finite. */
export function errorsOf({ oracle, rounded }: OutputFacts, values: Float64Array): Float64Array {
  const errors = new Float64Array(values.length);
  for (let i = 0; i < errors.length; i++) {
    if (Number.isFinite(rounded[i])) errors[i] = Math.abs(values[i]! - oracle[i]!);
  }
  return errors;
}

/**
 * What the naive run loses, element by element.
 *
 * @throws WarpsmithError `uncalibratable` where it overflows and the oracle does not.
 */
export function naiveErrorsOf(facts: OutputFacts, naive: Float64Array): Float64Array {
  const errors = errorsOf(facts, naive);
  // A loop: a callback for each of millions of elements takes several times as long.
  for (let i = 0; i < errors.length; i++) if (!Number.isFinite(errors[i])) throw uncalibratable(facts, naive, i);
  return errors;
}

const uncalibratable = ({ output, shape, oracle }: OutputFacts, naive: Float64Array, element: number): WarpsmithError =>
  new WarpsmithError({
    code: 'uncalibratable',
    message: `the naive run of the reference overflows, so it cannot set a tolerance for output '${output}'`,
    path: 'comparison.roundings',
    received: `${output}[${multiIndexOf(shape, element)}]: naive ${naive[element]}, oracle ${oracle[element]}`,
    expected: 'a finite naive result wherever the oracle is finite',
    hint: 'Give the generator set a smaller magnitude, or the rounding a dtype with more range.',
  });
