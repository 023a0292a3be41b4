import { WarpsmithError } from '../core/errors.ts';
import { resolveWorkload } from '../core/plan/resolve-workload.ts';
import type { ProblemFile, Workload } from '../core/problem.ts';

export const CACHES = ['hot', 'cold'] as const;
/** Whether a kernel finds its inputs in the L2 cache. */
export type Cache = (typeof CACHES)[number];

/**
 * The workload a user named, or the problem's first one.
 *
 * @param cache instead of the workload's own.
 * @throws WarpsmithError `unknown-workload`, `no-workloads`, or for dimensions that are not the problem's.
 */
export function chooseWorkload(problem: ProblemFile, text: string | undefined, cache?: Cache): Workload {
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
  const workload = resolveWorkload(problem, named);
  return cache === undefined ? workload : { ...workload, cache };
}

/** The workloads a user named, each once; `all` stands for every one that the problem declares. */
export function chooseWorkloads(problem: ProblemFile, names: readonly string[], cache?: Cache): Workload[] {
  const wanted = names.flatMap((name) =>
    name === 'all' ? problem.workloads.map((declared) => declared.name) : [name],
  );
  const workloads = (wanted.length > 0 ? wanted : [undefined]).map((name) => chooseWorkload(problem, name, cache));
  return [...new Map(workloads.map((workload) => [workload.name, workload])).values()];
}
