import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Candidate } from '../../src/core/kernel.ts';
import { validAssignments } from '../../src/core/plan/parameters.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';
import type { Problem, Workload } from '../../src/core/problem.ts';
import { createStream } from '../../src/stats/random.ts';

/** Every setting of a kernel that the workload allows, in an order that is random and always the same; defaults first. */
export async function distinctCandidates(
  folder: string,
  workloadName: string,
): Promise<{ problem: Problem; workload: Workload; candidates: Candidate[] }> {
  const { kernel, problem } = await loadKernel(folder);
  const workload = resolveWorkload(problem.file, workloadName);
  const defaults = makeCandidate(kernel, {});
  const stream = createStream(kernel.file.name, 'order of candidates');
  const others = validAssignments(kernel.file, workload.dimensions)
    .map((parameters, index) => ({ candidate: makeCandidate(kernel, parameters), position: stream.bits(index) }))
    .sort((a, b) => a.position - b.position)
    .map(({ candidate }) => candidate)
    .filter(({ id }) => id !== defaults.id);
  return { problem, workload, candidates: [defaults, ...others] };
}
