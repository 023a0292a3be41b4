import { makeCandidate } from '../../core/candidate.ts';
import type { DType } from '../../core/dtype.ts';
import type { Evaluation, EvaluationRequest } from '../../core/evaluation.ts';
import type { Candidate, KernelFile, ParameterValues } from '../../core/kernel.ts';
import type { Problem } from '../../core/problem.ts';
import { sha256 } from '../../process/sha256.ts';
import { fromPortable, withoutFolders } from '../recording/portable-evaluation.ts';

/** A candidate with all that it is made of. */
export interface WholeCandidate {
  readonly id: string;
  readonly file: KernelFile;
  readonly sources: Readonly<Record<string, string>>;
  readonly parameters: ParameterValues;
}

/** What a request may say beside what is judged. Nothing here depends on where it is judged. */
const OPTIONS = [
  'seed',
  'thorough',
  'large',
  'watched',
  'suites',
  'tier',
  'blocks',
  'libraryBaselines',
  'profile',
  'sanitize',
  'energy',
  'minimised',
  'passedBefore',
] as const satisfies readonly (keyof EvaluationRequest)[];

/** Where a job may be worked on. Elsewhere its result would be another. */
export interface Requirements {
  /** Name of the device, e.g. `NVIDIA H200`. */
  readonly device: string;
  /** Version of warpsmith, and the SHA-256 of its own files. */
  readonly warpsmith: string;
  readonly code: string;
  /** Compiler, and the driver of a real GPU. */
  readonly compiler: string;
  readonly driver: string | null;
}

/** One evaluation with everything that decides it, as plain JSON. */
export interface Job {
  readonly problem: {
    readonly name: string;
    readonly dtype: DType | null;
    /** Name → SHA-256 of every file of its folder that decides what is right. */
    readonly files: Readonly<Record<string, string>>;
  };
  readonly candidate: WholeCandidate;
  readonly against: readonly { readonly name: string; readonly candidate: WholeCandidate }[];
  readonly workload: EvaluationRequest['workload'];
  readonly options: Readonly<Pick<EvaluationRequest, (typeof OPTIONS)[number]>>;
  /** Whether the code is sent back, and machine code as text with it. */
  readonly keep: { readonly sass: boolean } | null;
  readonly requires: Requirements;
}

/** What came of a job. `contents` are the files that the evaluation names by their SHA-256. */
export interface Answer {
  readonly evaluation: Evaluation;
  readonly contents: readonly (string | Uint8Array)[];
}

export const whole = ({ id, kernel, parameters }: Candidate): WholeCandidate => ({
  id,
  file: kernel.file,
  sources: kernel.sources,
  parameters,
});

/** @param files of the problem. */
export function jobOf(request: EvaluationRequest, files: Job['problem']['files'], requires: Requirements): Job {
  const { problem, candidate, against = [], workload, keep } = request;
  const given = OPTIONS.filter((name) => request[name] !== undefined);
  return {
    problem: { name: problem.file.name, dtype: problem.file.dtype ?? null, files },
    candidate: whole(candidate),
    against: against.map((other) => ({ name: other.name, candidate: whole(other.candidate) })),
    workload,
    options: Object.fromEntries(given.map((name) => [name, request[name]])) as Job['options'],
    keep: keep ? { sass: keep.sass } : null,
    requires,
  };
}

/** SHA-256 of a job: jobs of the same contents are the same job. */
export const hashJob = (job: Job): string => sha256(JSON.stringify(job));

/** The candidate on this machine, where its problem has another folder. @throws Error if it is not what it says. */
export function candidateHere({ id, file, sources, parameters }: WholeCandidate, problemFolder: string): Candidate {
  const candidate = makeCandidate({ folder: `${problemFolder}/${file.name}`, file, sources }, parameters);
  if (candidate.id === id) return candidate;
  throw new Error(`candidate ${id} of a job is ${candidate.id} here`);
}

/** The request that a job stands for, with the problem as it lies on this machine. @throws as {@link candidateHere}. */
export function requestOf(job: Job, problem: Problem): EvaluationRequest {
  const here = (candidate: WholeCandidate): Candidate => candidateHere(candidate, problem.folder);
  return {
    problem,
    candidate: here(job.candidate),
    against:
      job.against.length === 0
        ? undefined
        : job.against.map((other) => ({ ...other, candidate: here(other.candidate) })),
    workload: job.workload,
    ...job.options,
  };
}

/** Judges a job's request, and packs what came of it. */
export async function answerJob(
  job: Job,
  request: EvaluationRequest,
  evaluate: (request: EvaluationRequest) => Promise<Evaluation>,
): Promise<Answer> {
  const contents: (string | Uint8Array)[] = [];
  const put = (content: string | Uint8Array): string => {
    contents.push(content);
    return sha256(content);
  };
  const keep = job.keep ? { store: { put }, sass: job.keep.sass } : undefined;
  const evaluation = await evaluate({ ...request, keep });
  return { evaluation: withoutFolders(evaluation, request), contents };
}

/** The evaluation that a request asked for, with its files kept where the request wants them. */
export function unpack({ evaluation, contents }: Answer, request: EvaluationRequest): Evaluation {
  for (const content of contents) request.keep?.store.put(content);
  const here = fromPortable(evaluation, request);
  return {
    ...here,
    id: request.id ?? 'e0',
    candidate: { ...here.candidate, folder: request.candidate.kernel.folder },
  };
}

const HASH_DIGITS = 16;

/** The queue of workers that all offer the same: none of them ever sees a job that it can't do. */
export function queueNameOf(offers: Requirements): string {
  const slug = offers.device
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  return `${slug}-${sha256(JSON.stringify(offers)).slice(0, HASH_DIGITS)}`;
}
