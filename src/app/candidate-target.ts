import { basename, join } from 'node:path';
import { makeCandidate } from '../core/candidate.ts';
import type { DType } from '../core/dtype.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { Candidate, ParameterValues } from '../core/kernel.ts';
import type { Problem } from '../core/problem.ts';
import { readCandidateSources } from '../store/candidate-sources.ts';
import { openContentStore } from '../store/content-store.ts';
import { refuseContradictions } from '../store/contradictions.ts';
import { readEventLog, startOfRun } from '../store/event-log.ts';
import { type EvaluationFinishedEvent, ofType, type RecordedEvent, type RunStartedEvent } from '../store/events.ts';
import { withRunIndex } from '../store/index/run-index.ts';
import { eventsPath, findRun, listRuns, RUN_FILES, runFolderPath } from '../store/run-folder.ts';
import { standingDecisions } from '../store/standing-decisions.ts';
import { loadKernel } from './loading/load-kernel.ts';
import { loadProblem } from './loading/load-problem.ts';
import { isKernelFolder, loadKernelTarget, loadStart } from './target.ts';

/** A run as its log tells it. */
export interface LoadedRun {
  readonly id: string;
  readonly folder: string;
  readonly started: RunStartedEvent;
  readonly events: readonly RecordedEvent[];
}

/** A candidate that a command line names, and its origin. */
export interface CandidateTarget {
  readonly candidate: Candidate;
  readonly problem: Problem;
  /** Where the run judged it, if it comes from a run. */
  readonly origin?: { readonly run: LoadedRun; readonly event: EvaluationFinishedEvent };
  /** Its name in messages: `04_warp`, or `04_warp (e12 of run …)`. */
  readonly label: string;
}

/** `RUN/e12`. */
const EVALUATION_OF_RUN = /^(.+)\/(e\d+)$/;
const CANDIDATE_ID = /^[0-9a-f]{4,12}$/;

/**
 * The candidate that `text` names: a kernel folder, a problem folder (its start), a run (its best), `RUN/e12`, or the first
 * digits of the id of a candidate that a run of the store judged.
 *
 * @throws WarpsmithError `parameters-of-a-candidate`, `unknown-evaluation`, `no-best`, `candidate-changed`,
 * `unknown-candidate`, `ambiguous-candidate`; for runs as `findRun`; for folders as `loadKernelTarget`.
 */
export async function candidateTarget(
  text: string,
  {
    store,
    parameters,
    dtype,
    option = '--set',
  }: { store: string; parameters: ParameterValues; dtype?: DType | undefined; option?: string },
): Promise<CandidateTarget> {
  const found = findEvaluation(text, store);
  if (found) {
    if (Object.keys(parameters).length > 0) throw fixedAlready(text, option, 'fixed parameters', 'set every parameter');
    if (dtype !== undefined) throw fixedAlready(text, '--dtype', 'a fixed dtype', 'choose the dtype');
    return restore(found.run, found.event);
  }
  const { kernel, problem } = await loadKernelTarget(text, dtype);
  const candidate = makeCandidate(kernel, parameters);
  return { candidate, problem, label: kernel.file.name };
}

/** The kernel that the candidate's run started from; without a run, the problem's start. */
export async function startOf({ origin, problem }: CandidateTarget): Promise<Candidate> {
  const first = origin?.run.events.find((event) => event.type === 'evaluation-finished');
  if (origin && first) return (await restore(origin.run, first)).candidate;
  return makeCandidate(await loadStart(problem), {});
}

/** A run with the device it judged on. */
export interface DeviceOfRun {
  readonly device: string;
  readonly run: string;
}

/**
 * The device of the runs among these texts, each read as by `candidateTarget`; `undefined` if none of them names a run.
 *
 * @throws WarpsmithError `different-devices`; for runs as {@link candidateTarget}.
 */
export function deviceOfCandidates(texts: readonly string[], store: string): DeviceOfRun | undefined {
  const found = texts.flatMap((text) => findEvaluation(text, store) ?? []);
  const [first, ...others] = found.map(({ run }) => ({ device: run.started.device.id, run: run.id }));
  const other = others.find(({ device }) => device !== first?.device);
  if (!first || !other) return first;
  throw new WarpsmithError({
    code: 'different-devices',
    message: 'The candidates come from runs on different devices.',
    path: '--device',
    received: `${first.device} (${first.run}) and ${other.device} (${other.run})`,
    expected: 'one device to judge both on',
    hint: `Choose one, such as --device ${first.device}.`,
  });
}

/** The device of a run, as `findRun` takes it. */
export function deviceOfRun(text: string, store: string): DeviceOfRun {
  const { id, started } = loadRun(findRun(store, text));
  return { device: started.device.id, run: id };
}

interface Found {
  run: LoadedRun;
  event: EvaluationFinishedEvent;
}

/** Folders come first, so that a path never names something in the store. */
function findEvaluation(text: string, store: string): Found | undefined {
  const [, named, evaluationId] = EVALUATION_OF_RUN.exec(text) ?? [];
  if (named !== undefined && evaluationId !== undefined && !isKernelFolder(text)) {
    const run = loadRun(findRun(store, named));
    return { run, event: evaluationNamed(run, evaluationId) };
  }
  if (isKernelFolder(text) || text.endsWith('.json')) return undefined;
  const candidate = CANDIDATE_ID.test(text) ? findCandidate(text, store) : undefined;
  if (candidate) return candidate;
  if (!isRun(text, store)) return undefined;
  const run = loadRun(findRun(store, text));
  return { run, event: bestOf(run) };
}

const isRun = (text: string, store: string): boolean =>
  text === 'latest' || listRuns(store).some((id) => id.startsWith(text)) || hasEvents(text);

function hasEvents(folder: string): boolean {
  try {
    readEventLog(eventsPath(folder));
    return true;
  } catch (error) {
    return error instanceof WarpsmithError && error.details.code !== 'no-event-log';
  }
}

/**
 * Reads a run's log. @throws WarpsmithError as `readEventLog`, `no-run-started` if it holds no run, or `contradictory-log`.
 */
export function loadRun(folder: string): LoadedRun {
  const path = eventsPath(folder);
  const { events } = readEventLog(path);
  const started = startOfRun(path, events);
  refuseContradictions(events, path);
  return { id: basename(folder), folder, started, events };
}

export const evaluationsOf = ({ events }: LoadedRun) => ofType(events, 'evaluation-finished');

function evaluationNamed(run: LoadedRun, id: string): EvaluationFinishedEvent {
  const all = evaluationsOf(run);
  const event = all.find(({ evaluation }) => evaluation.id === id);
  if (event) return event;
  throw new WarpsmithError({
    code: 'unknown-evaluation',
    message: `Run ${run.id} has no evaluation ${id}.`,
    file: eventsPath(run.folder),
    received: id,
    expected: all.length === 0 ? 'a run with evaluations' : `e1 to ${all.at(-1)!.evaluation.id}`,
    hint: `See \`warpsmith report ${run.id}\`.`,
  });
}

/** For an unfinished run: the last kept candidate that no confirmation refused. */
export function bestOf(run: LoadedRun): EvaluationFinishedEvent {
  const finished = run.events.findLast((event) => event.type === 'run-finished');
  const id = finished ? finished.best : standingDecisions(run.events).at(-1)?.evaluationId;
  if (id) return evaluationNamed(run, id);
  throw new WarpsmithError({
    code: 'no-best',
    message: `Run ${run.id} has no best kernel, because its start did not pass.`,
    file: eventsPath(run.folder),
    received: run.id,
    expected: 'a run with an evaluation that passed',
    hint: `See \`warpsmith report ${run.id}\`.`,
  });
}

/** The newest run's evaluation of the candidate whose id begins so; one that passed, if there is one. */
function findCandidate(prefix: string, store: string): Found | undefined {
  const { rows, unreadable } = withRunIndex(store, (index) => ({
    rows: index.evaluationsOf(prefix),
    unreadable: index.runs().filter(({ error }) => error !== null),
  }));
  const ids = new Set(rows.map(({ candidate }) => candidate));
  if (ids.size > 1) {
    throw new WarpsmithError({
      code: 'ambiguous-candidate',
      message: `${ids.size} candidates begin with ${prefix}.`,
      received: prefix,
      expected: `one of ${[...ids].join(', ')}`,
      hint: 'Give more digits of the id.',
    });
  }
  const passed = rows.filter(({ status }) => status === 'passed');
  const candidates = passed.length > 0 ? passed : rows;
  const newest = candidates.at(-1)?.run;
  const best = candidates.find(({ run }) => run === newest);
  if (best) {
    const run = loadRun(runFolderPath(store, best.run));
    return { run, event: evaluationNamed(run, best.id) };
  }
  if (isRun(prefix, store)) return undefined;
  const damaged = unreadable.map(({ id }) => id).join(', ');
  throw new WarpsmithError({
    code: 'unknown-candidate',
    message: `No run of the store has judged a candidate ${prefix}.`,
    received: prefix,
    expected: 'the beginning of a candidate’s id, a run, RUN/e12, or a kernel folder',
    hint: `Candidates are listed by \`warpsmith report\`; give --store if they lie elsewhere.${damaged === '' ? '' : ` Of these runs the log can't be read: ${damaged}.`}`,
  });
}

/** The candidate with the sources that the run judged, not with those that lie in the kernel's folder now. */
export async function restore(run: LoadedRun, event: EvaluationFinishedEvent): Promise<CandidateTarget> {
  const { candidate: named, id } = event.evaluation;
  const problem = await loadProblem(run.started.problem.folder, { dtype: run.started.problem.dtype });
  const stored = readCandidateSources(openContentStore(join(run.folder, RUN_FILES.objects)), event.sources);
  const { folder } = named;
  const file = stored.file ?? (await loadKernel(folder, { problem })).kernel.file;
  const candidate = makeCandidate({ folder, file, sources: stored.sources }, named.parameters);
  if (candidate.id !== named.id) throw candidateChanged(run, id, named.id, folder);
  return { candidate, problem, origin: { run, event }, label: `${named.kernel} (${id} of ${run.id})` };
}

const candidateChanged = (run: LoadedRun, evaluationId: string, candidateId: string, folder: string): WarpsmithError =>
  new WarpsmithError({
    code: 'candidate-changed',
    message: `Candidate ${candidateId} (${evaluationId} of ${run.id}) can't be reconstructed.`,
    file: join(folder, 'kernel.json'),
    received: 'a kernel.json that was changed since the run',
    expected: 'the kernel.json that was judged',
    hint: 'Restore it from version control, or run the optimisation again: newer runs keep it.',
  });

const fixedAlready = (text: string, option: string, what: string, instead: string): WarpsmithError =>
  new WarpsmithError({
    code: 'parameters-of-a-candidate',
    message: `${text} is a candidate with ${what}.`,
    path: option,
    received: option,
    expected: `${option} for kernel folders only`,
    hint: `Name the kernel folder instead, and ${instead}.`,
  });
