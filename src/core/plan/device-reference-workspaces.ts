import { type DType, isFloating } from '../dtype.ts';
import type { ProblemFile, Tolerance } from '../problem.ts';

/** A workspace that a device reference fills with one run's result for one output, dense and row-major. */
export interface ReferenceWorkspace {
  readonly name: string;
  readonly output: string;
  readonly run: 'oracle' | 'naive';
  readonly dtype: DType;
  /** In words, for messages. */
  readonly what: string;
}

/** Whether tolerances come from a naive run, too. */
const namesRoundings = (comparison: Tolerance): boolean =>
  'roundings' in comparison && Object.keys(comparison.roundings ?? {}).length > 0;

/** What a device reference of this problem must compute. */
export const deviceReferenceWorkspaces = (problem: ProblemFile): ReferenceWorkspace[] =>
  Object.entries({ ...problem.inputs, ...problem.outputs })
    .filter(([, { access }]) => access !== 'in')
    .flatMap(([output, { dtype }]) => {
      const oracle = {
        name: `${output}_exact`,
        output,
        run: 'oracle',
        dtype: 'f64',
        what: `the oracle of ${output}`,
      } as const;
      const naive = {
        name: `${output}_naive`,
        output,
        run: 'naive',
        dtype,
        what: `the naive run of ${output}`,
      } as const;
      const own = problem.outputs[output]?.comparison ?? problem.comparison;
      return namesRoundings(own) && isFloating(dtype) ? [oracle, naive] : [oracle];
    });
