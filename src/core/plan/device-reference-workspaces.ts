import { type DType, isFloating } from '../dtype.ts';
import { WarpsmithError } from '../errors.ts';
import type { KernelFile } from '../kernel.ts';
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

/**
 * Checks that a device reference has a workspace for the oracle of every output, and one for its naive run if tolerances
 * depend on it.
 *
 * @throws WarpsmithError naming the missing workspace.
 */
export function checkDeviceReference(kernel: KernelFile, problem: ProblemFile, file: string): void {
  const declared = Object.keys(kernel.workspaces ?? {});
  for (const { name, what } of deviceReferenceWorkspaces(problem)) {
    if (declared.includes(name)) continue;
    throw new WarpsmithError({
      code: 'missing-workspace',
      message: `The device reference has no workspace \`${name}\` for ${what}.`,
      file,
      path: 'workspaces',
      received: declared.length === 0 ? 'no workspaces' : declared.join(', '),
      expected: `a workspace \`${name}\``,
      hint: 'problems/attention/reference is an example.',
    });
  }
}
