import { makeCandidate } from '../core/candidate.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { ParameterValues } from '../core/kernel.ts';
import { expandPlan } from '../core/plan/expand-plan.ts';
import { completeParameters } from '../core/plan/parameters.ts';
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

/**
 * Judges one kernel on one workload: compiles, verifies, counts, times, diagnoses.
 *
 * @throws WarpsmithError for files, parameters or workloads that can't be used, before anything is compiled.
 */
export async function evaluateKernel(options: EvaluateOptions): Promise<Evaluation> {
  const { kernel, problem } = await loadKernelTarget(options.target);
  const workload = chooseWorkload(problem.file, options.workload);
  const candidate = makeCandidate(kernel, completeParameters(kernel.file, options.parameters));
  await using session = await openSession(options);
  refuseUnusablePlan();
  return await session.evaluator.evaluate({
    problem,
    candidate,
    workload,
    seed: options.seed,
    id: 'e0',
    ...(options.signal ? { signal: options.signal } : {}),
  });

  /** Errors of the launch plan are the file's, with file and path; they surface here instead of as a status. */
  function refuseUnusablePlan(): void {
    expandPlan({
      problem: problem.file,
      kernel: kernel.file,
      parameters: candidate.parameters,
      dimensions: workload.dimensions,
      device: { smCount: session.device.spec.smCount.value },
      ctasPerSm: 1,
    });
  }
}
