import type { ComparedSizes } from '../core/compared-sizes.ts';
import type { Candidate, ParameterValues } from '../core/kernel.ts';
import type { Dimensions } from '../core/problem.ts';
import type { Timing } from '../core/timing.ts';
import { assignments } from '../core/values.ts';
import type { Verdict } from '../core/vocabulary.ts';
import { sha256 } from '../process/sha256.ts';
import type { ConfirmationEvent } from '../store/events.ts';

/** How a candidate compares with the kernel its run started from. */
export interface StartRatio {
  readonly kind: Timing['kind'];
  /** Start's time ÷ candidate's time. */
  readonly ratio: number;
  /** Measured and confirmed: 95 %, over blocks that were measured for this alone. */
  readonly intervalRatio?: readonly [low: number, high: number];
  readonly verdict?: Verdict;
  readonly confirmed: boolean;
  /** Outcome of the confirmation. A refused candidate is not confirmed, whatever its ratio. */
  readonly confirmation?: { readonly outcome: ConfirmationEvent['outcome']; readonly reason: string };
}

/** The results of a run about a candidate. */
export interface Evidence {
  readonly runId: string;
  readonly seed: number;
  readonly strategy: string;
  readonly device: { id: string; kind: 'virtual' | 'cuda'; name: string };
  readonly environment: Readonly<Record<string, string>>;
  readonly workloads: readonly { name: string; dimensions: Dimensions; cache: 'hot' | 'cold'; weight: number }[];
  readonly evaluation: { id: string; workload: string; status: string; timing?: { kind: string; medianNs: number } };
  readonly comparedWithStart?: StartRatio;
  /** Where results were compared in all verifications that it passed; absent if the logs do not say it. */
  readonly compared?: ComparedSizes;
  /** Evaluations that this result rests on. */
  readonly evaluationIds: readonly string[];
}

/** reproduce.json. */
export interface Reproduction {
  schemaVersion: 1;
  kind: 'reproduction';
  warpsmith: string;
  problem: { name: string; files: Readonly<Record<string, string>> };
  kernel: {
    name: string;
    candidate: string;
    parameters: ParameterValues;
    /** SHA-256 of each file as it was judged. */
    sources: Readonly<Record<string, string>>;
  };
  start: { kernel: string; candidate: string; sources: Readonly<Record<string, string>> };
  evidence: Evidence | null;
  /** In this folder. */
  command: string;
  /** Names of what was exported. */
  files: readonly string[];
}

const hashesOf = (files: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [name, sha256(text)]));

/** The contents of reproduce.json: what to run, and on which device, to get the same result. */
export function reproduction(request: {
  readonly version: string;
  readonly problem: { readonly name: string; readonly files: Readonly<Record<string, string>> };
  readonly candidate: Candidate;
  readonly start: Candidate;
  readonly evidence: Evidence | null;
}): Omit<Reproduction, 'files'> {
  const { version, problem, candidate, start, evidence } = request;
  return {
    schemaVersion: 1,
    kind: 'reproduction',
    warpsmith: version,
    problem: { name: problem.name, files: hashesOf(problem.files) },
    kernel: {
      name: candidate.kernel.file.name,
      candidate: candidate.id,
      parameters: candidate.parameters,
      sources: hashesOf(candidate.kernel.sources),
    },
    start: { kernel: start.kernel.file.name, candidate: start.id, sources: hashesOf(start.kernel.sources) },
    evidence,
    command: commandOf(evidence),
  };
}

/** Words of a command line; workload names and device ids have no other characters. */
function commandOf(evidence: Evidence | null): string {
  if (!evidence) return 'warpsmith evaluate .';
  const { device, workloads, seed } = evidence;
  const workload = workloads[0]!;
  const dimensions = assignments(workload.dimensions).join(',');
  const options = [`--device ${device.id}`, `--workload ${dimensions}`, `--cache ${workload.cache}`];
  return ['warpsmith evaluate .', ...options, `--seed ${seed}`].join(' ');
}

/** Files that an earlier export says it wrote, but for those whose names lead elsewhere; none if the text is of another kind. */
export function listedFiles(json: string, kind: string, leadsElsewhere: RegExp): string[] {
  try {
    const listed = JSON.parse(json) as { kind?: unknown; files?: unknown };
    if (listed.kind !== kind || !Array.isArray(listed.files)) return [];
    return listed.files.filter((name) => typeof name === 'string' && !leadsElsewhere.test(name));
  } catch {
    return [];
  }
}
