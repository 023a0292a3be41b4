import { join, resolve } from 'node:path';
import type { ComparedSizes } from '../core/compared-sizes.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Candidate } from '../core/kernel.ts';
import { takesWorkload } from '../core/plan/takes-workload.ts';
import type { Problem, Workload } from '../core/problem.ts';
import { completeRequest, type RequestOf } from '../core/requests/request.ts';
import type { Timing } from '../core/timing.ts';
import { untilAborted } from '../core/until-aborted.ts';
import { assignments } from '../core/values.ts';
import { chooseKernels, type Times } from '../handover/choose-kernels.ts';
import { type DispatchTable, dispatchTable, type Winner } from '../handover/dispatch-table.ts';
import type { LedgerLine } from '../reports/view/ledger.ts';
import type { Budgets } from '../store/events.ts';
import { findRun } from '../store/run-folder.ts';
import { requireFreeFolder } from '../store/write-folder.ts';
import { bestOf, type LoadedRun, loadRun, restore, startOf } from './candidate-target.ts';
import { comparedSizesOf, unionOfAll } from './compared-sizes.ts';
import { ensureTrustedFor } from './loading/trust.ts';
import { type OptimizeOutcome, type OptimizeRequest, optimizeProblem, prepareRun } from './optimize.ts';
import { type OnDevice, openSession, type Session, seedsOf } from './session.ts';
import { oneForEachCall, TABLE_FOLDER, writeTable } from './write-table.ts';

type DispatchOptions = OnDevice<RequestOf<'dispatch'>>;

export interface DispatchOutcome {
  table: DispatchTable;
  folder: string;
  files: string[];
  /** Workload → candidate id → time in ns, for every winner that takes the workload. It lets readers check the choice. */
  times: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** What was left out, and why. */
  notes: readonly string[];
}

/** A run's best candidate and the workload of that run. */
interface RunWinner {
  readonly run: LoadedRun;
  readonly problem: Problem;
  readonly workload: Workload;
  readonly candidate: Candidate;
  readonly evaluation: Evaluation;
}

/**
 * Makes a dispatch table of the winners of several runs. Judges every winner on every workload, gives each workload the
 * fastest, and drops kernels that others come within 2 % of.
 *
 * @throws WarpsmithError `dispatch-needs-one-problem`, `dispatch-needs-one-device`, `same-workload-twice`; as `findRun`,
 * `bestOf`, `writeDispatch` and `writeFolder`; for a missing compiler or device.
 */
export async function composeDispatch(request: DispatchOptions): Promise<DispatchOutcome> {
  const options = completeRequest('dispatch', request);
  const folder = resolve(options.output);
  requireFreeFolder(folder, TABLE_FOLDER);
  const given = await Promise.all(options.targets.map((run) => winnerOf(options.store, run)));
  requireOneTable(given, options.device);
  const { kept: winners, notes } = oneForEachCall(given);
  for (const { problem } of winners) await ensureTrustedFor(options, problem, 'log');
  await using session = await openSession(options);
  const subject = {
    problem: winners[0]!.problem,
    judged: winners.map(({ candidate }) => candidate),
    asked: winners.map(({ workload }) => workload),
  };
  const seed = options.seed ?? seedsOf(session, subject)();
  const judged = await judgeEverywhere(winners, session, { ...options, seed });
  const times: Times = new Map([...judged].map(([name, row]) => [name, medians(row)]));
  const chosen = chooseKernels(times);
  const candidates = new Map(winners.map(({ candidate }) => [candidate.id, candidate]));
  const [first] = winners;
  const fallback = await startOf(await restore(first!.run, bestOf(first!.run)));
  const { problem } = first!;
  const table = dispatchTable({
    compared: options.unverifiedSizes
      ? undefined
      : sizesByCandidate([...winners, { candidate: fallback, run: first!.run }], judged, options.store),
    problem: problem.file,
    device: session.device.identity,
    date: (session.recordedAt ?? new Date().toISOString()).slice(0, 10),
    fallback,
    winners: winners.flatMap(({ workload }): Winner[] => {
      const id = chosen.get(workload.name);
      return id === undefined
        ? []
        : [{ workload, candidate: candidates.get(id)!, ...judged.get(workload.name)!.get(id)! }];
    }),
  });
  const files = writeTable(table, { problem, candidates: [...candidates.values(), fallback], folder });
  return { table, folder, files, times: plain(times), notes };
}

async function winnerOf(store: string, text: string): Promise<RunWinner> {
  const run = loadRun(findRun(store, text));
  const { candidate, problem, origin } = await restore(run, bestOf(run));
  return { run, problem, workload: run.started.workload, candidate, evaluation: origin!.event.evaluation };
}

const plain = (times: Times): DispatchOutcome['times'] =>
  Object.fromEntries([...times].map(([name, row]) => [name, Object.fromEntries(row)]));

const medians = (row: ReadonlyMap<string, JudgedTiming>): ReadonlyMap<string, number> =>
  new Map([...row].map(([id, { timing }]) => [id, timing.medianNs]));

/** A winner's timing on a workload, the seed of that evaluation, and where it compared results. */
interface JudgedTiming {
  readonly timing: Timing;
  readonly seed: number;
  readonly compared?: ComparedSizes | undefined;
}

/** Candidate's id → where its results were compared, here and before. */
function sizesByCandidate(
  kernels: readonly Pick<RunWinner, 'candidate' | 'run'>[],
  judged: ReadonlyMap<string, ReadonlyMap<string, JudgedTiming>>,
  store: string,
): Map<string, ComparedSizes> {
  const sizes = kernels.map(({ candidate, run }): readonly [string, ComparedSizes | undefined] => {
    const { id } = candidate;
    const here = [...judged.values()].map((row) => row.get(id)?.compared);
    return [id, unionOfAll([comparedSizesOf(candidate, run, store), ...here])];
  });
  return new Map(sizes.flatMap(([id, compared]) => (compared ? [[id, compared] as const] : [])));
}

type SeededOptions = DispatchOptions & { readonly seed: number };

/**
 * Workload → candidate → timing. Measured: each other winner runs beside the workload's own winner, in the same blocks. Its
 * time is the own winner's time in its run × the ratio, so that times of one workload can be compared.
 */
async function judgeEverywhere(
  winners: readonly RunWinner[],
  session: Session,
  options: SeededOptions,
): Promise<Map<string, Map<string, JudgedTiming>>> {
  const judged = new Map<string, Map<string, JudgedTiming>>();
  for (const own of winners) {
    const seed = own.evaluation.seed ?? own.run.started.seed;
    const row = new Map([[own.candidate.id, { timing: own.evaluation.timing!, seed }]]);
    for (const { candidate } of winners) {
      if (row.has(candidate.id) || !takesWorkload(candidate, own.workload.dimensions)) continue;
      options.onStep?.(`${own.workload.name}: judging ${candidate.kernel.file.name} (${candidate.id})`);
      const timed = await untilAborted(judgeOn(own, candidate, session, options), options.signal);
      if (timed) row.set(candidate.id, { ...timed, seed: options.seed });
    }
    judged.set(own.workload.name, row);
  }
  return judged;
}

async function judgeOn(
  own: RunWinner,
  candidate: Candidate,
  { device, evaluator }: Session,
  { seed, signal, onStage }: SeededOptions,
): Promise<Pick<JudgedTiming, 'timing' | 'compared'> | undefined> {
  const { status, timing, comparisons, coverage } = await evaluator.evaluate({
    problem: own.problem,
    candidate,
    workload: own.workload,
    seed,
    id: candidate.id,
    ...(device.identity.kind === 'cuda' && { tier: 'accept', against: [{ name: 'own', candidate: own.candidate }] }),
    signal,
    onStage,
  });
  if (status !== 'passed' || !timing) return undefined;
  const compared = coverage?.compared;
  if (timing.kind === 'predicted') return { timing, compared };
  const ratio = comparisons?.[0]?.ratio;
  if (ratio === undefined) return undefined;
  return { timing: { ...timing, medianNs: own.evaluation.timing!.medianNs / ratio }, compared };
}

function requireOneTable(winners: readonly RunWinner[], device: string): void {
  const problems = new Set(winners.map(({ problem }) => problem.folder));
  if (problems.size !== 1) throw notOne('dispatch-needs-one-problem', 'problem', [...problems]);
  const other = winners.find(({ run }) => run.started.device.id !== device);
  if (other) throw notOne('dispatch-needs-one-device', 'device', [device, other.run.started.device.id]);
  const names = winners.map(({ workload }) => workload.name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice === undefined) return;
  throw new WarpsmithError({
    code: 'same-workload-twice',
    message: `Two runs are about ${twice}.`,
    received: names.join(', '),
    expected: 'one run for each workload',
    hint: 'Leave one of them out.',
  });
}

const notOne = (code: string, what: string, received: readonly string[]): WarpsmithError =>
  new WarpsmithError({
    code,
    message: `A dispatch table is for one ${what}.`,
    received: received.join(', ') || 'no runs',
    expected: `runs of one ${what}`,
    hint: 'List the runs with `warpsmith runs`.',
  });

export interface PerWorkloadOutcome {
  runs: OptimizeOutcome[];
  /** Absent if the search was interrupted, or if no run found a kernel. */
  dispatch?: DispatchOutcome;
}

/**
 * Optimises each workload in its own run with an equal share of the budgets, then makes a dispatch table of the winners in
 * the store. An interrupted run can be resumed as usual; then call `composeDispatch` again.
 *
 * @throws WarpsmithError as `optimizeProblem` and {@link composeDispatch}.
 */
export async function optimizePerWorkload(request: OptimizeRequest): Promise<PerWorkloadOutcome> {
  const {
    workloads,
    problem,
    budgets: all,
    request: { store },
  } = await prepareRun(request);
  const runs: OptimizeOutcome[] = [];
  for (const [index, workload] of workloads.entries()) {
    const { name } = workload;
    const budgets = shareOf(all, runs, workloads.length - index);
    request.onStep?.(`${name}: run ${index + 1} of ${workloads.length}`);
    runs.push(await optimizeProblem({ ...request, workloads: [textOf(problem, workload)], budgets }));
    if (request.signal?.aborted) return { runs };
  }
  const found = runs.filter(({ result }) => result.best);
  if (found.length === 0) return { runs };
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
  const dispatch = await composeDispatch({
    ...request,
    targets: found.map(({ runFolder }) => runFolder),
    output: join(store, 'dispatch', `${stamp}-${found[0]!.view.problem.name}`),
  });
  return { runs, dispatch };
}

/** The workload as a user would name it. Its name comes first, because two workloads may differ only in their caches. */
const textOf = ({ file }: Problem, { name, dimensions }: Workload): string =>
  file.workloads.some((declared) => declared.name === name) ? name : assignments(dimensions).join(',');

/** The rest of each budget ÷ the workloads left. */
function shareOf(budgets: Budgets, runs: readonly OptimizeOutcome[], left: number): Budgets {
  const used = (name: LedgerLine['name']): number =>
    runs.reduce((sum, { view }) => sum + (view.ledger.lines.find((line) => line.name === name)?.used ?? 0), 0);
  const share = (limit: number | null, name: LedgerLine['name']) =>
    limit === null ? null : Math.max(0, limit - used(name)) / left;
  const evaluations = share(budgets.maximumEvaluations, 'evaluations');
  return {
    ...budgets,
    maximumEvaluations: evaluations === null ? null : Math.floor(evaluations),
    maximumMinutes: share(budgets.maximumMinutes, 'wall time'),
    maximumGpuMinutes: share(budgets.maximumGpuMinutes, 'GPU time'),
    maximumMoney: share(budgets.maximumMoney, 'money'),
  };
}
