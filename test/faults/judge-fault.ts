import path from 'node:path';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Evaluation, Evaluator } from '../../src/core/evaluation.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';
import type { EvaluationStatus } from '../../src/core/status.ts';

/** What must be said of a faulty kernel. */
export interface FaultVerdict {
  readonly statuses: readonly EvaluationStatus[];
  readonly reason: RegExp;
}

interface Fault extends FaultVerdict {
  /** Absent where a virtual device cannot show it. */
  readonly virtual?: FaultVerdict;
}

/** Folders beside this file, and what a real GPU says of each. */
const FAULTS: Readonly<Record<string, Fault>> = {
  'endless-loop': {
    statuses: ['timed-out'],
    reason: /did not finish within \d+ ms/,
    virtual: { statuses: ['timed-out'], reason: /did not finish|instructions/ },
  },
  trap: {
    statuses: ['crashed'],
    reason: /trap/,
    virtual: { statuses: ['crashed'], reason: /trap/ },
  },
  'illegal-address': {
    statuses: ['unsafe'],
    reason: /outside every allocation/,
    virtual: { statuses: ['unsafe'], reason: /out-of-bounds global write/ },
  },
  'misaligned-address': {
    statuses: ['unsafe'],
    reason: /not a multiple of the access size/,
    virtual: { statuses: ['unsafe'], reason: /misaligned 4-byte global read/ },
  },
  'too-much-shared-memory': {
    statuses: ['launch-failed'],
    reason: /shared memory/,
    virtual: { statuses: ['launch-failed'], reason: /shared memory/ },
  },
  'more-threads-than-bounds': {
    statuses: ['launch-failed'],
    reason: /256 threads/,
    virtual: { statuses: ['launch-failed'], reason: /256 threads/ },
  },
  'too-many-registers': { statuses: ['launch-failed'], reason: /registers/ },
};

export const faults = (): string[] => Object.keys(FAULTS);

export const verdictOf = (name: string, kind: 'virtual' | 'cuda'): FaultVerdict | undefined =>
  kind === 'cuda' ? FAULTS[name] : FAULTS[name]?.virtual;

/** Wall-clock limit of one run. */
export const FAULT_TIMEOUT_SECONDS = 3;
const HONEST = 'honest';
/** The honest kernel's time after a fault ÷ that before it, or the other way round. Passes if ≤ this. */
const LARGEST_TIME_RATIO = 1.1;

export interface JudgedFault {
  readonly expected: FaultVerdict;
  /** What the kernel does, as its kernel.json says. */
  readonly mistake: string;
  readonly evaluation: Evaluation;
  readonly reportedAfterMs: number;
  /** The honest kernel, judged before and after. */
  readonly before: Evaluation;
  readonly after: Evaluation;
  readonly disagreements: readonly string[];
}

/** Judges a faulty kernel between two evaluations of an honest one, which it must not touch. */
export const judgeFault = async (
  evaluator: Evaluator,
  name: string,
  { kind, workload, seed }: { kind: 'virtual' | 'cuda'; workload: string; seed: number },
): Promise<JudgedFault> => {
  const expected = verdictOf(name, kind);
  if (!expected) throw new Error(`a ${kind} device does not show ${name}`);
  const before = await judge(evaluator, HONEST, workload, 2 * seed);
  const { kernel } = await loadKernel(folderOf(name));
  const startMs = performance.now();
  const evaluation = await judge(evaluator, name, workload, seed);
  const reportedAfterMs = performance.now() - startMs;
  // With another seed: what verification showed before is not taken for granted.
  const after = await judge(evaluator, HONEST, workload, 2 * seed + 1);
  const disagreements = [...faultDisagreements(expected, evaluation), ...aftermathDisagreements(before, after)];
  return { expected, mistake: kernel.file.description, evaluation, reportedAfterMs, before, after, disagreements };
};

const folderOf = (name: string): string => path.join(import.meta.dirname, name);

const judge = async (evaluator: Evaluator, name: string, workloadName: string, seed: number): Promise<Evaluation> => {
  const { kernel, problem } = await loadKernel(folderOf(name));
  const workload = resolveWorkload(problem.file, workloadName);
  return evaluator.evaluate({ problem, candidate: makeCandidate(kernel, {}), workload, seed });
};

type Said = Pick<Evaluation, 'status' | 'reason'>;

/** How what was said of the faulty kernel differs from what must be. */
export const faultDisagreements = ({ statuses, reason }: FaultVerdict, said: Said): string[] =>
  [
    !statuses.includes(said.status) && `it is ${said.status}, not ${statuses.join(' or ')}`,
    !reason.test(said.reason ?? '') && `the reason does not match ${reason}: ${said.reason}`,
  ].filter((text) => text !== false);

/** What the fault left behind: nothing may be. Predicted times are equal, measured ones near each other. */
export const aftermathDisagreements = (
  before: Said & Pick<Evaluation, 'timing'>,
  after: Said & Pick<Evaluation, 'timing'>,
): string[] => {
  const unjudged = Object.entries({ before, after }).filter(([, { status }]) => status !== 'passed');
  if (unjudged.length > 0)
    return unjudged.map(([when, { status, reason }]) => `${when} it the honest kernel is ${status}: ${reason}`);
  const ratio = after.timing!.medianNs / before.timing!.medianNs;
  return Math.max(ratio, 1 / ratio) <= LARGEST_TIME_RATIO
    ? []
    : [`after it the honest kernel takes ${ratio.toFixed(3)} times as long as before`];
};
