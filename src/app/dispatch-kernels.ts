import { resolve } from 'node:path';
import { allEnded } from '../core/all-ended.ts';
import { makeCandidate } from '../core/candidate.ts';
import type { ComparedSizes } from '../core/compared-sizes.ts';
import type { DeviceIdentity } from '../core/device.ts';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import type { Candidate } from '../core/kernel.ts';
import { takesWorkload } from '../core/plan/takes-workload.ts';
import type { Problem, Workload } from '../core/problem.ts';
import { type CompleteRequest, completeRequest, type RequestOf } from '../core/requests/request.ts';
import { chooseKernels } from '../handover/choose-kernels.ts';
import { type DispatchTable, dispatchTable } from '../handover/dispatch-table.ts';
import { refuseForTable } from '../handover/write-dispatch.ts';
import type { ContenderOutcome, DispatchRow, JudgedKernels } from '../reports/documents/kernel-dispatch.ts';
import { requireFreeFolder } from '../store/write-folder.ts';
import { workAndBounds } from './bounds.ts';
import { passedSizes, unionOfAll } from './compared-sizes.ts';
import type { JudgedRow } from './dispatch-row.ts';
import { type Judging, judgeRows, orInterrupted } from './judge-rows.ts';
import { openKeptRows } from './kept-rows.ts';
import { loadContenders } from './loading/load-contenders.ts';
import { loadProblem } from './loading/load-problem.ts';
import { ensureTrustedFor } from './loading/trust.ts';
import { verifyBefore } from './same-blocks.ts';
import { type OnDevice, openSession, seedsOf } from './session.ts';
import { openSharedOracle } from './shared-oracle.ts';
import { findTarget, loadStart } from './target.ts';
import { chosenDevices, refuseMixed } from './workers/chosen-devices.ts';
import { chooseWorkloads } from './workload.ts';
import { oneForEachCall, TABLE_FOLDER, writeTable } from './write-table.ts';

type Options = OnDevice<CompleteRequest<'dispatch'>> & { readonly kernels: string };

/** A dispatch table made of given kernels, with what became of each contender. */
export interface KernelDispatch extends JudgedKernels {
  readonly problem: string;
  /** Absent if no workload has a kernel, or if the call was interrupted: nothing was written then. */
  readonly table?: DispatchTable;
  readonly folder: string;
  readonly files: readonly string[];
  readonly tier: Options['tier'];
  readonly blocks?: number | undefined;
  /** ISO 8601, UTC. */
  readonly recordedAt: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
}

/**
 * Judges given kernels at every workload, all contenders of a workload in the same blocks on one device, and makes a dispatch table of the
 * fastest. Several GPUs judge several workloads at a time. An interruption ends it with the rows that are there.
 *
 * @throws WarpsmithError `dispatch-needs-a-problem`, `conflicting-options`, `start-failed`; as `loadContenders`, `chosenDevices`, `refuseMixed`,
 * `chooseWorkloads` and `writeFolder`; for a missing compiler or device.
 */
export async function dispatchKernels(
  request: OnDevice<RequestOf<'dispatch'>> & { readonly kernels: string },
): Promise<KernelDispatch> {
  const options: Options = completeRequest('dispatch', request);
  const folder = resolve(options.output);
  requireFreeFolder(folder, TABLE_FOLDER);
  refuseReplay(options);
  const problem = await problemOf(options);
  const contenders = await loadContenders(options.kernels, problem);
  for (const { candidate } of contenders) refuseForTable(candidate);
  const names = options.workloads.length > 0 ? options.workloads : ['all'];
  const asked = chooseWorkloads(problem.file, names).map((workload) => ({ workload }));
  const { kept, notes } = oneForEachCall(asked);
  const workloads = kept.map(({ workload }) => workload);
  await ensureTrustedFor(options, problem);
  await using sessions = new AsyncDisposableStack();
  const devices = chosenDevices(options) ?? [options.device];
  refuseOneRecordOfSeveral(options, devices);
  const sharedOracle = devices.length > 1 ? sessions.use(await openSharedOracle(devices.length)) : undefined;
  const opened = await allEnded(
    devices.map(async (device) => sessions.use(await openSession({ ...options, device, sharedOracle }))),
  );
  // Closed in reverse: this comes first.
  sessions.defer(() => sharedOracle?.end());
  refuseMixed(opened.map(({ device }) => device.identity));
  const session = opened[0]!;
  const subject = { problem, judged: contenders.map(({ candidate }) => candidate), asked: workloads };
  const seed = options.seed ?? seedsOf(session, subject)();
  const { tier, blocks, runTimeoutSeconds, fresh: isFresh = false } = options;
  const deciding = { tier, blocks, runTimeoutSeconds, seed: options.seed };
  const keptRows = openKeptRows({ session, problem, options: deciding, isFresh, folder: options.rows });
  const judges: Judging['judges'] = [{ session }, ...opened.slice(1).map((session) => ({ session }))];
  const judging = { options: { ...options, seed }, judges, problem, contenders, kept: keptRows };
  const fallback = await verifiedStart(judging, workloads);
  const judged = fallback ? await judgeRows(judging, workloads) : [];
  const complete = judged.length === workloads.length;
  // The next call is to measure anew.
  if (complete) for (const workload of workloads) keptRows?.forget(workload, contenders);
  const rows = chooseRows(judged);
  const table = complete && fallback ? tableOf(judging, { judged, rows, fallback }) : undefined;
  const everyone = [...contenders.map(({ candidate }) => candidate), ...(fallback ? [fallback.candidate] : [])];
  return {
    device: session.device.identity,
    problem: problem.file.name,
    table,
    folder,
    files: table ? writeTable(table, { problem, candidates: everyone, folder }) : [],
    complete,
    tier: options.tier,
    blocks: options.blocks,
    recordedAt: new Date().toISOString(),
    versions: session.environment,
    kernels: contenders.map(({ candidate: { id, kernel, parameters } }) => ({
      id,
      kernel: kernel.file.name,
      parameters,
    })),
    rows,
    largestLoss: largestLossOf(rows),
    notes: [...notes, ...rows.flatMap(noteOf)],
  };
}

async function problemOf({ targets, dtype }: Options): Promise<Problem> {
  const [target, ...others] = targets;
  const found = target !== undefined && others.length === 0 ? findTarget(target) : undefined;
  if (found?.kind === 'problem') return loadProblem(found.folder, { dtype });
  throw new WarpsmithError({
    code: 'dispatch-needs-a-problem',
    message: 'With --kernels, `dispatch` takes one problem folder.',
    path: '--kernels',
    received: targets.join(' '),
    expected: 'a problem folder such as problems/attention',
    hint: 'The kernels are those that the file of --kernels lists. Leave --kernels out to make a table of runs.',
  });
}

/** A recording holds evaluations, and no first looks. */
function refuseReplay({ replay }: Options): void {
  if (replay === undefined) return;
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: '--kernels can’t be answered from a recording: it holds no rough times.',
    path: '--replay',
    received: '--kernels and --replay',
    expected: 'one of them',
    hint: 'Leave --replay out.',
  });
}

/** A recording is that of one device. */
function refuseOneRecordOfSeveral({ record, device }: Options, devices: readonly string[]): void {
  if (record === undefined || devices.length === 1) return;
  throw new WarpsmithError({
    code: 'conflicting-options',
    message: 'A recording is that of one device; several judge several workloads at a time.',
    path: '--record',
    received: `--record and --device ${device}`,
    expected: 'one of them',
    hint: 'Leave --record out, or use one device.',
  });
}

interface Fallback {
  readonly candidate: Candidate;
  readonly compared: ComparedSizes | undefined;
}

/**
 * The problem's start, which takes all other calls, verified at the smallest workload; `undefined` if interrupted.
 *
 * @throws WarpsmithError `start-failed`.
 */
async function verifiedStart(judging: Judging, workloads: readonly Workload[]): Promise<Fallback | undefined> {
  const { problem, options } = judging;
  const [{ session }] = judging.judges;
  const kernel = await loadStart(problem);
  const candidate = makeCandidate(kernel, {});
  const flop = (workload: Workload) => workAndBounds(problem.file, workload, session.device.spec).flop;
  const taken = workloads.filter(({ dimensions }) => takesWorkload(candidate, dimensions));
  const smallest = taken.toSorted((a, b) => flop(a) - flop(b))[0] ?? workloads[0]!;
  const named = { name: `the start ${kernel.file.name}`, candidate };
  const request = { options, session, problem, workload: smallest };
  const evaluation = await orInterrupted(verifyBefore(request, named, 1), options.signal);
  if (!evaluation) return undefined;
  if (evaluation.status === 'passed') return { candidate, compared: passedSizes(evaluation) };
  throw new WarpsmithError(
    {
      code: 'start-failed',
      message: `The start kernel is ${evaluation.status}: ${evaluation.reason ?? 'no reason given'}`,
      file: kernel.folder,
      received: `${kernel.file.name} at ${smallest.name}`,
      expected: 'a start kernel that passes: calls that no other kernel takes go to it',
      hint: `See \`warpsmith evaluate ${kernel.folder} --workload ${smallest.name}\`.`,
    },
    EXIT.judgedFailed,
  );
}

type Timed = Extract<ContenderOutcome, { outcome: 'timed' }>;

const timedOf = ({ contenders }: Pick<JudgedRow, 'contenders'>): Timed[] =>
  contenders.filter((one): one is Timed => one.outcome === 'timed');

function chooseRows(judged: readonly JudgedRow[]): DispatchRow[] {
  const times = judged.map((row) => {
    const medians = timedOf(row).map(({ candidate, medianNs }) => [candidate, medianNs] as const);
    return [row.workload, new Map(medians)] as const;
  });
  const choice = chooseKernels(new Map(times));
  return judged.map(({ compared: _forTheTable, ...row }) => {
    const chosen = timedOf(row).find(({ candidate }) => candidate === choice.get(row.workload));
    const [fastest] = timedOf(row).toSorted((a, b) => a.medianNs - b.medianNs);
    if (!chosen || !fastest) return { ...row, chosen: null };
    const { candidate, medianNs } = chosen;
    const loss = medianNs / fastest.medianNs - 1;
    return { ...row, chosen: { candidate, medianNs, fastest: fastest.candidate, fastestNs: fastest.medianNs, loss } };
  });
}

function largestLossOf(rows: readonly DispatchRow[]): KernelDispatch['largestLoss'] {
  const losses = rows.flatMap(({ workload, chosen }) => (chosen ? [{ workload, loss: chosen.loss }] : []));
  return losses.toSorted((a, b) => b.loss - a.loss)[0] ?? null;
}

const describeDevice = ({ name, uuid, id }: DeviceIdentity): string => `${name} (${uuid ?? id})`;

function noteOf({ workload, chosen, failure, judgedAt, judgedOn }: DispatchRow): string[] {
  if (failure !== undefined) return [`${workload} could not be judged: ${failure}`];
  const elsewhere = judgedOn
    ? [
        `${workload} was judged at ${judgedAt}, before an interruption, elsewhere: by ${describeDevice(judgedOn.device)}, ${judgedOn.processor}`,
      ]
    : [];
  return chosen ? elsewhere : [...elsewhere, `${workload} is not in the table: no contender passed there`];
}

function tableOf(
  { options, judges, problem, contenders }: Judging & { readonly options: Pick<Options, 'unverifiedSizes'> },
  { judged, rows, fallback }: { judged: readonly JudgedRow[]; rows: readonly DispatchRow[]; fallback: Fallback },
): DispatchTable | undefined {
  if (rows.every(({ chosen }) => chosen === null)) return undefined;
  const candidates = new Map(contenders.map(({ candidate }) => [candidate.id, candidate]));
  const sizes = [...candidates.keys(), fallback.candidate.id].flatMap((id) => {
    const own = id === fallback.candidate.id ? fallback.compared : undefined;
    const compared = unionOfAll([own, ...judged.map((row) => row.compared[id])]);
    return compared ? [[id, compared] as const] : [];
  });
  return dispatchTable({
    compared: options.unverifiedSizes ? undefined : new Map(sizes),
    problem: problem.file,
    device: judges[0].session.device.identity,
    date: new Date().toISOString().slice(0, 10),
    fallback: fallback.candidate,
    winners: rows.flatMap((row) => {
      const { chosen, workload: name, dimensions, seed } = row;
      const timing = timedOf(row).find(({ candidate }) => candidate === chosen?.candidate);
      return chosen && timing
        ? [{ workload: { name, dimensions }, candidate: candidates.get(chosen.candidate)!, timing, seed }]
        : [];
    }),
  });
}
