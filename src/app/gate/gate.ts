import { join, posix } from 'node:path';
import { makeCandidate } from '../../core/candidate.ts';
import { unlessRefused, WarpsmithError } from '../../core/errors.ts';
import type { Candidate, Kernel } from '../../core/kernel.ts';
import { takesWorkload } from '../../core/plan/takes-workload.ts';
import type { Problem, Workload } from '../../core/problem.ts';
import { type CompleteRequest, completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { untilAborted } from '../../core/until-aborted.ts';
import { type ChangedFiles, changedFiles, objectsOf } from '../../handover/changed-files.ts';
import { writeTemporaryFiles } from '../../process/temporary-file.ts';
import { withTemporaryFolder } from '../../process/temporary-folder.ts';
import { failingOf, type GatedKernel, type GateView, isLeftOpen } from '../../reports/documents/gate.ts';
import { loadKernel, loadKernelUnder } from '../loading/load-kernel.ts';
import { ensureTrustedFor } from '../loading/trust.ts';
import { type OnDevice, openSession, type Session, seedsOf } from '../session.ts';
import { chooseWorkload, chooseWorkloads } from '../workload.ts';
import { type BestTimes, openBestTimes, refuseUpdateWithoutFile } from './best-so-far.ts';
import { judgeWorkload } from './judge-workload.ts';
import { hasSameInstructions, hasSameTokens } from './same-code.ts';
import { type TouchedKernel, touchedKernels } from './touched-kernels.ts';

type GateOptions = OnDevice<RequestOf<'gate'>> & CompleteRequest<'gate'>;

/** What every kernel of a change is judged with. */
interface Gate {
  readonly options: GateOptions;
  readonly files: ChangedFiles;
  /** Problem folders that changed, relative to the top. */
  readonly problems: readonly string[];
  /** Where kernels of the base are written. */
  readonly room: string;
  readonly best: BestTimes | undefined;
}

/** A kernel that is to be judged, before and after the change. */
interface Prepared {
  readonly row: GatedKernel;
  readonly problem: Problem;
  readonly after: Kernel;
  readonly before: Kernel | undefined;
}

/**
 * Judges the kernels that a change touches, beside what they were where it left `base`. Only reads the repository; the kernels of the
 * base lie in a temporary folder meanwhile.
 *
 * @throws WarpsmithError `no-base`, `conflicting-options`; as `changedFiles` and `openBestTimes`; for problems that may not run, and for a missing compiler
 * or device. Mistakes in a kernel's files are part of the view.
 */
export async function gateChange(request: OnDevice<RequestOf<'gate'>>): Promise<GateView> {
  const options = completeRequest('gate', request);
  const base = requireBase(options);
  refuseUpdateWithoutFile(options);
  const { baselineFile, update = false, most = Number.POSITIVE_INFINITY, checks, maximumSlowdown } = options;
  const best = baselineFile === undefined ? undefined : await openBestTimes(baselineFile, update);
  const files = await changedFiles(options.folder, base);
  const touched = await touchedKernels(files);
  const chosen = touched.kernels.slice(0, most);
  const judged = await withTemporaryFolder((room) =>
    judgeAll({ options, files, problems: touched.problems, room, best }, chosen),
  );
  const failing = failingOf(judged.kernels);
  return {
    schemaVersion: 1,
    kind: 'gate',
    base: { ref: base, commit: files.base },
    head: { commit: files.head, isDirty: touched.isDirty },
    fileCount: touched.fileCount,
    checks,
    maximumSlowdown,
    ...judged,
    problems: [...touched.problems],
    deleted: [...touched.deleted],
    leftOut: touched.kernels.slice(chosen.length).map(({ path }) => path),
    baseline: best ? { file: best.file, written: update ? best.write(touched.deleted) : null } : null,
    passes: failing.length === 0 && !isLeftOpen(judged),
    failing,
  };
}

function requireBase({ base }: GateOptions): string {
  if (base !== undefined && base.trim() !== '') return base;
  throw new WarpsmithError({
    code: 'no-base',
    message: 'A gate needs to know what the change is to go into.',
    path: '--base',
    received: base ?? 'no --base',
    expected: 'a commit, branch or tag',
    hint: 'For example --base origin/main; --base HEAD judges what is not committed yet.',
  });
}

/** A device is opened only if there is something to judge. */
async function judgeAll(
  gate: Gate,
  touched: readonly TouchedKernel[],
): Promise<Pick<GateView, 'kernels' | 'device' | 'unknownWorkloads'>> {
  const prepared: (Prepared | GatedKernel)[] = [];
  const { signal } = gate.options;
  for (const kernel of touched) prepared.push(await untilAborted(prepare(gate, kernel), signal));
  const toJudge = prepared.filter((one) => 'after' in one);
  const unknownWorkloads = unknownIn(gate.options, toJudge);
  if (toJudge.length === 0)
    return { kernels: prepared.filter((one) => 'workloads' in one), device: null, unknownWorkloads };
  for (const { problem } of toJudge) await ensureTrustedFor(gate.options, problem);
  await using session = await openSession(gate.options);
  const kernels: GatedKernel[] = [];
  for (const one of prepared)
    kernels.push('after' in one ? await untilAborted(judgeKernel(gate, session, one), signal) : one);
  return { kernels, device: session.device.identity, unknownWorkloads };
}

/** Loads both sides. What needs no judging is a finished row. */
async function prepare(gate: Gate, { path, change }: TouchedKernel): Promise<Prepared | GatedKernel> {
  const { options, files, room } = gate;
  const row: GatedKernel = { kernel: path, change, files: [posix.join(path, 'kernel.json')], workloads: [] };
  try {
    const { kernel: after, problem } = await loadKernel(join(files.top, path), { dtype: options.dtype });
    const { files: sources, includes = [] } = after.file.source;
    const named = { ...row, files: [...sources, ...includes].map((name) => posix.join(path, name)) };
    if (change !== 'changed') return { row: named, problem, after, before: undefined };
    const base = await baseKernel(files, path, problem, room);
    if ('missing' in base) return { row: { ...named, notCompared: base.missing }, problem, after, before: undefined };
    if (!hasSameTokens(base.kernel, after)) return { row: named, problem, after, before: base.kernel };
    if (isJudgedAnew(gate, problem)) return { row: { ...named, change: 'problem' }, problem, after, before: undefined };
    return { ...named, sameCode: 'tokens' };
  } catch (error) {
    // A dtype that was asked for is no mistake in the kernel.
    const isAsked = options.dtype !== undefined;
    if (!(error instanceof WarpsmithError) || (isAsked && error.details.code === 'unknown-dtype')) throw error;
    return { ...row, error: mistakeOf(error, files.top) };
  }
}

const isJudgedAnew = ({ files, problems }: Gate, { folder }: Problem): boolean =>
  problems.some((problem) => join(files.top, problem) === folder);

/** Where the files lie on this machine is left out of what goes into a comment. */
function mistakeOf({ details }: WarpsmithError, top: string): GatedKernel['error'] {
  const { message, file, path, received, expected } = details;
  const said = [message, received && `received ${received}`, expected && `expected ${expected}`].filter(Boolean);
  const short = (text: string): string => text.replaceAll(`${top}/`, '');
  return { status: 'invalid', message: short(said.join('; ')), file: file && short(file), path };
}

async function judgeKernel(gate: Gate, session: Session, prepared: Prepared): Promise<GatedKernel> {
  const { options, best } = gate;
  const { row, problem } = prepared;
  const after = makeCandidate(prepared.after, {});
  const before = prepared.before && makeCandidate(prepared.before, {});
  if (before && !isJudgedAnew(gate, problem) && (await hasSameInstructions(session, before, after, options.signal)))
    return { ...row, sameCode: 'ptx' };
  const judged = before ? [before, after] : [after];
  const workloads = workloadsOf(options, problem, judged);
  const seed = options.seed ?? seedsOf(session, { problem, judged, asked: workloads })();
  const gated: GatedKernel = { ...row, seed, workloads: [] };
  for (const workload of workloads) {
    const found = await judgeWorkload({ options, session, seed, problem, workload, before, after });
    gated.workloads.push(best ? best.hold(row.kernel, found, options.maximumSlowdown) : found.row);
  }
  return gated;
}

/** Whether the problem has a workload that a text means. */
const knows = (problem: Problem, text: string): boolean =>
  text === 'all' || unlessRefused(() => chooseWorkload(problem.file, text)) !== undefined;

/** A change may touch kernels of several problems: a name is meant for those that have it. */
function workloadsOf({ workloads, cache }: GateOptions, problem: Problem, judged: readonly Candidate[]): Workload[] {
  const meant = workloads.filter((text) => knows(problem, text));
  if (meant.length > 0) return chooseWorkloads(problem.file, meant, cache);
  // Also one that only the kernel of the base took: that it does not any more is to be said.
  const taken = problem.file.workloads.find(({ dimensions }) => judged.some((one) => takesWorkload(one, dimensions)));
  return [chooseWorkload(problem.file, taken?.name, cache)];
}

const unknownIn = ({ workloads }: GateOptions, judged: readonly Prepared[]): string[] =>
  judged.length === 0 ? [] : workloads.filter((text) => !judged.some(({ problem }) => knows(problem, text)));

/** A kernel as it was, or why it can't be had. */
type BaseKernel = { readonly kernel: Kernel } | { readonly missing: string };

/**
 * A kernel folder as the base has it, written into `room` and loaded for the problem as it is now. So nothing of the base decides
 * what is right, and none of its host code runs.
 */
async function baseKernel(
  { git, atBase }: ChangedFiles,
  path: string,
  problem: Problem,
  room: string,
): Promise<BaseKernel> {
  const own = [...atBase].filter(([file]) => file.startsWith(`${path}/`) || path === '.');
  const contents = await objectsOf(
    git,
    own.map(([, id]) => id),
  );
  const folder = join(room, path);
  writeTemporaryFiles(folder, new Map(own.map(([file], index) => [posix.relative(path, file), contents[index]!])));
  try {
    return { kernel: await loadKernelUnder(folder, problem) };
  } catch (error) {
    if (!(error instanceof WarpsmithError)) throw error;
    // Paths of the temporary folder say nothing to anybody.
    return { missing: error.message.replaceAll(`${room}/`, '') };
  }
}
