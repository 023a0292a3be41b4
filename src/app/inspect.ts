import { isDeepStrictEqual } from 'node:util';
import type { DeviceIdentity } from '../core/device.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { EvaluationRequest } from '../core/evaluation.ts';
import type { Workload } from '../core/problem.ts';
import { completeRequest, type RequestOf } from '../core/requests/request.ts';
import { untilAborted } from '../core/until-aborted.ts';
import { buildInspectView, type InspectView } from '../reports/inspect-view.ts';
import { type CandidateTarget, candidateTarget } from './candidate-target.ts';
import { holdTexts } from './hold-texts.ts';
import { ensureTrustedFor } from './loading/trust.ts';
import { type OnDevice, openSession } from './session.ts';
import { chooseWorkload } from './workload.ts';

type InspectOptions = OnDevice<RequestOf<'inspect'>>;

/**
 * Lists, for each line of a candidate's source, the instructions and traffic it causes and its PTX. A virtual GPU counts
 * them; on a real GPU the profiler does. A candidate that has not passed in a run is judged first.
 *
 * @throws WarpsmithError as `candidateTarget`; for workloads that can't be used, and for a missing compiler or device.
 */
export async function inspectCandidate(request: InspectOptions): Promise<InspectView> {
  const options = completeRequest('inspect', request);
  const target = await candidateTarget(options.target, options);
  const { candidate, problem, label } = target;
  const workload = workloadOf(target, options);
  await using session = await openSession(options);
  const measures = session.device.identity.kind === 'cuda';
  const passedBefore = passedInRun(target, workload, session.device.identity);
  // A candidate that passed before is only counted. All others need the oracle.
  if (!passedBefore) await ensureTrustedFor(options, problem, target.origin ? 'log' : 'user');
  const held = holdTexts();
  const evaluation = await untilAborted(
    session.evaluator.evaluate({
      problem,
      candidate,
      workload,
      seed: options.seed ?? session.drawSeed(),
      id: 'e0',
      keep: { store: held, sass: false },
      // On a real GPU only a full profile has counters per line; a virtual GPU always has them.
      profile: measures ? ('full' as const) : undefined,
      passedBefore,
      signal: options.signal,
      onStage: options.onStage,
    }),
    options.signal,
  );
  if (evaluation.error) throw new WarpsmithError(evaluation.error);
  return buildInspectView({
    evaluation,
    label,
    sources: candidate.kernel.file.source.kind === 'cubin' ? {} : candidate.kernel.sources,
    ptx: held.get(evaluation.artifacts?.ptx ?? ''),
  });
}

/** The passed evaluation on this workload from the candidate's run; for a GPU, only from a GPU of the same name. */
export function passedInRun(
  { origin }: Pick<CandidateTarget, 'origin'>,
  { dimensions }: Workload,
  identity: DeviceIdentity,
): EvaluationRequest['passedBefore'] {
  const { status, workload, correctness, coverage, timing, device } = origin?.event.evaluation ?? {};
  if (status !== 'passed' || !correctness || !coverage || !timing) return undefined;
  if (identity.kind === 'cuda' && (device?.kind !== 'cuda' || device.name !== identity.name)) return undefined;
  return isDeepStrictEqual(workload?.dimensions, dimensions) ? { correctness, coverage, timing } : undefined;
}

/** A run's workload may not be declared in problem.json, so it is found by its dimensions, not by its name. */
function workloadOf({ origin, problem }: CandidateTarget, { workload, cache }: InspectOptions): Workload {
  if (workload !== undefined || !origin) return chooseWorkload(problem.file, workload, cache);
  const ofRun = origin.run.started.workload;
  return cache === undefined ? ofRun : { ...ofRun, cache };
}
