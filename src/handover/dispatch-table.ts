import type { ComparedSizes } from '../core/compared-sizes.ts';
import { evaluateExpression } from '../core/expressions/evaluate.ts';
import type { Candidate, ParameterValues } from '../core/kernel.ts';
import { isShapeOf } from '../core/plan/dimensions.ts';
import { failedLimit } from '../core/plan/limits.ts';
import { failedConstraint } from '../core/plan/parameters.ts';
import type { Dimensions, ProblemFile } from '../core/problem.ts';
import type { Timing } from '../core/timing.ts';
import { identifierOf } from './launch-header/cpp-names.ts';
import { sizeConditions } from './size-conditions.ts';

/** A candidate as a dispatch table names it. */
export interface DispatchCandidate {
  id: string;
  kernel: string;
  parameters: ParameterValues;
}

/** The winner of one workload. */
export interface DispatchEntry {
  workload: string;
  dimensions: Dimensions;
  candidate: DispatchCandidate;
  /** Its folder below the table's, and the namespace of its launch header. */
  folder: string;
  medianNs: number;
  kind: Timing['kind'];
  /** The seed of the evaluation that gave the time. */
  seed: number;
  /** Where the kernel's results were compared. Absent if it takes calls of other sizes, too. */
  compared?: ComparedSizes;
}

/** One winner per workload, and a fallback for all other calls. dispatch.json holds it. */
export interface DispatchTable {
  schemaVersion: 1;
  kind: 'dispatch-table';
  problem: string;
  device: { id: string; name: string };
  /** When the winners were judged beside each other, as 2026-01-31. Absent from tables of older versions. */
  date?: string;
  entries: DispatchEntry[];
  /** The start kernel, for calls that no winner takes. */
  fallback: { candidate: DispatchCandidate; folder: string; compared?: ComparedSizes };
}

/** A winner as a run found it. */
export interface Winner {
  readonly workload: { readonly name: string; readonly dimensions: Dimensions };
  readonly candidate: Candidate;
  readonly timing: Pick<Timing, 'kind' | 'medianNs'>;
  /** With which it was judged. */
  readonly seed: number;
}

const ID_DIGITS = 8;

/** The folder and namespace of a candidate: those of two settings of one kernel differ. */
const dispatchFolder = (problem: string, { id, kernel }: Candidate): string =>
  identifierOf(`${problem}_${kernel.file.name}_${id.slice(0, ID_DIGITS)}`);

const named = ({ id, kernel, parameters }: Candidate): DispatchCandidate => ({
  id,
  kernel: kernel.file.name,
  parameters,
});

/** The table of a run's winners, in the order of its workloads. */
export const dispatchTable = (request: {
  readonly problem: ProblemFile;
  readonly device: { readonly id: string; readonly name: string };
  readonly winners: readonly Winner[];
  readonly fallback: Candidate;
  readonly date?: string;
  /** Candidate's id → where its results were compared; absent if no size is to be refused. */
  readonly compared?: ReadonlyMap<string, ComparedSizes>;
}): DispatchTable => ({
  schemaVersion: 1,
  kind: 'dispatch-table',
  problem: request.problem.name,
  device: { id: request.device.id, name: request.device.name },
  ...(request.date !== undefined && { date: request.date }),
  entries: request.winners.map(({ workload, candidate, timing, seed }) => ({
    workload: workload.name,
    dimensions: workload.dimensions,
    candidate: named(candidate),
    folder: dispatchFolder(request.problem.name, candidate),
    medianNs: timing.medianNs,
    kind: timing.kind,
    seed,
    ...sizesOf(request.compared, candidate),
  })),
  fallback: {
    candidate: named(request.fallback),
    folder: dispatchFolder(request.problem.name, request.fallback),
    ...sizesOf(request.compared, request.fallback),
  },
});

function sizesOf(all: ReadonlyMap<string, ComparedSizes> | undefined, { id }: Candidate): { compared?: ComparedSizes } {
  const compared = all?.get(id);
  return compared ? { compared } : {};
}

/** Dimensions that are compared as they are; all others by how far apart their logarithms are. */
const categoricalDimensions = (problem: Pick<ProblemFile, 'dimensions'>): string[] =>
  Object.entries(problem.dimensions)
    .filter(([, declaration]) => declaration.values !== undefined)
    .map(([name]) => name);

/** Distances closer than this are ties, so that the last bit of a math library does not decide. */
export const TIE = 1e-9;

const distance = (from: Dimensions, to: Dimensions, names: readonly string[]): number =>
  names.reduce((sum, name) => {
    const difference = Math.log(Math.max(1, from[name]!)) - Math.log(Math.max(1, to[name]!));
    return sum + difference * difference;
  }, 0);

const takes = (
  problem: ProblemFile,
  { kernel, parameters }: Candidate,
  dimensions: Dimensions,
  compared: ComparedSizes | undefined,
): boolean =>
  isShapeOf(problem, dimensions) &&
  sizeConditions(problem, compared).every(({ condition }) => evaluateExpression(condition, dimensions) !== 0) &&
  failedLimit(kernel.file, dimensions) === undefined &&
  failedConstraint(kernel.file, parameters, dimensions) === undefined;

/**
 * The entry a call goes to: of those whose declared-value dimensions are the call's and whose kernel takes the call, the
 * nearest in the logarithms of the others, the first of equals; `undefined` where it goes to the fallback.
 */
export function chooseEntry(
  table: DispatchTable,
  { problem, candidates }: { problem: ProblemFile; candidates: ReadonlyMap<string, Candidate> },
  dimensions: Dimensions,
): DispatchEntry | undefined {
  const categorical = categoricalDimensions(problem);
  const others = Object.keys(problem.dimensions).filter((name) => !categorical.includes(name));
  let nearest: { entry: DispatchEntry; distance: number } | undefined;
  for (const entry of table.entries) {
    if (categorical.some((name) => entry.dimensions[name] !== dimensions[name])) continue;
    if (!takes(problem, candidates.get(entry.candidate.id)!, dimensions, entry.compared)) continue;
    const away = distance(dimensions, entry.dimensions, others);
    if (nearest === undefined || away < nearest.distance - TIE) nearest = { entry, distance: away };
  }
  return nearest?.entry;
}
