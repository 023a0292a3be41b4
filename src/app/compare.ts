import { isDeepStrictEqual } from 'node:util';
import type { DeviceIdentity } from '../core/device.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { Candidate } from '../core/kernel.ts';
import { whyNotTaken } from '../core/plan/takes-workload.ts';
import type { Problem, Workload } from '../core/problem.ts';
import { completeRequest, type RequestOf } from '../core/requests/request.ts';
import { untilAborted } from '../core/until-aborted.ts';
import {
  type ComparedCandidate,
  type ComparedSide,
  type ComparedWorkload,
  type CompareView,
  comparedSide,
  comparedWorkload,
  failingWorkloads,
  meanRatio,
} from '../reports/documents/compare.ts';
import { type CandidateTarget, candidateTarget } from './candidate-target.ts';
import {
  type AttemptOptions,
  attemptCandidate,
  type Judgement,
  keepAttempt,
  requireAttemptOptions,
} from './journal.ts';
import { ensureTrustedFor } from './loading/trust.ts';
import { refuseEnergyWithoutGpu } from './refuse-energy.ts';
import { requestOf } from './same-blocks.ts';
import { type OnDevice, openSession, type Session, seedsOf } from './session.ts';
import { chooseWorkloads } from './workload.ts';

type CompareOptions = OnDevice<RequestOf<'compare'>>;

/**
 * Judges two candidates of one problem and compares their times. On a real GPU it compares samples of the same blocks and
 * gives a verdict; on a virtual device it gives the ratio of predictions.
 *
 * @throws WarpsmithError `different-problems`; as `candidateTarget`; for workloads that can't be used, and for a missing
 * compiler or device.
 */
export async function compareCandidates(request: CompareOptions): Promise<CompareView> {
  const options = completeRequest('compare', request);
  const { store, dtype, failOn = null } = options;
  refuseEnergyWithoutGpu(options.energy ? '--energy' : undefined, options.device);
  const baseline = await candidateTarget(options.baseline, {
    store,
    dtype,
    parameters: options.baselineParameters,
    option: '--set-baseline',
  });
  const candidate = await candidateTarget(options.candidate, {
    store,
    dtype,
    parameters: options.candidateParameters,
    option: '--set-candidate',
  });
  requireSameProblem(baseline, candidate);
  const { problem } = candidate;
  const workloads = chooseWorkloads(problem.file, options.workloads, options.cache);
  for (const { problem: own, origin } of [baseline, candidate]) {
    await ensureTrustedFor(options, own, origin ? 'log' : 'user');
  }
  requireAttemptOptions(options, problem.file.name);
  await using session = await openSession(options);
  const judged = [baseline.candidate, candidate.candidate];
  const seed = options.seed ?? seedsOf(session, { problem, judged, asked: workloads })();
  const rows: ComparedWorkload[] = [];
  for (const workload of workloads) {
    const pair = {
      options,
      session,
      seed,
      problem,
      workload,
      baseline: baseline.candidate,
      candidate: candidate.candidate,
    };
    rows.push(await untilAborted(compareOn(pair), options.signal));
  }
  const attempts = { options, rows, problem, workloads, seed, device: session.device.identity };
  return {
    schemaVersion: 1,
    kind: 'compare',
    problem: problem.file.name,
    device: session.device.identity,
    seed,
    baseline: describe(baseline),
    candidate: describe(candidate),
    journal: keepComparison(attempts, baseline.candidate, candidate.candidate),
    workloads: rows,
    geometricMean: meanRatio(rows),
    failOn,
    failing: failingWorkloads(rows, failOn),
  };
}

interface Compared {
  readonly options: AttemptOptions;
  readonly problem: Problem;
  readonly workloads: readonly Workload[];
  readonly device: DeviceIdentity;
  readonly seed: number;
  readonly rows: readonly ComparedWorkload[];
}

/** The candidate as an attempt, whose parent is the baseline. */
function keepComparison(compared: Compared, baseline: Candidate, candidate: Candidate): CompareView['journal'] {
  return keepAttempt(
    compared.options,
    judgementOf(compared, candidate, 'candidate'),
    judgementOf(compared, baseline, 'baseline'),
  );
}

function judgementOf(
  { options, problem, workloads, device, seed, rows }: Compared,
  of: Candidate,
  side: 'baseline' | 'candidate',
): Judgement {
  return {
    command: 'compare',
    note: side === 'candidate' ? options.note : undefined,
    problem: problem.file.name,
    device: { id: device.id, name: device.name },
    seed,
    candidate: attemptCandidate(of),
    of,
    results: rows.map((row, index) => ({
      workload: row.workload,
      dimensions: row.dimensions,
      cache: workloads[index]!.cache,
      status: row[side].status,
      reason: row[side].reason,
      timing: row[side].timing && { ...row[side].timing, intervalNs: [...row[side].timing.intervalNs] },
      beside:
        side === 'candidate' && row.ratio !== null && row.verdict !== undefined && row.intervalRatio
          ? { ratio: row.ratio, verdict: row.verdict, intervalRatio: [...row.intervalRatio] }
          : undefined,
    })),
  };
}

interface Pair {
  readonly options: CompareOptions;
  readonly session: Session;
  readonly seed: number;
  readonly problem: Problem;
  readonly workload: Workload;
  readonly baseline: Candidate;
  readonly candidate: Candidate;
}

/** Name of the baseline among the contenders of the shared blocks. */
const BASELINE = 'baseline';

async function compareOn(pair: Pair): Promise<ComparedWorkload> {
  const { options, problem, workload } = pair;
  const weight = problem.file.workloads.find(({ name }) => name === workload.name)?.weight ?? 1;
  const named = { workload: workload.name, dimensions: workload.dimensions, weight };
  options.onStep?.(`${workload.name}: judging the baseline`);
  const baseline = await judgeAlone(pair, pair.baseline, BASELINE);
  const measures = pair.session.device.identity.kind === 'cuda';
  if (!measures || baseline.status !== 'passed') {
    options.onStep?.(`${workload.name}: judging the candidate`);
    return comparedWorkload(named, baseline, await judgeAlone(pair, pair.candidate, 'candidate', true), undefined);
  }
  const refused = notTaken(pair.candidate, workload);
  if (refused) return comparedWorkload(named, baseline, refused, undefined);
  options.onStep?.(`${workload.name}: measuring both in the same blocks`);
  const evaluation = await pair.session.evaluator.evaluate({
    ...requestOf(pair, pair.candidate, 'candidate'),
    thorough: true,
    tier: 'accept',
    energy: options.energy,
    against: [{ name: BASELINE, candidate: pair.baseline }],
  });
  const beside = evaluation.comparisons?.find((comparison) => comparison.baseline === BASELINE);
  const missing = evaluation.missingBaselines?.find(({ name }) => name === BASELINE);
  const measured: ComparedSide = missing ? { status: 'device-failed', reason: missing.reason } : baseline;
  const row = comparedWorkload(named, measured, comparedSide(evaluation), beside);
  return evaluation.energy ? { ...row, energy: evaluation.energy } : row;
}

async function judgeAlone(pair: Pair, candidate: Candidate, id: string, thorough = false): Promise<ComparedSide> {
  return (
    notTaken(candidate, pair.workload) ??
    comparedSide(await pair.session.evaluator.evaluate({ ...requestOf(pair, candidate, id), thorough }))
  );
}

/** A kernel whose limits exclude the workload is refused without a device. */
function notTaken(candidate: Candidate, { dimensions }: Workload): ComparedSide | undefined {
  const failed = whyNotTaken(candidate, dimensions);
  return failed === undefined ? undefined : { status: 'unsupported', reason: `needs ${failed}` };
}

const describe = ({ label, candidate: { id, kernel, parameters } }: CandidateTarget): ComparedCandidate => ({
  label,
  id,
  kernel: kernel.file.name,
  parameters,
});

/** Two problems are the same if their contents are, wherever they lie. */
function requireSameProblem(baseline: CandidateTarget, candidate: CandidateTarget): void {
  if (isDeepStrictEqual(baseline.problem.file, candidate.problem.file)) return;
  throw new WarpsmithError({
    code: 'different-problems',
    message: 'The baseline and the candidate solve different problems.',
    file: candidate.problem.folder,
    received: `${baseline.problem.file.name} (${baseline.problem.folder}) and ${candidate.problem.file.name} (${candidate.problem.folder})`,
    expected: 'two candidates of one problem',
    hint: 'Times of different problems can’t be compared.',
  });
}
