import { WarpsmithError } from '../core/errors.ts';
import { resolveWorkload } from '../core/plan/resolve-workload.ts';
import type { ProblemFile, Workload } from '../core/problem.ts';
import type { Cache } from '../core/requests/options.ts';
import type { WeightedWorkload } from '../store/events.ts';

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

/** The workloads that a user named, each once; `all` means every workload that the problem declares. */
export function chooseWorkloads(problem: ProblemFile, names: readonly string[], cache?: Cache): Workload[] {
  const wanted = names.flatMap((name) =>
    name === 'all' ? problem.workloads.map((declared) => declared.name) : [name],
  );
  const workloads = (wanted.length > 0 ? wanted : [undefined]).map((name) => chooseWorkload(problem, name, cache));
  return [...new Map(workloads.map((workload) => [workload.name, workload])).values()];
}

/**
 * The workloads of an objective, each once, with its weight. A weight follows a colon (`b1h8s512d64:2`); otherwise
 * problem.json's weight applies, or 1. `all` means every declared workload.
 *
 * @throws WarpsmithError `bad-weight`; as {@link chooseWorkload}.
 */
export function chooseObjective(problem: ProblemFile, texts: readonly string[], cache?: Cache): WeightedWorkload[] {
  const wanted = texts
    .map(splitWeight)
    .flatMap(({ name, weight }) =>
      name === 'all' ? problem.workloads.map((declared) => ({ name: declared.name, weight })) : [{ name, weight }],
    );
  const chosen = new Map<string, WeightedWorkload>();
  for (const { name, weight } of wanted.length > 0 ? wanted : [{ name: undefined, weight: undefined }]) {
    const workload = chooseWorkload(problem, name, cache);
    const declared = problem.workloads.find((one) => one.name === workload.name)?.weight;
    // `all` keeps the weight of a workload that was also named with one.
    const known = chosen.get(workload.name)?.weight;
    chosen.set(workload.name, { ...workload, weight: weight ?? known ?? declared ?? 1 });
  }
  return [...chosen.values()];
}

function splitWeight(text: string): { name: string; weight: number | undefined } {
  const colon = text.lastIndexOf(':');
  if (colon < 0) return { name: text, weight: undefined };
  const weight = Number(text.slice(colon + 1));
  if (weight > 0 && Number.isFinite(weight)) return { name: text.slice(0, colon), weight };
  throw new WarpsmithError({
    code: 'bad-weight',
    message: `"${text.slice(colon + 1)}" is not a weight.`,
    path: '--workload',
    received: text,
    expected: 'a workload, a colon and a positive number, such as b1h8s512d64:2',
    hint: 'Leave the colon out for the weight that problem.json declares, or 1.',
  });
}
