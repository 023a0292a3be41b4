import type { ComparedSizes } from '../core/compared-sizes.ts';
import type { Candidate } from '../core/kernel.ts';
import type { Dimensions, ProblemFile } from '../core/problem.ts';
import type { Timing } from '../core/timing.ts';
import type { CandidateReference } from '../store/events.ts';
import { identifierOf } from './launch-header/cpp-names.ts';

/** The winner of one workload. */
export interface DispatchEntry {
  workload: string;
  dimensions: Dimensions;
  candidate: CandidateReference;
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
  fallback: { candidate: CandidateReference; folder: string; compared?: ComparedSizes };
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

/** Names a candidate in code: those of two settings of one kernel differ. */
export const candidateIdentifier = (prefix: string, { id, kernel }: Candidate): string =>
  identifierOf(`${prefix}_${kernel.file.name}_${id.slice(0, ID_DIGITS)}`);

const named = ({ id, kernel, parameters }: Candidate): CandidateReference => ({
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
  date: request.date,
  entries: request.winners.map(({ workload, candidate, timing, seed }) => ({
    workload: workload.name,
    dimensions: workload.dimensions,
    candidate: named(candidate),
    folder: candidateIdentifier(request.problem.name, candidate),
    medianNs: timing.medianNs,
    kind: timing.kind,
    seed,
    compared: request.compared?.get(candidate.id),
  })),
  fallback: {
    candidate: named(request.fallback),
    folder: candidateIdentifier(request.problem.name, request.fallback),
    compared: request.compared?.get(request.fallback.id),
  },
});
