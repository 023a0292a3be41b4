import type { DeviceIdentity } from '../core/device.ts';
import type { Correctness, Evaluation, JournalMark } from '../core/evaluation.ts';
import type { ParameterValues } from '../core/kernel.ts';
import type { Comparison, Verdict } from '../core/measurement.ts';
import type { Dimensions } from '../core/problem.ts';
import type { FailOn } from '../core/requests/options.ts';
import type { EvaluationStatus } from '../core/status.ts';
import type { Timing } from '../core/timing.ts';
import { combineRatios } from '../stats/combine-ratios.ts';

/** One side of a comparison. */
export interface ComparedCandidate {
  label: string;
  id: string;
  kernel: string;
  parameters: ParameterValues;
}

/** How one side did on one workload. */
export interface ComparedSide {
  status: EvaluationStatus;
  reason?: string;
  correctness?: Pick<Correctness, 'maxAbsoluteError' | 'tolerance' | 'checksRun'>;
  timing?: Pick<Timing, 'kind' | 'medianNs' | 'intervalNs'>;
}

/** One workload. `ratio` is baseline's time ÷ candidate's time; `null` where one of them has no valid time. */
export interface ComparedWorkload {
  workload: string;
  dimensions: Dimensions;
  weight: number;
  baseline: ComparedSide;
  candidate: ComparedSide;
  ratio: number | null;
  /** Measured: from samples of the same blocks. */
  verdict?: Verdict;
  intervalRatio?: readonly [low: number, high: number];
  blockCount?: number;
}

export interface CompareView {
  schemaVersion: 1;
  kind: 'compare';
  problem: string;
  device: DeviceIdentity;
  seed: number;
  baseline: ComparedCandidate;
  candidate: ComparedCandidate;
  /** Absent where nothing was to be kept. */
  journal?: JournalMark;
  workloads: ComparedWorkload[];
  /** Weighted geometric mean of the ratios; `null` unless every workload has one. */
  geometricMean: { kind: Timing['kind']; ratio: number } | null;
  /** What `--fail-on` asked for, and the workloads that fail it. */
  failOn: FailOn | null;
  failing: string[];
}

/** Predictions within 3 % of each other are not told apart, as in the loop. */
const PREDICTED_MARGIN = 1.03;

/** What is kept of an evaluation. */
export const comparedSide = ({ status, reason, correctness, timing }: Evaluation): ComparedSide => ({
  status,
  reason,
  correctness: correctness
    ? {
        maxAbsoluteError: correctness.maxAbsoluteError,
        tolerance: correctness.tolerance,
        checksRun: correctness.checksRun,
      }
    : undefined,
  timing: timing ? { kind: timing.kind, medianNs: timing.medianNs, intervalNs: timing.intervalNs } : undefined,
});

/** One workload from the evaluations of both sides; `beside` is the candidate's comparison from shared blocks. */
export function comparedWorkload(
  named: Pick<ComparedWorkload, 'workload' | 'dimensions' | 'weight'>,
  baseline: ComparedSide,
  candidate: ComparedSide,
  beside: Comparison | undefined,
): ComparedWorkload {
  const row = { ...named, baseline, candidate };
  if (baseline.status !== 'passed' || candidate.status !== 'passed') return { ...row, ratio: null };
  if (beside) {
    const { ratio, verdict, intervalRatio, blockCount } = beside;
    return { ...row, ratio, verdict, intervalRatio, blockCount };
  }
  const [before, after] = [baseline.timing, candidate.timing];
  // Only predictions are divided by each other: times measured apart say too little.
  if (before?.kind !== 'predicted' || after?.kind !== 'predicted') return { ...row, ratio: null };
  return { ...row, ratio: before.medianNs / after.medianNs };
}

/** Weighted geometric mean of every workload's ratio; all are of one kind, a device having but one. */
export function meanRatio(workloads: readonly ComparedWorkload[]): CompareView['geometricMean'] {
  const [first] = workloads;
  if (!first || workloads.some(({ ratio }) => !(ratio !== null && ratio > 0))) return null;
  const { ratio } = combineRatios(workloads.map((row) => ({ ratio: row.ratio!, weight: row.weight })));
  return { kind: first.verdict === undefined ? 'predicted' : 'measured', ratio };
}

const PASSES: Readonly<Record<FailOn, (row: ComparedWorkload) => boolean>> = {
  slower: ({ verdict, ratio }) => (verdict === undefined ? (ratio ?? 0) >= 1 / PREDICTED_MARGIN : verdict !== 'slower'),
  'not-faster': ({ verdict, ratio }) =>
    verdict === undefined ? (ratio ?? 0) >= PREDICTED_MARGIN : verdict === 'faster',
};

/** Workloads that a comparison fails on. One without a ratio fails whatever was asked for. */
export const failingWorkloads = (workloads: readonly ComparedWorkload[], failOn: FailOn | null): string[] =>
  workloads
    .filter((row) => row.ratio === null || (failOn !== null && !PASSES[failOn](row)))
    .map(({ workload }) => workload);
