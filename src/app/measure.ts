import { join } from 'node:path';
import { makeCandidate } from '../core/candidate.ts';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import type { Candidate, Kernel, ParameterValues } from '../core/kernel.ts';
import type { MeasuredBlock, Measurement } from '../core/measurement.ts';
import { failedLimit } from '../core/plan/limits.ts';
import type { Problem, Workload } from '../core/problem.ts';
import { type CompleteRequest, completeRequest, type RequestOf } from '../core/requests/request.ts';
import { untilAborted } from '../core/until-aborted.ts';
import { nonEmpty } from '../core/values.ts';
import {
  buildLadderRow,
  type LadderContender,
  type LadderRow,
  type LadderRowInput,
  type LadderView,
} from '../reports/documents/ladder.ts';
import { resolveBaselines } from './baselines.ts';
import { workAndBounds } from './bounds.ts';
import { loadKernel } from './loading/load-kernel.ts';
import { loadProblem } from './loading/load-problem.ts';
import { ensureTrustedFor } from './loading/trust.ts';
import {
  type BlocksRequest,
  type Collected,
  collect,
  measureBeside,
  type NamedCandidate,
  nothingMeasured,
  verifyBefore,
} from './same-blocks.ts';
import { type OnDevice, openSession, type Session } from './session.ts';
import { findTarget, isKernelFolder, loadKernelOf, loadRungs } from './target.ts';
import { chooseWorkloads } from './workload.ts';

type MeasureOptions = OnDevice<CompleteRequest<'measure'>>;

/**
 * Measures several kernels and library baselines in the same blocks, workload by workload. Verifies each kernel by itself
 * first.
 *
 * An interrupted call keeps the workloads that it has measured whole.
 *
 * @throws WarpsmithError `measure-needs-a-gpu` if times are predicted; `set-needs-one-kernel`; as `resolveBaselines`; for
 * files, parameters or workloads that can't be used, and for a missing compiler or device.
 */
export async function measureProblem(request: OnDevice<RequestOf<'measure'>>): Promise<LadderView> {
  const options = completeRequest('measure', request);
  const { problem, kernels } = await loadContenders(options);
  const workloads = chooseWorkloads(problem.file, options.workloads, options.cache);
  const candidates = namedCandidates(kernels, options.parameters);
  await ensureTrustedFor(options, problem);
  await using session = await openSession(options);
  if (session.device.identity.kind === 'virtual') throw needsGpu(session.device.identity.id);
  const seeded = { ...options, seed: options.seed ?? session.drawSeed() };
  const rows = await measureRows(workloads, seeded, { session, problem, kernels: candidates });
  return {
    schemaVersion: 1,
    kind: 'ladder',
    problem: problem.file.name,
    device: session.device.identity,
    tier: options.tier,
    seed: seeded.seed,
    recordedAt: session.recordedAt ?? new Date().toISOString(),
    versions: session.environment,
    contenders: everyContender(rows),
    rows: rows.map(({ row }) => row),
    notMeasured: nonEmpty(workloads.slice(rows.length).map(({ name }) => name)),
  };
}

/** A row for each workload; as many as there are when the signal fires. @throws the signal's reason if there is none yet. */
async function measureRows(
  workloads: readonly Workload[],
  options: RowRequest['options'],
  rest: Pick<RowRequest, 'session' | 'problem' | 'kernels'>,
): Promise<MeasuredRow[]> {
  const rows: MeasuredRow[] = [];
  for (const workload of workloads) {
    try {
      rows.push(await untilAborted(measureRow({ ...rest, options, workload }), options.signal));
    } catch (error) {
      if (!options.signal?.aborted || rows.length === 0) throw error;
      break;
    }
  }
  return rows;
}

async function loadContenders({
  target,
  dtype,
  kernels,
}: MeasureOptions): Promise<{ problem: Problem; kernels: Kernel[] }> {
  const { kind, folder } = findTarget(target);
  if (kind === 'kernel') {
    const { kernel, problem } = await loadKernel(folder, { dtype });
    return { problem, kernels: [kernel, ...(await kernelsNamed(kernels, problem))] };
  }
  const problem = await loadProblem(folder, { dtype });
  const named = kernels.length > 0 ? await kernelsNamed(kernels, problem) : [...(await loadRungs(problem))];
  return { problem, kernels: named };
}

async function kernelsNamed(names: readonly string[], problem: Problem): Promise<Kernel[]> {
  const kernels: Kernel[] = [];
  for (const name of names) {
    const folder = isKernelFolder(name) ? name : join(problem.folder, name);
    kernels.push(await loadKernelOf(problem, folder));
  }
  return kernels;
}

function namedCandidates(kernels: readonly Kernel[], parameters: ParameterValues): NamedCandidate[] {
  if (Object.keys(parameters).length > 0 && kernels.length !== 1) throw setNeedsOneKernel(kernels.length);
  const all = kernels.map((kernel) => makeCandidate(kernel, parameters));
  // The same kernel named twice is one contender.
  const candidates = [...new Map(all.map((candidate) => [candidate.id, candidate])).values()];
  const nameOf = ({ kernel }: Candidate) => kernel.file.name;
  const isUnique = (candidate: Candidate) =>
    candidates.filter((other) => nameOf(other) === nameOf(candidate)).length === 1;
  return candidates.map((candidate) => ({
    name: isUnique(candidate) ? nameOf(candidate) : `${nameOf(candidate)} (${candidate.id})`,
    candidate,
  }));
}

interface RowRequest extends BlocksRequest {
  readonly options: MeasureOptions & { readonly seed: number };
  readonly session: Session;
  readonly kernels: readonly NamedCandidate[];
}

interface MeasuredRow {
  readonly row: LadderRow;
  readonly contenders: readonly LadderContender[];
}

/** What happened to each kernel so far. */
interface Sorted {
  readonly passed: NamedCandidate[];
  readonly failed: LadderRowInput['failed'][number][];
  readonly notApplicable: Map<string, string>;
}

async function measureRow(request: RowRequest): Promise<MeasuredRow> {
  const { options, session, problem, workload } = request;
  const { against, libraryBaselines } = await resolveBaselines(options.baselines, { session, problem, workload });
  const known = new Set(request.kernels.map(({ candidate }) => candidate.id));
  const kernels = [...request.kernels, ...against.filter(({ candidate }) => !known.has(candidate.id))];
  const sorted = await verifyEach(request, kernels);
  const [first, ...others] = sorted.passed;
  const evaluation = first && (await measureBeside(request, first, others, libraryBaselines));
  const measured = evaluation ? collect(first, evaluation) : nothingMeasured();
  return rowOf(request, kernels, libraryBaselines, sorted, measured);
}

/** Judges each kernel by itself before it is measured beside others. */
async function verifyEach(request: RowRequest, kernels: readonly NamedCandidate[]): Promise<Sorted> {
  const { workload } = request;
  const sorted: Sorted = { passed: [], failed: [], notApplicable: new Map() };
  for (const kernel of kernels) {
    const limit = failedLimit(kernel.candidate.kernel.file, workload.dimensions);
    if (limit !== undefined) {
      sorted.notApplicable.set(kernel.name, limit);
      continue;
    }
    const { status, reason = 'no reason given' } = await verifyBefore(request, kernel);
    if (status === 'passed') sorted.passed.push(kernel);
    else sorted.failed.push({ contender: kernel.name, status, reason });
  }
  return sorted;
}

function rowOf(
  { options, session, problem, workload }: RowRequest,
  kernels: readonly NamedCandidate[],
  libraries: readonly string[],
  sorted: Sorted,
  { measurements, baselines, failed, missing, energy }: Collected,
): MeasuredRow {
  const versions = new Map(baselines.map((baseline) => [baseline.name, baseline.versions]));
  const contenders: LadderContender[] = [
    ...kernels.map(({ name }) => ({ name, kind: 'kernel' as const })),
    ...libraries.map((name) => {
      const found = versions.get(name);
      return { name, kind: 'library' as const, versions: found };
    }),
  ];
  const row = buildLadderRow({
    workload: workload.name,
    dimensions: workload.dimensions,
    cache: workload.cache,
    ...workAndBounds(problem.file, workload, session.device.spec),
    contenders,
    blocks: sharedBlocks(measurements),
    measurements,
    failed: [...sorted.failed, ...failed],
    notApplicable: new Map([...sorted.notApplicable, ...missing]),
    gpuKernels: new Map(baselines.flatMap(({ name, gpuKernels }) => (gpuKernels ? [[name, gpuKernels] as const] : []))),
    seed: options.seed,
    energy,
  });
  return { row, contenders };
}

/** Each measurement holds only its own samples of the common blocks; comparisons need all samples of a block together. */
function sharedBlocks(measurements: ReadonlyMap<string, Measurement>): MeasuredBlock[] {
  const all = [...measurements];
  const blocks = all[0]?.[1].blocks ?? [];
  return blocks.map((block, index) => ({
    ...block,
    samples: all.map(([contender, measurement]) => ({
      contender,
      samplesNs: measurement.blocks[index]?.samples.flatMap(({ samplesNs }) => samplesNs) ?? [],
    })),
  }));
}

/** In the order they first appear. */
function everyContender(rows: readonly MeasuredRow[]): LadderContender[] {
  const contenders = new Map<string, LadderContender>();
  for (const contender of rows.flatMap((row) => row.contenders)) {
    contenders.set(contender.name, { ...contenders.get(contender.name), ...contender });
  }
  return [...contenders.values()];
}

const needsGpu = (deviceId: string): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'measure-needs-a-gpu',
      message: `${deviceId} measures nothing: it predicts.`,
      path: '--device',
      received: deviceId,
      expected: 'a real GPU, such as cuda:0',
      hint: 'Use `warpsmith evaluate` to have a time predicted, or --replay with a recording of a real GPU.',
    },
    EXIT.deviceOrToolMissing,
  );

const setNeedsOneKernel = (count: number): WarpsmithError =>
  new WarpsmithError({
    code: 'set-needs-one-kernel',
    message: `--set needs exactly one kernel; this command measures ${count}.`,
    path: '--set',
    received: `${count} kernels`,
    expected: 'one kernel',
    hint: 'Name one with --kernel and compare it with --baseline.',
  });
