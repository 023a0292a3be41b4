import { dirname, resolve } from 'node:path';
import { makeCandidate } from '../core/candidate.ts';
import type { DeviceIdentity } from '../core/device.ts';
import type { DeviceSpec } from '../core/device-spec.ts';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import type { Evaluation, EvaluationRequest, JudgingProblem } from '../core/evaluation.ts';
import type { Candidate, Kernel } from '../core/kernel.ts';
import { pick } from '../core/pick.ts';
import { completeParameters } from '../core/plan/parameters.ts';
import { takesWorkload } from '../core/plan/takes-workload.ts';
import type { Problem, Workload } from '../core/problem.ts';
import { completeRequest, type RequestOf } from '../core/requests/request.ts';
import { refusingUnreached } from '../core/unreached.ts';
import { untilAborted } from '../core/until-aborted.ts';
import { planLaunches } from '../evaluation/launches/plan-launches.ts';
import { holdKeptFiles } from '../store/kept-files.ts';
import { resolveBaselines } from './baselines.ts';
import { attemptCandidate, attemptResult, keepAttempt, requireAttemptOptions } from './journal.ts';
import { loadSuites } from './loading/load-suites.ts';
import { ensureTrustedFor } from './loading/trust.ts';
import { judgeOtherDtypes, otherDtypes, withOtherDtypes } from './other-dtypes.ts';
import { refuseEnergyWithoutGpu } from './refuse-energy.ts';
import { type OnDevice, openSession, type Session, seedsOf } from './session.ts';
import { loadKernelTarget } from './target.ts';
import { chooseWorkload } from './workload.ts';

export type EvaluateOptions = OnDevice<RequestOf<'evaluate'>>;

/** An evaluation with what it judged. */
export interface Judged {
  evaluation: Evaluation;
  problem: Problem;
  candidate: Candidate;
  workload: Workload;
  spec: DeviceSpec;
  /** Names of the files in the folder that `keep` names. */
  kept?: string[];
}

/** A mistake in a launch plan is a mistake in kernel.json: it becomes an error with file and path, not a status. */
function refuseUnusablePlan({ problem, candidate, workload, spec }: Omit<Judged, 'evaluation'>): void {
  const { dimensions } = workload;
  if (!takesWorkload(candidate, dimensions)) return;
  planLaunches({ problem, candidate, dimensions, spec });
}

/** A kernel that does not pass can't be a baseline, so each is judged by itself first. */
async function requirePassing(
  { evaluator }: Session,
  request: EvaluationRequest,
  against: NonNullable<EvaluationRequest['against']>,
): Promise<void> {
  for (const { name, candidate } of against) {
    const { status, reason } = await evaluator.evaluate({ ...request, candidate, id: name });
    if (status === 'passed') continue;
    throw new WarpsmithError(
      {
        code: 'baseline-failed',
        message: `Baseline ${name} is ${status}: ${reason ?? 'no reason given'}`,
        path: '--baseline',
        received: name,
        expected: 'a kernel that passes on this workload',
        hint: `See \`warpsmith evaluate ${candidate.kernel.folder}\`.`,
      },
      EXIT.judgedFailed,
    );
  }
}

/** The option that leaves checks out, if one is given. */
const partialLook = ({ quick, sampleCtas }: EvaluateOptions): '--quick' | '--sample-ctas' | undefined =>
  quick ? '--quick' : sampleCtas !== undefined ? '--sample-ctas' : undefined;

/** What is only looked at leaves nothing that could be taken for a verdict. @throws WarpsmithError `conflicting-options`. */
function refuseConflicts(options: EvaluateOptions): void {
  const partial = partialLook(options);
  const others = {
    '--keep': options.keep !== undefined,
    '--record': options.record !== undefined,
    '--sample-ctas': partial === '--quick' && options.sampleCtas !== undefined,
  };
  const [other] = Object.entries(others).find(([, isGiven]) => isGiven) ?? [];
  if (partial === undefined || other === undefined) return;
  throw new WarpsmithError({
    code: 'conflicting-options',
    message:
      other === '--sample-ctas'
        ? '--quick runs all CTAs of the workload.'
        : `${other} is for kernels that are verified; ${partial} verifies none at the workload.`,
    path: other,
    received: `${partial} and ${other}`,
    expected: 'one of them',
    hint: `Leave ${partial} out, or ${other}.`,
  });
}

/** @throws WarpsmithError if an option that leaves checks out is given for a GPU, which measures verified kernels only. */
function requireVirtual(options: EvaluateOptions, { kind, id }: DeviceIdentity): void {
  const option = partialLook(options);
  const { quick } = options;
  if (option === undefined || kind === 'virtual') return;
  throw new WarpsmithError({
    code: quick ? 'quick-needs-a-virtual-device' : 'sample-needs-a-virtual-device',
    message: `${quick ? 'A quick look' : 'A sample of CTAs'} predicts a time; ${id} measures times of verified kernels only.`,
    path: option,
    received: id,
    expected: 'a virtual device',
    hint: `Leave ${option} out, or choose a virtual device such as --device virtual:h200.`,
  });
}

/**
 * Judges one kernel on one workload: compiles, verifies, counts, times, diagnoses.
 *
 * @throws WarpsmithError before compiling, for files, parameters, workloads or launch plans that can't be used; for
 * arguments that do not fit the compiled function; for unavailable baselines; for a missing compiler or device; and for a
 * folder that can't be written.
 */
export async function judge(asked: EvaluateOptions, command: 'evaluate' | 'diagnose' = 'evaluate'): Promise<Judged> {
  const options = completeRequest('evaluate', asked);
  refuseConflicts(options);
  refuseEnergyWithoutGpu(options.energy ? '--energy' : undefined, options.device);
  const { kernel, problem } = await loadKernelTarget(options.target, options.dtype);
  const workload = chooseWorkload(problem.file, options.workload, options.cache);
  const candidate = makeCandidate(kernel, completeParameters(kernel.file, options.parameters ?? {}));
  const suites = await loadSuites(problem, options.suites ?? []);
  requireAttemptOptions(options, problem.file.name);
  await ensureTrustedFor(options, problem);
  await using session = await openSession(options);
  const judged = { problem, candidate, workload, spec: session.device.spec };
  requireVirtual(options, session.device.identity);
  refuseUnusablePlan(judged);
  const beside = await resolveBaselines(options.baselines ?? [], { session, problem, workload });
  const isWhole = partialLook(options) === undefined;
  const seeds = isWhole ? seedsOf(session, { problem, judged: [candidate], asked: workload }) : session.drawSeed;
  const request: EvaluationRequest = {
    problem,
    candidate,
    workload,
    seed: options.seed ?? seeds(),
    suites: suites.length === 0 ? undefined : suites,
    signal: options.signal,
    onStage: options.onStage,
  };
  const thorough = command === 'evaluate' && options.checks === 'thorough';
  const held = options.keep === undefined ? undefined : holdKeptFiles();
  // A virtual GPU runs PTX, so there is no machine code.
  const keep = held && { keep: { store: held, sass: session.device.identity.kind === 'cuda' } };
  const work = async (): Promise<Evaluation> => {
    await requirePassing(session, request, beside.against);
    return session.evaluator.evaluate({
      ...request,
      thorough,
      large: thorough,
      watched: thorough,
      id: 'e0',
      ...pick(options, 'quick', 'sampleCtas', 'tier', 'profile', 'sanitize', 'energy'),
      ...given(beside),
      ...keep,
    });
  };
  // Returning closes the session, which ends all running work.
  const found = await untilAborted(work(), options.signal);
  const { unreached = thorough ? 'refuse' : 'name' } = options;
  const judgedFirst = unreached === 'refuse' ? refusingUnreached(found, 'accept it: --unreached name') : found;
  const speaksOfOthers = judgedFirst.status === 'passed' && thorough && speaksOfAllDtypes(options);
  const dtypes = speaksOfOthers ? otherDtypes(problem, kernel) : [];
  const others = judgeOtherDtypes(options, { session, dtypes, seed: request.seed, unreached });
  const evaluation = withOtherDtypes(judgedFirst, await untilAborted(others, options.signal));
  if (evaluation.error) throw new WarpsmithError(evaluation.error);
  const journal = keepAttempt(options, {
    command,
    note: options.note,
    problem: problem.file.name,
    device: { id: evaluation.device.id, name: evaluation.device.name },
    seed: request.seed,
    candidate: attemptCandidate(candidate),
    of: candidate,
    results: [attemptResult(evaluation, workload)],
  });
  const told = { ...evaluation, problem: judgingProblem(problem, kernel), journal };
  return { ...judged, evaluation: told, kept: held ? held.write(options.keep!, evaluation) : undefined };
}

/** A recording holds one evaluation, and whoever names a dtype means that one. */
const speaksOfAllDtypes = ({ dtype, record, replay, sampleCtas, quick }: EvaluateOptions): boolean =>
  [dtype, record, replay, sampleCtas].every((one) => one === undefined) && !quick;

const judgingProblem = ({ folder, file: { name } }: Problem, kernel: Kernel): JudgingProblem => ({
  name,
  folder,
  elsewhere: dirname(resolve(kernel.folder)) !== resolve(folder),
});

/** Only what there is. */
const given = ({
  against,
  libraryBaselines,
}: Awaited<ReturnType<typeof resolveBaselines>>): Partial<EvaluationRequest> => ({
  against: against.length === 0 ? undefined : against,
  libraryBaselines: libraryBaselines.length === 0 ? undefined : libraryBaselines,
});

/** Judges one kernel on one workload, as {@link judge}. */
export const evaluateKernel = async (options: EvaluateOptions): Promise<Evaluation> =>
  (await judge(options)).evaluation;
