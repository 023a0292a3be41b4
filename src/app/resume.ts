import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCandidate } from '../core/candidate.ts';
import type { DeviceIdentity } from '../core/device.ts';
import { EXIT, unlessRefused, WarpsmithError } from '../core/errors.ts';
import type { Kernel, KernelFile } from '../core/kernel.ts';
import { LARGER_AUTHOR_BUDGETS, LARGER_BUDGETS } from '../core/requests/options.ts';
import { completeRequest, longFlag, type RequestOf } from '../core/requests/request.ts';
import { sha256 } from '../process/sha256.ts';
import { refuseContradictions } from '../store/contradictions.ts';
import { readEventLog } from '../store/event-log.ts';
import {
  type Budgets,
  EVENT_SCHEMA_VERSION,
  type EvaluationFinishedEvent,
  ofType,
  type RecordedEvent,
  type RunFinishedEvent,
  type RunStartedEvent,
} from '../store/events.ts';
import { readRegularFile } from '../store/read-regular-file.ts';
import { eventsPath, findRun, openRunFolder, RUN_FILES } from '../store/run-folder.ts';
import { isBeingWritten, refuseIfBeingWritten } from '../store/writer-lock.ts';
import { differingFile, hashProblemFiles } from './loading/hash-problem-files.ts';
import { KERNEL_FILE } from './loading/read-kernel.ts';
import { ensureTrustedFor } from './loading/trust.ts';
import { type OptimizeOutcome, type OptimizeRequest, type PreparedRun, runLoop } from './optimize.ts';
import { readReport, writeReport } from './report.ts';
import { resumePoint } from './resume-point.ts';
import type { Session, Surroundings } from './session.ts';
import { loadProblemTarget } from './target.ts';
import { openRunSession, type RunSessionOptions } from './workers/open-run-session.ts';

export type ResumeRequest = RequestOf<'resume'> &
  Surroundings & {
    /** Called for every event that is added to the log. */
    readonly onEvent?: (event: RecordedEvent) => void;
    /** Called first for the events that the log already holds, up to the point where the run continues. */
    readonly onHistory?: (events: readonly RecordedEvent[]) => void;
  } & Pick<OptimizeRequest, 'serveAgents'>;

export interface ResumeOutcome extends OptimizeOutcome {
  /** It had ended for good: nothing was done. */
  isFinishedAlready?: true;
}

/**
 * Continues an interrupted or killed run where its log ends. The loop runs again from the start, takes evaluations from the
 * log while it lasts, and then continues as if it had never stopped.
 *
 * @param open replaces the session, for tests.
 * @throws WarpsmithError `run-in-use`, `nothing-to-resume`, `older-event-log`, `contradictory-log`, `budget-not-larger`, `kernel-changed`,
 * `problem-changed`, `device-changed`, `environment-changed`, `history-differs`; as `optimizeProblem`.
 */
export async function resumeRun(
  request: ResumeRequest,
  open: (options: RunSessionOptions) => Promise<Session> = openRunSession,
): Promise<ResumeOutcome> {
  const { store, run: which } = completeRequest('resume', request);
  const folder = findRun(store, which);
  await reportsWritten(folder, request.signal);
  refuseIfBeingWritten(folder);
  const { events } = readEventLog(eventsPath(folder));
  const started = startOf(folder, events);
  refuseContradictions(events, eventsPath(folder));
  const now = budgetsOf(started, events);
  const { request: logged } = started;
  const authorLimits = largerOf(folder, request, LARGER_AUTHOR_BUDGETS, (budget) =>
    logged.author === undefined ? null : (logged[budget] ?? null),
  );
  const larger = largerOf(folder, request, LARGER_BUDGETS, (budget) => now[budget]);
  const isExtended = Object.keys({ ...authorLimits, ...larger }).length > 0;
  // The reserve for the end grows with the limit.
  const extendedBudgets = isExtended ? { ...now, ...larger, allowance: null } : undefined;
  const point = resumePoint(events, isExtended);
  if (point.kind === 'finished') return finishedOutcome(folder, point.event, events);
  const prepared = { ...(await prepareAgain(started, events, request)), authorLimits };
  await using session = await open(prepared.request);
  refuseOtherDevice(started, session);
  const run = openRunFolder(folder, {}, keepOf(folder, isExtended));
  request.onHistory?.(run.log.history);
  // Awaited here, because the session closes when this function returns.
  return await runLoop(prepared, session, run, {
    priors: started.priors,
    history: run.log.history,
    extendedBudgets,
  });
}

/** Reports of the longest runs take seconds. */
const LONGEST_REPORTS_MS = 20_000;
const POLL_MS = 100;

/** A run holds its lock until its reports are written, which is after its log says that it has ended. */
async function reportsWritten(folder: string, signal?: AbortSignal): Promise<void> {
  if (!isBeingWritten(folder) || readEventLog(eventsPath(folder)).events.at(-1)?.type !== 'run-finished') return;
  const deadline = performance.now() + LONGEST_REPORTS_MS;
  while (!signal?.aborted && isBeingWritten(folder) && performance.now() < deadline) await sleep(POLL_MS);
}

function startOf(folder: string, events: readonly RecordedEvent[]): RunStartedEvent {
  const [first] = events;
  if (first?.type !== 'run-started') {
    throw new WarpsmithError({
      code: 'nothing-to-resume',
      message: `Run ${basename(folder)} ended before it began.`,
      file: eventsPath(folder),
      received: first?.type ?? 'an empty log',
      expected: 'a log that begins with run-started',
      hint: 'Start it again with `warpsmith optimize`.',
    });
  }
  if (first.schemaVersion === EVENT_SCHEMA_VERSION) return first;
  throw new WarpsmithError({
    code: 'older-event-log',
    message: `Run ${basename(folder)} was written by an older warpsmith, whose log lacks what resuming needs.`,
    file: eventsPath(folder),
    received: `schemaVersion ${first.schemaVersion}`,
    expected: `schemaVersion ${EVENT_SCHEMA_VERSION}`,
    hint: 'You can still print its report. To continue the search, start a new run from its best kernel.',
  });
}

/** The budgets in force at the end of the log. */
const budgetsOf = (started: RunStartedEvent, events: readonly RecordedEvent[]): Budgets =>
  events.findLast((event) => event.type === 'budgets-extended')?.budgets ?? started.budgets;

/**
 * What a request gives of these budgets.
 *
 * @param limitOf what the run had; `null` where it was not limited.
 * @throws WarpsmithError `budget-not-larger`: decisions made with a budget can't be undone with a smaller one.
 */
function largerOf<N extends keyof (typeof LARGER_BUDGETS & typeof LARGER_AUTHOR_BUDGETS)>(
  folder: string,
  request: ResumeRequest,
  options: Readonly<Record<N, Parameters<typeof longFlag>[0]>>,
  limitOf: (budget: N) => number | null,
): Partial<Record<N, number>> {
  const larger: Partial<Record<N, number>> = {};
  for (const budget of Object.keys(options) as N[]) {
    const value = request[budget];
    if (value === undefined) continue;
    larger[budget] = value;
    requireLarger(folder, longFlag(options[budget]), value, limitOf(budget));
  }
  return larger;
}

function requireLarger(folder: string, flag: string, value: number, limit: number | null): void {
  if (limit !== null && value > limit) return;
  throw new WarpsmithError({
    code: 'budget-not-larger',
    message: `${flag} of run ${basename(folder)} is ${limit ?? 'not limited'} already.`,
    path: flag,
    received: String(value),
    expected: limit === null ? 'nothing: this budget has no limit' : `more than ${limit}`,
    hint: 'Give a budget larger than the run had.',
  });
}

/**
 * A run that has ended for good stays as it is. Only its report is written, if the process was killed before that, or on
 * request.
 */
function finishedOutcome(folder: string, event: RunFinishedEvent, events: readonly RecordedEvent[]): ResumeOutcome {
  const reportPath = join(folder, RUN_FILES.reportHtml);
  if (!isReportOfAll(folder)) writeMissingReport(folder);
  const bestFolder = join(folder, RUN_FILES.best);
  return {
    isFinishedAlready: true,
    result: {
      stopReason: event.stopReason,
      detail: event.detail,
      evaluationsUsed: events.filter(({ type }) => type === 'evaluation-finished').length,
    },
    view: readReport(folder, folder),
    runFolder: folder,
    reportPath,
    bestFolder: event.best === null ? undefined : bestFolder,
    bestKernelPath: event.best === null ? undefined : mainSource(bestFolder),
  };
}

/** Whether the last report is newer than the last event. An earlier part of the run may have left an older one. */
function isReportOfAll(folder: string): boolean {
  const { mtimeMs: logged } = statSync(eventsPath(folder));
  return [RUN_FILES.reportHtml, RUN_FILES.reportMarkdown].every((name) => {
    const report = statSync(join(folder, name), { throwIfNoEntry: false });
    return report !== undefined && report.mtimeMs >= logged;
  });
}

function writeMissingReport(folder: string): void {
  const run = openRunFolder(folder);
  try {
    writeReport(run);
  } finally {
    run.log.close();
  }
}

/** The best kernel is an ordinary kernel folder; the user may delete its files. */
function mainSource(bestFolder: string): string {
  try {
    const file = JSON.parse(readRegularFile(join(bestFolder, KERNEL_FILE)).toString('utf8')) as KernelFile;
    return join(bestFolder, file.source.files[0]!);
  } catch {
    return bestFolder;
  }
}

/** @throws Error if the log ended for good between two reads. */
const keepOf =
  (folder: string, isExtended: boolean) =>
  (events: readonly RecordedEvent[]): number => {
    const point = resumePoint(events, isExtended);
    if (point.kind === 'go-on') return point.keep;
    throw new Error(`run ${basename(folder)} was finished by another process`);
  };

/** Reads the run's files again; they must not have changed. */
async function prepareAgain(
  started: RunStartedEvent,
  events: readonly RecordedEvent[],
  { store, trust, signal, onEvent, onStage, onStep, askTrust, serveAgents }: ResumeRequest,
): Promise<PreparedRun> {
  const { problemFiles, ...options } = started.request;
  const { problem, start, rungs } = await loadProblemTarget(options.target, options.dtype);
  refuseOtherProblem(problem.folder, problemFiles);
  await ensureTrustedFor({ trust, askTrust }, problem, 'log');
  refuseOtherKernels([start, ...rungs], started, events);
  const request = completeRequest('optimize', {
    ...options,
    device: options.devices ?? started.device.id,
    workloads: [],
    parameters: started.start.parameters,
    seed: started.seed,
    seedDrawn: started.request.seedDrawn ?? false,
    strategy: started.strategy as OptimizeRequest['strategy'],
    store,
    signal,
    // Of logs from before there could be several.
    author: options.author && [options.author].flat(),
    onEvent,
    onStage,
    onStep,
    serveAgents,
  } satisfies OptimizeRequest);
  return {
    request,
    budgets: started.budgets,
    problem,
    workloads: started.workloads,
    start: makeCandidate(start, started.start.parameters),
    rungs,
    goal: started.goal ?? undefined,
  };
}

function refuseOtherProblem(folder: string, logged: Readonly<Record<string, string>> = {}): void {
  const now = hashProblemFiles(folder);
  const name = differingFile(logged, now);
  if (name === undefined) return;
  throw changed('problem-changed', 'The problem', join(folder, name), logged[name], now[name]);
}

/** Every candidate of the log must equal the one that its kernel gives today. */
function refuseOtherKernels(
  kernels: readonly Kernel[],
  { start }: RunStartedEvent,
  events: readonly RecordedEvent[],
): void {
  const seen = new Set<string>();
  const written = new Set(
    ofType(events, 'move-proposed').flatMap(({ move }) => (move.kind === 'written' ? [move.kernel] : [])),
  );
  // What was written during the run lies nowhere else; the loop makes it again from the answers.
  const evaluated = ofType(events, 'evaluation-finished').filter(
    ({ evaluation: { candidate } }) => !written.has(candidate.kernel),
  );
  const candidates = [
    { ...start, sources: evaluated[0]?.sources ?? {} },
    ...evaluated.map(({ evaluation: { candidate }, sources }) => ({ ...candidate, sources })),
  ];
  for (const { id, kernel: name, parameters, sources } of candidates) {
    if (seen.has(id)) continue;
    seen.add(id);
    const kernel = kernels.find(({ file }) => file.name === name);
    if (!kernel) throw changed('kernel-changed', `Kernel ${name}`, name, id, undefined);
    // Undefined where kernel.json no longer takes these parameters.
    const now = unlessRefused(() => makeCandidate(kernel, parameters));
    if (now?.id !== id) {
      throw changed('kernel-changed', `Kernel ${name}`, changedFile(kernel, sources), id, now?.id);
    }
  }
}

/** The source whose hash differs; if none does, kernel.json changed. */
function changedFile({ folder, sources: now }: Kernel, logged: EvaluationFinishedEvent['sources']): string {
  const source = Object.entries(now).find(
    ([name, text]) => logged[name] !== undefined && sha256(text) !== logged[name],
  );
  return join(folder, source?.[0] ?? KERNEL_FILE);
}

const changed = (
  code: string,
  what: string,
  file: string,
  logged: string | undefined,
  now: string | undefined,
): WarpsmithError =>
  new WarpsmithError({
    code,
    message: `${what} has changed since the run began.`,
    file,
    received: now ?? 'nothing',
    expected: logged ?? 'nothing of that name',
    hint: 'Restore it, or start a new run: one run can’t mix results of two versions.',
  });

/** The fields that identify a device, if the log has them. */
const IDENTITY: readonly (keyof DeviceIdentity)[] = ['id', 'kind', 'name', 'uuid', 'driver'];

/** What results depend on beside the device. */
const ENVIRONMENT = ['warpsmith', 'compiler'] as const;

function refuseOtherDevice(started: RunStartedEvent, { device, environment }: Session): void {
  const logged: DeviceIdentity = started.device;
  for (const name of IDENTITY) {
    if (logged[name] === device.identity[name]) continue;
    throw new WarpsmithError(
      {
        code: 'device-changed',
        message: `The run was on another device: its ${name} was ${logged[name] ?? 'not given'}.`,
        path: name,
        received: device.identity[name] ?? 'not given',
        expected: logged[name] ?? 'not given',
        hint: 'Resume it where it ran, or start a new run: times of two devices can’t be compared.',
      },
      EXIT.deviceOrToolMissing,
    );
  }
  for (const name of ENVIRONMENT) {
    if (started.environment[name] === environment[name]) continue;
    throw new WarpsmithError(
      {
        code: 'environment-changed',
        message: `The run was made with another ${name}.`,
        path: name,
        received: environment[name] ?? 'not known',
        expected: started.environment[name] ?? 'not known',
        hint: `Resume it with that ${name}, or start a new run: results may depend on it.`,
      },
      EXIT.deviceOrToolMissing,
    );
  }
}
