import { makeCandidate } from '../core/candidate.ts';
import type { DType } from '../core/dtype.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { DTypeVerdict, Evaluation } from '../core/evaluation.ts';
import type { Kernel } from '../core/kernel.ts';
import { completeParameters } from '../core/plan/parameters.ts';
import type { Problem } from '../core/problem.ts';
import type { RequestOf } from '../core/requests/request.ts';
import type { EvaluationStatus } from '../core/status.ts';
import { refusingUnreached, type Unreached } from '../core/unreached.ts';
import { passedAllChecks, SAMPLED_CTAS } from '../evaluation/watch.ts';
import type { OnDevice, Session } from './session.ts';
import { loadKernelTarget } from './target.ts';
import { chooseWorkload } from './workload.ts';

/** The dtypes of the problem in which a kernel is not judged when it is judged in the first one that it takes. */
export function otherDtypes({ dtypes = [], file }: Problem, kernel: Kernel): DType[] {
  const taken = kernel.file.dtypes ?? dtypes;
  return dtypes.filter((dtype) => dtype !== file.dtype && taken.includes(dtype));
}

type Asked = Pick<
  OnDevice<RequestOf<'evaluate'>>,
  'target' | 'parameters' | 'workload' | 'cache' | 'signal' | 'onStep' | 'onStage'
>;

/**
 * Judges a kernel in the other dtypes that it takes: a user who names none gets a verdict on all of them. A virtual GPU verifies it at every shape but the
 * workload's, of which some CTAs run; a real one measures it shortly, too.
 */
export async function judgeOtherDtypes(
  options: Asked,
  {
    session,
    dtypes,
    seed,
    unreached,
  }: { session: Session; dtypes: readonly DType[]; seed: number; unreached: Unreached },
): Promise<DTypeVerdict[]> {
  const verdicts: DTypeVerdict[] = [];
  for (const dtype of dtypes) {
    options.onStep?.(`judging it in ${dtype}`);
    verdicts.push({ dtype, ...(await judgeIn(dtype, options, { session, seed, unreached })) });
  }
  return verdicts;
}

async function judgeIn(
  dtype: DType,
  options: Asked,
  { session, seed, unreached }: { session: Session; seed: number; unreached: Unreached },
): Promise<Pick<Evaluation, 'status' | 'reason' | 'failedCheck'>> {
  try {
    const { kernel, problem } = await loadKernelTarget(options.target, dtype);
    const isVirtual = session.device.identity.kind === 'virtual';
    const found = await session.evaluator.evaluate({
      ...{ problem, seed, thorough: true, watched: true, signal: options.signal, onStage: options.onStage },
      candidate: makeCandidate(kernel, completeParameters(kernel.file, options.parameters ?? {})),
      workload: chooseWorkload(problem.file, options.workload, options.cache),
      sampleCtas: isVirtual ? SAMPLED_CTAS : undefined,
    });
    const passed = passedAllChecks(found) ? { ...found, status: 'passed' as const, reason: undefined } : found;
    const { status, reason, failedCheck } = unreached === 'refuse' ? refusingUnreached(passed) : passed;
    return { status, reason, failedCheck };
  } catch (error) {
    if (error instanceof WarpsmithError) return { status: 'invalid', reason: error.message };
    throw error;
  }
}

/** How a kernel ends that does not take a dtype with these parameters, whose values may depend on it. */
const NOT_TAKEN: readonly EvaluationStatus[] = ['invalid', 'unsupported'];

/** A verdict with those in other dtypes: passed only if it passed in all that it takes. */
export function withOtherDtypes(evaluation: Evaluation, verdicts: readonly DTypeVerdict[]): Evaluation {
  if (verdicts.length === 0) return evaluation;
  const otherDtypes = [...verdicts];
  const failed = verdicts.find(({ status }) => status !== 'passed' && !NOT_TAKEN.includes(status));
  if (!failed || evaluation.status !== 'passed') return { ...evaluation, otherDtypes };
  const { dtype, status, reason, failedCheck } = failed;
  return { ...evaluation, status, reason: `in ${dtype}: ${reason}`, failedCheck, otherDtypes };
}
