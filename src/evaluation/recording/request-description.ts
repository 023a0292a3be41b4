import { isDeepStrictEqual } from 'node:util';
import type { EvaluationRequest } from '../../core/evaluation.ts';
import { assignments, sortedEntries } from '../../core/values.ts';
import { sha256 } from '../../process/sha256.ts';
import type { RequestDescription } from '../../store/recording.ts';

const HASH_DIGITS = 12;

const sorted = <T>(values: Readonly<Record<string, T>>): Record<string, T> => Object.fromEntries(sortedEntries(values));

/** A request described by content: no folders, no ids of a run, defaults written out. */
export function describeRequest(request: EvaluationRequest): RequestDescription {
  const { problem, candidate, workload, libraryBaselines = [] } = request;
  return {
    problem: {
      name: problem.file.name,
      hash: sha256(JSON.stringify(problem.file)).slice(0, HASH_DIGITS),
    },
    candidate: { id: candidate.id, kernel: candidate.kernel.file.name, parameters: sorted(candidate.parameters) },
    workload: { dimensions: sorted(workload.dimensions), cache: workload.cache },
    seed: request.seed,
    tier: request.tier ?? 'screen',
    blocks: request.blocks ?? null,
    against: (request.against ?? []).map((other) => ({ name: other.name, id: other.candidate.id })),
    libraryBaselines: [...libraryBaselines],
    profile: request.profile ?? 'none',
    sanitize: request.sanitize ?? false,
    suites: request.suites?.map(({ name }) => name),
    // Absent, not false, as in recordings of older versions.
    energy: request.energy || undefined,
    minimised: request.minimised,
  };
}

/** Equal for requests that ask for the same. */
export const requestKey = (description: RequestDescription): string => JSON.stringify(description);

/** The differences in words, e.g. `tier: screen instead of accept`; empty if both are equal. */
export const differences = (recorded: RequestDescription, asked: RequestDescription): string[] =>
  (Object.keys(asked) as (keyof RequestDescription)[])
    .filter((field) => !isDeepStrictEqual(recorded[field], asked[field]))
    .map((field) => `${field}: ${inWords(field, recorded)} instead of ${inWords(field, asked)}`);

function inWords(field: keyof RequestDescription, description: RequestDescription): string {
  const value = description[field];
  if (field === 'candidate') return describeCandidate(description);
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}

/** e.g. `04_warp (3f2a…) BLOCK_M=32`. */
export const describeCandidate = ({ candidate: { id, kernel, parameters } }: RequestDescription): string =>
  [`${kernel} (${id})`, ...assignments(parameters)].join(' ');
