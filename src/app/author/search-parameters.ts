import type { Candidate } from '../../core/kernel.ts';
import type { Problem, Workload } from '../../core/problem.ts';
import { completeRequest } from '../../core/requests/request.ts';
import type { RunResult } from '../../optimizer/optimize.ts';
import { readPriors } from '../../store/index/read-priors.ts';
import { createRunFolder, runId } from '../../store/run-folder.ts';
import { runLoop } from '../optimize.ts';
import type { Session } from '../session.ts';

/**
 * A run over the parameters of one kernel, with a log and a report as any other: structure is the author's, constants are found.
 * It knows no other rung.
 */
export async function searchParameters(request: {
  readonly session: Session;
  readonly store: string;
  readonly problem: Problem;
  readonly workload: Workload;
  readonly start: Candidate;
  readonly evaluations: number;
  readonly signal: AbortSignal;
}): Promise<RunResult> {
  const { session, store, problem, workload, start, evaluations, signal } = request;
  const asked = completeRequest('optimize', {
    target: problem.folder,
    store,
    maximumEvaluations: evaluations,
    ablation: false,
  });
  const priors = readPriors(store, {
    problem: problem.file.name,
    device: session.device.identity,
    rungs: [start.kernel.file.name],
  });
  const run = createRunFolder(store, runId(new Date(), problem.file.name, workload.name));
  const { result } = await runLoop(
    {
      request: { ...asked, device: session.device.identity.id, signal },
      budgets: {
        maximumEvaluations: evaluations,
        allowance: null,
        maximumMinutes: null,
        maximumGpuMinutes: null,
        maximumMoney: null,
        gpuPricePerHour: null,
      },
      problem,
      workloads: [{ ...workload, weight: 1 }],
      start,
      rungs: [start.kernel],
    },
    session,
    run,
    { priors },
  );
  return result;
}
