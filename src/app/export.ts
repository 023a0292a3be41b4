import { readdirSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { type ComparedSizes, describeSizes } from '../core/compared-sizes.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Candidate, Kernel, ParameterValues } from '../core/kernel.ts';
import type { Problem, Workload } from '../core/problem.ts';
import { completeRequest, type RequestOf } from '../core/requests/request.ts';
import type { Timing } from '../core/timing.ts';
import { kernelJsonWithDefaults } from '../handover/baked-kernel.ts';
import type { FolderFiles } from '../handover/change-patch.ts';
import { exportKernel, filesOfExport, REPRODUCTION_FILE } from '../handover/export-kernel.ts';
import type { Evidence, StartRatio } from '../handover/reproduction.ts';
import { isSameKernel } from '../handover/same-kernel.ts';
import { describeRatio } from '../optimizer/decision.ts';
import { formatRatioInterval, formatTiming } from '../reports/format.ts';
import { combineRatios } from '../stats/combine-ratios.ts';
import { ofType } from '../store/events.ts';
import { readRegularFile } from '../store/read-regular-file.ts';
import { writeFolder } from '../store/write-folder.ts';
import { type CandidateTarget, candidateTarget, evaluationsOf, type LoadedRun, startOf } from './candidate-target.ts';
import { comparedSizesOf } from './compared-sizes.ts';
import { readFolderFile } from './loading/read-user-file.ts';
import { packageVersion } from './package-version.ts';
import { chooseWorkload } from './workload.ts';

export interface ExportReport {
  folder: string;
  /** Namespace of the launch header. */
  name: string;
  candidate: { id: string; kernel: string; parameters: ParameterValues };
  start: { id: string; kernel: string };
  files: string[];
  evidence: string[];
  /** Why something is missing, or was left out. */
  notes: string[];
}

/**
 * Writes a candidate for use without warpsmith: the kernel with its parameters baked in, launch header, example, patch
 * against the start, reproduction file.
 *
 * @throws WarpsmithError as `candidateTarget` and `exportKernel`; `folder-not-empty`.
 */
export async function exportCandidate(
  request: Omit<RequestOf<'export'>, 'output'> & { readonly output: string },
): Promise<ExportReport> {
  const options = { parameters: {}, ...completeRequest('export', request) };
  const target = await candidateTarget(options.target, options);
  const start = await startOf(target);
  const { candidate, problem, origin } = target;
  const change = changeOf(start, candidate);
  const evidence = origin
    ? evidenceOf(origin.run, origin.event.evaluation.id, comparedSizesOf(candidate, origin.run, options.store))
    : null;
  const sentences = describeEvidence(target, evidence, options);
  const folder = resolve(options.output);
  const { name, files } = exportKernel({
    problem,
    problemFiles: filesOfProblem(problem),
    candidate,
    start,
    change,
    workload: workloadOf(target),
    architecture: architectureOf(target),
    evidence,
    unverifiedSizes: options.unverifiedSizes,
    sentences,
    version: packageVersion(),
    folder,
    name: options.name,
  });
  writeFolder(folder, files, { option: '--output', earlier: earlierFiles });
  return {
    folder,
    name,
    candidate: { id: candidate.id, kernel: candidate.kernel.file.name, parameters: candidate.parameters },
    start: { id: start.id, kernel: start.kernel.file.name },
    files: Object.keys(files),
    evidence: sentences,
    notes: change ? [] : [`no change.patch: ${start.kernel.folder} has changed since the run started`],
  };
}

function earlierFiles(folder: string): string[] {
  try {
    return filesOfExport(readRegularFile(join(folder, REPRODUCTION_FILE)).toString('utf8'));
  } catch {
    return [];
  }
}

/** The files that define the problem, as they are now. */
const filesOfProblem = ({ folder }: Problem): FolderFiles =>
  readTexts(folder, (name) => /^(problem\.json|reference\.[tj]s)$/.test(name));

const readTexts = (folder: string, wanted: (name: string) => boolean): FolderFiles =>
  Object.fromEntries(
    readdirSync(folder)
      .filter(wanted)
      .sort()
      .map((name) => [name, readFolderFile(join(folder, name)).toString('utf8')]),
  );

/** The folder's kernel.json; `undefined` if the candidate was not made from it. */
function kernelJsonOf({ kernel }: Candidate): string | undefined {
  try {
    const text = readRegularFile(join(kernel.folder, 'kernel.json')).toString('utf8');
    return isSameKernel(text, kernel.file) ? text : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The start's folder before and after. Parameters become defaults there, not baked-in values, so that the kernel stays
 * tunable. `undefined` if the start's folder no longer holds the start.
 */
function changeOf(start: Candidate, candidate: Candidate): { from: FolderFiles; to: FolderFiles } | undefined {
  const startJson = kernelJsonOf(start);
  if (startJson === undefined || !holdsSources(start)) return undefined;
  return { from: { ...start.kernel.sources, 'kernel.json': startJson }, to: folderOf(candidate, start.kernel) };
}

/**
 * A candidate's files as they would lie in the folder of another kernel. The candidate's parameter values become
 * kernel.json's defaults. Name and remedies stay the folder's: with those of the candidate's own rung, the ladder would
 * contain that rung twice.
 */
export function folderOf(candidate: Candidate, { folder, file: rung }: Kernel): FolderFiles {
  const { kernel } = candidate;
  const text = kernelJsonOf(candidate) ?? `${JSON.stringify(kernel.file, null, 2)}\n`;
  const rebased = (path: string): string => {
    const moved = relative(folder, join(kernel.folder, path));
    return moved.startsWith('.') ? moved : `./${moved}`;
  };
  const { $schema } = kernel.file;
  const isPath = $schema !== undefined && !/^[a-z]+:\/\//.test($schema);
  const places = { problem: rebased(kernel.file.problem), schema: isPath ? rebased($schema) : undefined, rung };
  return { ...kernel.sources, 'kernel.json': kernelJsonWithDefaults(candidate, text, places) };
}

/** Whether the folder still has the sources the candidate was made of. */
function holdsSources({ kernel }: Candidate): boolean {
  const encoding = kernel.file.source.kind === 'cubin' ? 'base64' : 'utf8';
  return Object.entries(kernel.sources).every(([name, text]) => {
    try {
      return readRegularFile(join(kernel.folder, name)).toString(encoding) === text;
    } catch {
      return false;
    }
  });
}

function workloadOf({ origin, problem }: CandidateTarget): Workload {
  const { workload } = origin?.run.started ?? {};
  return workload ?? chooseWorkload(problem.file, undefined);
}

/** For nvcc's `-arch`: the architecture on which the candidate was judged, or `native`, that of the compiling machine. */
function architectureOf({ origin, candidate }: CandidateTarget): string {
  const judged = /sm_\d+[af]?/.exec(origin?.run.started.environment.device ?? '')?.[0];
  const declared = candidate.kernel.file.source.architectures;
  return (
    declared?.find((architecture) => judged !== undefined && architecture.startsWith(judged)) ??
    judged ??
    declared?.[0] ??
    'native'
  );
}

/**
 * The run's data of one of its evaluations.
 *
 * @param compared where the candidate's results were compared.
 */
export function evidenceOf(run: LoadedRun, evaluationId: string, compared?: ComparedSizes): Evidence {
  const { started } = run;
  const { evaluation } = evaluationsOf(run).find((event) => event.evaluation.id === evaluationId)!;
  const ratio = ratioToStart(run, evaluation.id);
  const same = evaluationsOf(run).filter((event) => event.evaluation.candidate.id === evaluation.candidate.id);
  return {
    runId: run.id,
    seed: started.seed,
    strategy: started.strategy,
    device: started.device,
    environment: started.environment,
    workloads: started.workloads,
    evaluation: {
      id: evaluation.id,
      workload: evaluation.workload.name,
      status: evaluation.status,
      timing: evaluation.timing ? { kind: evaluation.timing.kind, medianNs: evaluation.timing.medianNs } : undefined,
    },
    comparedWithStart: ratio,
    compared,
    evaluationIds: same.map((event) => event.evaluation.id),
  };
}

const confirmationsOf = ({ events }: LoadedRun, candidateId: string) =>
  ofType(events, 'confirmation').filter(({ candidate }) => candidate.id === candidateId);

/** The confirmation's ratio if there is one, otherwise the ratio of times. */
function ratioToStart(run: LoadedRun, evaluationId: string): StartRatio | undefined {
  const evaluations = evaluationsOf(run).map((event) => event.evaluation);
  const evaluation = evaluations.find(({ id }) => id === evaluationId)!;
  const confirmation = confirmationsOf(run, evaluation.candidate.id).at(-1);
  if (confirmation && confirmation.ratio !== null) {
    return {
      kind: 'measured',
      ratio: confirmation.ratio,
      intervalRatio: confirmation.intervalRatio ?? undefined,
      verdict: confirmation.verdict ?? undefined,
      confirmed: confirmation.outcome !== 'refused',
      confirmation: { outcome: confirmation.outcome, reason: confirmation.reason },
    };
  }
  if (evaluations[0]!.candidate.id === evaluation.candidate.id) return undefined;
  return ratioOfTimes(run, evaluations, evaluation);
}

/**
 * Weighted geometric mean over the run's workloads, of the latest times; `undefined` if a workload lacks one of the two
 * times.
 */
function ratioOfTimes(
  run: LoadedRun,
  evaluations: readonly Evaluation[],
  { candidate, timing }: Evaluation,
): StartRatio | undefined {
  const { workloads } = run.started;
  const timeOf = (id: string, workload: string): Timing | undefined =>
    evaluations.findLast(
      (other) => other.candidate.id === id && other.workload.name === workload && other.status === 'passed',
    )?.timing;
  const ratios = workloads.map(({ name, weight }) => {
    const [before, after] = [timeOf(run.started.start.id, name), timeOf(candidate.id, name)];
    const ratio = before && after && before.kind === after.kind ? before.medianNs / after.medianNs : Number.NaN;
    return { weight, ratio };
  });
  const { ratio: mean } = combineRatios(ratios);
  const isConfirmed = confirmationsOf(run, candidate.id).some(({ outcome }) => outcome !== 'refused');
  const confirmed = timing?.kind === 'predicted' && isConfirmed;
  return timing && Number.isFinite(mean) ? { kind: timing.kind, ratio: mean, confirmed } : undefined;
}

/** The evidence in sentences. Every time and ratio states its kind. */
export function describeEvidence(
  { origin }: Pick<CandidateTarget, 'origin'>,
  evidence: Evidence | null,
  { unverifiedSizes = false }: { unverifiedSizes?: boolean } = {},
): string[] {
  if (!origin || !evidence) return ['No run evaluated it, so its correctness and its speed are unknown.'];
  const { evaluation } = origin.event;
  const { comparedWithStart, runId, device } = evidence;
  const where = `on ${device.name} (${device.id}), workload ${evaluation.workload.name}`;
  const sentences = [
    evaluation.status === 'passed'
      ? `Run ${runId}, ${evaluation.id}: passed ${evaluation.correctness?.checksRun ?? 'all'} checks ${where}.`
      : `Run ${runId}, ${evaluation.id}: ${evaluation.status} ${where}: ${evaluation.reason ?? 'no reason given'}`,
  ];
  if (evidence.compared) sentences.push(describeCompared(evidence.compared, unverifiedSizes));
  if (evaluation.timing) sentences.push(`Time: ${formatTiming(evaluation.timing)}.`);
  const over = evidence.workloads.length > 1 ? `, geometric mean over ${evidence.workloads.length} workloads` : '';
  if (comparedWithStart) sentences.push(`${describeStartRatio(comparedWithStart)}${over}.`);
  return sentences;
}

/** Where results were compared, and what calls of other sizes get. */
const describeCompared = (compared: ComparedSizes, unverifiedSizes: boolean): string =>
  `Results were compared for ${describeSizes(compared)}. ${
    unverifiedSizes
      ? 'Calls of other sizes are taken, too, and nobody looked at their results.'
      : 'Calls of other sizes are refused.'
  }`;

function describeStartRatio({ kind, ratio, intervalRatio, ...rest }: StartRatio): string {
  const interval = intervalRatio ? ` ${formatRatioInterval(intervalRatio)}` : '';
  return `Against the start: ${describeRatio(kind, ratio)}${interval}${certaintyOf({ kind, ...rest })}`;
}

function certaintyOf({ kind, verdict, confirmed, confirmation }: Omit<StartRatio, 'ratio' | 'intervalRatio'>): string {
  if (kind === 'predicted') return confirmed ? ', right with another seed, too, when it was confirmed' : '';
  if (confirmation?.outcome === 'refused')
    return `, refused when it was confirmed on fresh blocks: ${confirmation.reason}`;
  if (!confirmed) return ', from two measurements that were not confirmed';
  const unsanitized = confirmation?.outcome === 'accepted, unsanitized' ? '; the sanitizer has not cleared it' : '';
  return `, confirmed on fresh blocks${verdict ? `: ${verdict}` : ''}${unsanitized}`;
}
