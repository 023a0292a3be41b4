import { WarpsmithError } from '../core/errors.ts';
import { resolveWorkload } from '../core/plan/resolve-workload.ts';
import type { ProblemFile, Workload } from '../core/problem.ts';

/**
 * The workload a user named, or the problem's first one.
 *
 * @throws WarpsmithError `unknown-workload`, `no-workloads`, or for dimensions that are not the problem's.
 */
export function chooseWorkload(problem: ProblemFile, text: string | undefined): Workload {
  const named = text ?? problem.workloads[0]?.name;
  if (named === undefined) {
    throw new WarpsmithError({
      code: 'no-workloads',
      message: `${problem.name} declares no workloads, and none was given.`,
      path: '--workload',
      expected: 'a list of dimensions such as B=1,H=8,S=512,D=64',
      hint: `Dimensions: ${Object.keys(problem.dimensions).join(', ')}.`,
    });
  }
  return resolveWorkload(problem, named);
}
