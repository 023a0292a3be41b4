import { randomUUID } from 'node:crypto';
import { join, resolve, sep } from 'node:path';
import { makeCandidate } from '../core/candidate.ts';
import { deriveSeed } from '../core/derive-seed.ts';
import { WarpsmithError } from '../core/errors.ts';
import { completeParameters } from '../core/plan/parameters.ts';
import { deviceRefusal } from '../core/plan/runs-on.ts';
import type { Problem } from '../core/problem.ts';
import { AGENTS, AUTHOR, GUIDED } from '../core/requests/options.ts';
import { type CompleteRequest, completeRequest, loggedOf, type RequestOf } from '../core/requests/request.ts';
import type { Timing } from '../core/timing.ts';
import { PATTERNS } from '../diagnosis/patterns/index.ts';
import type { SeedSubject } from '../evaluation/recording/repeat.ts';
import { repositoryState } from '../handover/repository-state.ts';
import { describeRatio } from '../optimizer/decision.ts';
import { parseGoal, refuseGoalBelowBound, type VetoBound } from '../optimizer/goal.ts';
import { type Best, optimize, type RunResult } from '../optimizer/optimize.ts';
import type { OptimizeOptions } from '../optimizer/run.ts';
import { formatRatioInterval, formatTiming } from '../reports/format.ts';
import type { RunView } from '../reports/run-view.ts';
import { DEFAULT_BLIND_STRATEGY } from '../search/strategies.ts';
import { bakeKernel } from '../store/best-kernel.ts';
import { storeCandidateSources } from '../store/candidate-sources.ts';
import type { Budgets, ConfirmationEvent, Priors, RecordedEvent, RunRequest } from '../store/events.ts';
import { readPriors } from '../store/index/read-priors.ts';
import { createRunFolder, RUN_FILES, type RunFolder, runId } from '../store/run-folder.ts';
import { readTranscript } from '../store/transcript.ts';
import { refuseAuthorConflicts } from './author/author-options.ts';
import type { ServeTurn } from './author/command/command-author.ts';
import { openAuthors } from './author/open-authors.ts';
import { rooflineOf, vetoBoundFor } from './bounds.ts';
import { type GpuPriceOfRun, gpuPriceOf } from './gpu-price.ts';
import { hashProblemFiles } from './loading/hash-problem-files.ts';
import { ensureTrustedFor } from './loading/trust.ts';
import { askedPrior } from './prior/asked-prior.ts';
import { priorOfStore } from './prior/prior-of-store.ts';
import { energyFlagOf, refuseEnergyConflicts, refuseEnergyWithoutGpu } from './refuse-energy.ts';
import { writeReport } from './report.ts';
import { type OnDevice, type Session, seedsOf } from './session.ts';
import { loadProblemTarget } from './target.ts';
import { chosenDevices } from './workers/chosen-devices.ts';
import { openRunSession } from './workers/open-run-session.ts';
import { chooseObjective } from './workload.ts';

export type OptimizeRequest = OnDevice<RequestOf<'optimize'>> & {
  /** Whether the seed of a resumed run was drawn, not given. Then its confirmations draw theirs, too. */
  readonly seedDrawn?: boolean;
  /** Of a resumed run. */
  readonly queueScope?: string;
  /** Instead of those that the options give. */
  readonly budgets?: Budgets;
  /** Serves the agents of `--author`; needed only with one. */
  readonly serveAgents?: ServeTurn;
  /** Sees every event as it is logged. */
  readonly onEvent?: (event: RecordedEvent) => void;
};

export interface OptimizeOutcome {
  result: RunResult;
  view: RunView;
  runFolder: string;
  /** The HTML report. The Markdown and JSON reports lie beside it. */
  reportPath: string;
  /** Folder of the best kernel; absent if not even the start passed. */
  bestFolder?: string;
  /** Its main source file. */
  bestKernelPath?: string;
}

/** Writes `best/` again, with the current figures in its header comment. */
function writeBest(
  run: RunFolder,
  { candidate, evaluation, ratioToStart, energyToStart }: Best,
  confirmation?: ConfirmationEvent,
): void {
  const files = bakeKernel(candidate, join(run.path, RUN_FILES.best), {
    runId: run.id,
    evaluationId: evaluation.id,
    deviceName: evaluation.device.name,
    workload: evaluation.workload.name,
    result: `${formatTiming(evaluation.timing)}, ${standing(evaluation.timing.kind, ratioToStart, confirmation)}${energyStanding(energyToStart, confirmation)}`,
  });
  run.replaceFolder(RUN_FILES.best, files);
}

/** The speed-up over the start. A measured ratio is only a claim until fresh blocks confirm it. */
function standing(kind: Timing['kind'], ratioToStart: number, confirmation: ConfirmationEvent | undefined): string {
  if (confirmation?.ratio && confirmation.intervalRatio) {
    const interval = formatRatioInterval(confirmation.intervalRatio);
    return `${describeRatio(kind, confirmation.ratio)} than the start ${interval} on fresh blocks, ${confirmation.outcome}`;
  }
  const claimed = `${describeRatio(kind, ratioToStart)} than the start`;
  return kind === 'predicted' || ratioToStart === 1 ? claimed : `${claimed}, not confirmed yet`;
}

/** The same of energy, in a run that minimises it. */
function energyStanding(energyToStart: number | undefined, confirmation: ConfirmationEvent | undefined): string {
  if (energyToStart === undefined || energyToStart === 1) return '';
  if (!confirmation?.energy) return `; ${energyToStart.toFixed(2)}× less energy, not confirmed yet`;
  const { ratio, intervalRatio } = confirmation.energy;
  return `; ${ratio.toFixed(2)}× less energy ${formatRatioInterval(intervalRatio)}`;
}

/** The inputs of a run, read from its files. */
export interface PreparedRun
  extends Readonly<Pick<OptimizeOptions, 'budgets' | 'problem' | 'workloads' | 'start' | 'rungs' | 'goal'>> {
  readonly request: OptimizeRequest & OnDevice<CompleteRequest<'optimize'>>;
  /** Of a resumed run, larger than those that its log holds. */
  readonly authorLimits?: Pick<OptimizeRequest, 'maximumTokens' | 'maximumCost'>;
}

/** Whether somebody in the run learns from times that are known beforehand. */
const learnsFromTimes = ({
  strategy,
  exploring,
  onlyAuthors,
  minimise,
}: Pick<CompleteRequest<'optimize'>, 'strategy' | 'exploring' | 'onlyAuthors' | 'minimise'>): boolean =>
  minimise === 'time' && (strategy === GUIDED ? exploring && !onlyAuthors : strategy === DEFAULT_BLIND_STRATEGY);

/** @throws WarpsmithError `conflicting-options`. */
function refuseUselessPrior(request: CompleteRequest<'optimize'>): void {
  const { prior, strategy, exploring } = request;
  if (prior === undefined || learnsFromTimes({ ...request, minimise: 'time' })) return;
  const flag = strategy !== GUIDED ? `--strategy ${strategy}` : exploring ? '--only-authors' : '--no-exploring';
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: `--prior is for ${DEFAULT_BLIND_STRATEGY} search; ${flag} has none.`,
    path: '--prior',
    received: `--prior ${prior} and ${flag}`,
    expected: 'one of them',
    hint: `Leave --prior out, or use --strategy ${DEFAULT_BLIND_STRATEGY}.`,
  });
}

/** Only a guided run uses findings, or explores after them. @throws WarpsmithError `conflicting-options`. */
function refuseConflicts({ strategy, diagnosis, exploring }: CompleteRequest<'optimize'>): void {
  if (strategy === GUIDED || (diagnosis && exploring)) return;
  const flag = diagnosis ? '--no-exploring' : '--no-diagnosis';
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: `${flag} is for guided runs; ${strategy} uses no findings.`,
    path: flag,
    received: `--strategy ${strategy} and ${flag}`,
    expected: 'one of them',
    hint: `Leave ${flag} out, or use --strategy ${GUIDED}.`,
  });
}

/**
 * An author writes one kernel at a time, and a replay of a recording makes one evaluation after the other.
 *
 * @throws WarpsmithError `conflicting-options`.
 */
function refuseSeveralWorkers(request: CompleteRequest<'optimize'> & { readonly device: string }): void {
  if (request.queue === undefined && !chosenDevices(request)) return;
  const flag = request.author ? '--author' : request.record === undefined ? undefined : '--record';
  if (flag === undefined) return;
  const why = request.author ? 'Authors write one kernel at a time' : 'A replay makes one evaluation after the other';
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: `${why}; several workers judge several candidates at a time.`,
    path: flag,
    received: `${flag} and ${request.workers === undefined ? `--device ${request.device}` : `--workers ${request.workers}`}`,
    expected: 'one of them',
    hint: `Leave ${flag} out, or use one device and one worker.`,
  });
}

const queueScopeOf = ({ queue }: OptimizeRequest): string | undefined =>
  queue === undefined ? undefined : randomUUID();

/** @throws WarpsmithError for bad files or options. */
export async function prepareRun(asked: OptimizeRequest): Promise<PreparedRun> {
  const request = completeRequest('optimize', asked);
  refuseConflicts(request);
  refuseUselessPrior(request);
  refuseAuthorConflicts(request);
  refuseSeveralWorkers({ ...request, device: asked.device });
  const goal = request.goal === undefined ? undefined : parseGoal(request.goal);
  refuseEnergyConflicts(request, goal);
  refuseEnergyWithoutGpu(energyFlagOf(request), request.queue === undefined ? asked.device : (request.workers ?? ''));
  const { folder, problem, start, rungs } = await loadProblemTarget(request.target, request.dtype);
  await ensureTrustedFor(request, problem);
  return {
    request: { ...request, target: folder, queueScope: request.queueScope ?? queueScopeOf(request) },
    budgets: request.budgets ?? budgetsOf(request, await gpuPriceOf({ ...request, device: asked.device })),
    problem,
    workloads: chooseObjective(problem.file, request.workloads, request.cache),
    start: makeCandidate(start, completeParameters(start.file, request.parameters)),
    rungs,
    goal,
  };
}

/**
 * Searches for a faster kernel and writes the run's folder: events, reports and the best kernel, which is saved as soon as
 * it becomes the best.
 *
 * @throws WarpsmithError for bad files or options, a goal below the bound, a missing compiler or device, or a store that
 * can't be written.
 */
export async function optimizeProblem(request: OptimizeRequest): Promise<OptimizeOutcome> {
  const replayed = request.transcript === undefined ? undefined : readTranscript(request.transcript).header;
  const prepared = await prepareRun({ ...(replayed && { seed: replayed.seed, seedDrawn: true }), ...request });
  const { problem, workloads, goal } = prepared;
  const { store } = prepared.request;
  await using session: Session = await openRunSession(prepared.request);
  // A recording tells its device only now.
  refuseEnergyWithoutGpu(energyFlagOf(prepared.request), session.device.identity.id);
  const { minimise } = prepared.request;
  if (goal && minimise === 'time') refuseGoalBelowBound(goal, boundOf(prepared, session));
  const over = workloads.length === 1 ? workloads[0]!.name : `${workloads.length}-workloads`;
  const priors = replayed?.priors ?? (await priorsOf(prepared, session));
  const run = createRunFolder(store, runId(new Date(), problem.file.name, over));
  // Awaited here, because the session closes when this function returns.
  return await runLoop(prepared, session, run, { priors });
}

/** What the run knows beforehand: of earlier runs, and the times that the user names. */
async function priorsOf(prepared: PreparedRun, session: Session): Promise<Priors> {
  const { request, problem, rungs } = prepared;
  const { store, prior, seed } = request;
  const device = session.device.identity;
  const read = () => ({
    ...readPriors(store, { problem: problem.file.name, device, rungs: rungs.map(({ file }) => file.name) }),
    times: learnsFromTimes(request) ? priorOfStore(store, { ...prepared, device }) : undefined,
  });
  const isRepeatable = seed === undefined && isOffline(prepared);
  const repeated = isRepeatable ? session.repeats?.priorsFor(subjectOf(prepared), store, read) : undefined;
  const found = repeated ?? read();
  if (prior === undefined) return found;
  return { ...found, times: await askedPrior({ ...prepared, request: { ...request, prior } }, session) };
}

/** Guided by findings, and nobody writes kernels. */
const isOffline = ({ request: { strategy, author } }: PreparedRun): boolean =>
  strategy === GUIDED && author === undefined;

/** With several workloads, a time goal applies to their geometric mean. The start's evaluations give its bound. */
const boundOf = ({ problem, workloads }: PreparedRun, { device }: Session): VetoBound =>
  workloads.length === 1
    ? vetoBoundFor(problem.file, workloads[0]!, device.spec)
    : { ns: 0, arithmetic: 'not known yet' };

/**
 * Runs the loop in a run's folder, writes its reports, and closes the folder.
 *
 * @param past the log of a resumed run, and the priors that it read.
 */
export async function runLoop(
  prepared: PreparedRun,
  session: Session,
  run: RunFolder,
  past: { priors: Priors; history?: readonly RecordedEvent[]; extendedBudgets?: Budgets },
): Promise<OptimizeOutcome> {
  const { request, problem, workloads, start, rungs, goal } = prepared;
  const { signal, strategy, exploring, ablation, unreached, requireSanitizer, energy, minimise, patience } = request;
  // A guided run of the same files comes to the same end: it need not be evaluated again. A blind one is to look elsewhere.
  const drawn = isOffline(prepared) ? seedsOf(session, subjectOf(prepared)) : session.drawSeed;
  const seed = request.seed ?? drawn();
  // Whatever an author's run draws follows from its seed, so that a transcript gives the same run again.
  const drawSeed = request.author ? (after = seed) => deriveSeed(seed, `after ${after}`) : drawn;
  const seedDrawn = request.seedDrawn ?? request.seed === undefined;
  const drawsSeeds = seedDrawn || session.recordedAt !== undefined || request.author !== undefined;
  await using closing = new AsyncDisposableStack();
  try {
    const authors =
      request.author && (await openAuthors(prepared, { session, run, priors: past.priors, seed, closing }));
    const peaks = await session.peaks?.();
    const repository = await repositoryState(folderOf(prepared));
    const result = await reportingFailures(run, () =>
      optimize({
        problem,
        workloads,
        device: session.device.identity,
        spec: session.device.spec,
        start,
        rungs: rungs.filter(({ file }) => deviceRefusal(file, session.device) === undefined),
        evaluator: session.evaluator,
        patterns: PATTERNS,
        seed,
        drawSeed: drawsSeeds ? drawSeed : undefined,
        budgets: prepared.budgets,
        vetoBound: boundOf(prepared, session),
        roofline: rooflineOf(problem.file, workloads[0]!, session.device.spec, peaks),
        environment: session.environment,
        repository,
        request: requestToLog({ ...request, seedDrawn }, problem),
        ...past,
        emit(event) {
          // Outside the optional call, whose argument is evaluated only if someone listens.
          const recorded = run.log.append(event);
          request.onEvent?.(recorded);
        },
        storeSources: (candidate) => storeCandidateSources(run.objects, candidate),
        artifacts: run.objects,
        onBest: (best, confirmation) => writeBest(run, best, confirmation),
        strategy,
        ...authors,
        exploring,
        ablation,
        unreached,
        requireSanitizer,
        energy,
        minimised: minimise,
        patience,
        goal,
        signal,
        onStage: request.onStage,
      }),
    );
    const { view, htmlPath } = writeReport(run);
    return { result, view, runFolder: run.path, reportPath: htmlPath, ...bestPaths(run, result) };
  } finally {
    run.log.close();
  }
}

/** Everything that a run may judge. */
const subjectOf = ({ problem, workloads, start, rungs }: PreparedRun): SeedSubject => ({
  problem,
  judged: [start, ...rungs],
  asked: workloads,
});

/** Holds the start and, where that is a rung, the whole ladder. */
const folderOf = ({ problem, start }: PreparedRun): string =>
  start.kernel.folder.startsWith(`${problem.folder}${sep}`) ? problem.folder : start.kernel.folder;

/** What `resume` needs beside what `run-started` says anyway. */
const requestToLog = (request: OptimizeRequest, problem: Problem): RunRequest => ({
  ...loggedOf('optimize', request),
  // As in logs from before there was a choice.
  minimise: request.minimise === 'energy' ? 'energy' : undefined,
  // Without an author their defaults mean nothing, and logs are what they were before there were any.
  ...(request.author === undefined && NOTHING_OF_AUTHORS),
  target: resolve(request.target),
  devices: request.device.startsWith('cuda:') && chosenDevices(request) ? request.device : undefined,
  queueScope: request.queueScope,
  record: request.record === undefined ? undefined : resolve(request.record),
  replay: request.replay === undefined ? undefined : resolve(request.replay),
  transcript: request.transcript === undefined ? undefined : resolve(request.transcript),
  problemFiles: hashProblemFiles(problem.folder),
  seedDrawn: request.seedDrawn || undefined,
});

const NOTHING_OF_AUTHORS = Object.fromEntries(Object.keys({ ...AUTHOR, ...AGENTS }).map((name) => [name, undefined]));

/** Also writes the report of a run that is refused or fails. The error goes on to the caller. */
async function reportingFailures<T>(run: RunFolder, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    try {
      writeReport(run);
    } catch {
      // Only the first error tells the cause: a full disk, for example, fails both.
    }
    throw error;
  }
}

function bestPaths(run: RunFolder, result: RunResult): { bestFolder?: string; bestKernelPath?: string } {
  if (!result.best) return {};
  const bestFolder = join(run.path, RUN_FILES.best);
  const [mainFile = 'kernel.cu'] = result.best.candidate.kernel.file.source.files;
  return { bestFolder, bestKernelPath: join(bestFolder, mainFile) };
}

/** Where no other budget is given. */
const DEFAULT_MAXIMUM_EVALUATIONS = 30;

/** @throws WarpsmithError `money-needs-a-price`. */
function budgetsOf(request: RequestOf<'optimize'>, price: GpuPriceOfRun): Budgets {
  const { maximumMinutes = null, maximumGpuMinutes = null, maximumMoney = null } = request;
  const { gpuPricePerHour } = price;
  if (maximumMoney !== null && gpuPricePerHour === null) {
    throw new WarpsmithError({
      code: 'money-needs-a-price',
      message: 'A budget in money needs the price of the GPU.',
      path: '--max-money',
      received: String(maximumMoney),
      expected: '--gpu-price as well, per hour and in the same currency',
      hint: 'For example --max-money 5 --gpu-price 3.50, or --gpu-price auto for a listed price.',
    });
  }
  const isOtherwiseLimited = maximumMinutes !== null || maximumGpuMinutes !== null || maximumMoney !== null;
  const maximumEvaluations = request.maximumEvaluations ?? (isOtherwiseLimited ? null : DEFAULT_MAXIMUM_EVALUATIONS);
  return { maximumEvaluations, allowance: null, maximumMinutes, maximumGpuMinutes, maximumMoney, ...price };
}
