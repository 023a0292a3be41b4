import { makeCandidate } from '../core/candidate.ts';
import type { DeviceSpec } from '../core/device-spec.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Candidate, ParameterValues } from '../core/kernel.ts';
import { failedLimit } from '../core/plan/limits.ts';
import { completeParameters, failedConstraint } from '../core/plan/parameters.ts';
import type { Problem, Workload } from '../core/problem.ts';
import { planLaunches } from '../evaluation/plan-launches.ts';
import { untilAborted } from '../optimizer/until-aborted.ts';
import { openSession, type SessionOptions } from './session.ts';
import { loadKernelTarget } from './target.ts';
import { chooseWorkload } from './workload.ts';

export interface EvaluateOptions extends SessionOptions {
  /** A kernel folder, or a problem folder for the kernel its runs start from. */
  target: string;
  /** Name or list of dimensions; the problem's first workload when absent. */
  workload?: string;
  parameters: ParameterValues;
  seed: number;
  signal?: AbortSignal;
}

/** An evaluation with what it judged. */
export interface Judged {
  evaluation: Evaluation;
  problem: Problem;
  candidate: Candidate;
  workload: Workload;
  spec: DeviceSpec;
}

/** Mistakes in a launch plan are kernel.json's: they surface as errors with file and path, not as a status. */
function refuseUnusablePlan({ problem, candidate, workload, spec }: Omit<Judged, 'evaluation'>): void {
  const { kernel, parameters } = candidate;
  const { dimensions } = workload;
  const notTaken = failedLimit(kernel.file, dimensions) ?? failedConstraint(kernel.file, parameters, dimensions);
  if (notTaken !== undefined) return;
  planLaunches({ problem, candidate, dimensions, spec });
}

/**
 * Judges one kernel on one workload: compiles, verifies, counts, times, diagnoses.
 *
 * @throws WarpsmithError for files, parameters, workloads or launch plans that can't be used, before anything is
 * compiled; for arguments that do not fit the compiled function; and for a missing compiler or device.
 */
export async function judge(options: EvaluateOptions): Promise<Judged> {
  const { kernel, problem } = await loadKernelTarget(options.target);
  const workload = chooseWorkload(problem.file, options.workload);
  const candidate = makeCandidate(kernel, completeParameters(kernel.file, options.parameters));
  await using session = await openSession(options);
  const judged = { problem, candidate, workload, spec: session.device.spec };
  refuseUnusablePlan(judged);
  const work = session.evaluator.evaluate({
    problem,
    candidate,
    workload,
    seed: options.seed,
    id: 'e0',
    ...(options.signal ? { signal: options.signal } : {}),
  });
  // Leaving closes the session, which ends whatever still runs.
  const evaluation = await untilAborted(work, options.signal);
  if (evaluation.error) throw new WarpsmithError(evaluation.error);
  return { ...judged, evaluation };
}

/** Judges one kernel on one workload, as {@link judge}. */
export const evaluateKernel = async (options: EvaluateOptions): Promise<Evaluation> =>
  (await judge(options)).evaluation;
