import type { DeviceIdentity } from '../../core/device.ts';
import type { Energy } from '../../core/energy.ts';
import type { Correctness, Evaluation, JournalMark } from '../../core/evaluation.ts';
import type { Comparison } from '../../core/measurement.ts';
import { pick } from '../../core/pick.ts';
import type { Dimensions } from '../../core/problem.ts';
import type { FailOn } from '../../core/requests/options.ts';
import type { EvaluationStatus } from '../../core/status.ts';
import type { Timing } from '../../core/timing.ts';
import { combineRatios } from '../../stats/combine-ratios.ts';
import type { CandidateReference } from '../../store/events.ts';
import * as doc from '../document.ts';
import { formatKindAndTime, formatParameters, formatRatioInterval } from '../format.ts';
import { energySection } from '../sections/energy.ts';
import { journalLine } from '../sections/run-words.ts';

/** One side of a comparison. */
export interface ComparedCandidate extends CandidateReference {
  label: string;
}

/** How one side did on one workload. */
export interface ComparedSide {
  status: EvaluationStatus;
  reason?: string;
  correctness?: Pick<Correctness, 'maxAbsoluteError' | 'tolerance' | 'checksRun'>;
  timing?: Pick<Timing, 'kind' | 'medianNs' | 'intervalNs'>;
}

/**
 * One workload. `ratio` is baseline's time ÷ candidate's time; `null` where one of them has no valid time. Verdict, interval and
 * blocks are of measured ones, from samples of the same blocks.
 */
export interface ComparedWorkload extends Partial<Pick<Comparison, 'verdict' | 'intervalRatio' | 'blockCount'>> {
  workload: string;
  dimensions: Dimensions;
  weight: number;
  baseline: ComparedSide;
  candidate: ComparedSide;
  ratio: number | null;
  /** If asked for: of both, from blocks of their own. */
  energy?: Energy;
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
  correctness: correctness && pick(correctness, 'maxAbsoluteError', 'tolerance', 'checksRun'),
  timing: timing && pick(timing, 'kind', 'medianNs', 'intervalNs'),
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

const SIDES = ['baseline', 'candidate'] as const;

const describeSide = ({ status, timing }: ComparedSide): string =>
  status === 'passed' && timing ? formatKindAndTime(timing) : status;

function describeRatio(kind: string, ratio: number): string {
  const [times, word] = ratio >= 1 ? [ratio.toFixed(3), 'faster'] : [(1 / ratio).toFixed(3), 'slower'];
  return times === '1.000' ? `${kind} as fast` : `${kind} ${times}× ${word}`;
}

/** Of a measured ratio the verdict comes first: the ratio alone says nothing. */
function describeRow({ ratio, verdict }: ComparedWorkload): string {
  if (ratio === null) return 'not compared';
  return verdict === undefined ? describeRatio('predicted', ratio) : `${verdict}: measured ${ratio.toFixed(3)}×`;
}

const describeCandidate = ({ label, id, parameters }: ComparedCandidate): string =>
  [label, `candidate ${id}`, formatParameters(parameters)].filter((part) => part !== '').join(', ');

const isRight = ({ workloads }: CompareView, side: (typeof SIDES)[number]): boolean =>
  workloads.every((row) => row[side].status === 'passed');

function correctness(view: CompareView): string {
  const wrong = SIDES.filter((side) => !isRight(view, side));
  return wrong.length === 0
    ? 'Both are right on every check.'
    : `Not every check is passed by the ${wrong.join(' and the ')}.`;
}

const reasons = ({ workloads }: CompareView): string[] =>
  workloads.flatMap((row) =>
    SIDES.filter((side) => row[side].status !== 'passed').map(
      (side) => `${row.workload}: the ${side} is ${row[side].status}: ${row[side].reason ?? 'no reason given'}`,
    ),
  );

function conclusion({ geometricMean, workloads, failOn, failing }: CompareView) {
  const asked = failOn === null ? 'No ratio for' : `--fail-on ${failOn} fails on`;
  const passes = failOn !== null && doc.good(`--fail-on ${failOn}: no workload fails it.`);
  return [
    geometricMean &&
      workloads.length > 1 &&
      `Geometric mean over ${workloads.length} workloads, weighted: ${describeRatio(geometricMean.kind, geometricMean.ratio)}.`,
    failing.length > 0 ? doc.bad(`${asked} ${failing.join(', ')}.`) : passes,
  ];
}

/** A comparison of two candidates. */
export const compareDocument = (view: CompareView): doc.Document =>
  doc.documentOf(
    `${view.problem} on ${view.device.name} (${view.device.id})`,
    [
      doc.list(SIDES.map((side) => ({ term: side, text: describeCandidate(view[side]) }))),
      doc.text(correctness(view)),
      view.journal && doc.text(journalLine(view.journal)),
    ],
    [
      doc.section('reasons', 'What did not pass', [doc.list(reasons(view))]),
      doc.section('workloads', 'Workloads', [
        doc.table('Workloads', view.workloads, [
          doc.words('workload', ({ workload }) => workload),
          doc.figures('baseline', ({ baseline }) => describeSide(baseline)),
          doc.figures('candidate', ({ candidate }) => describeSide(candidate)),
          doc.words('candidate is', describeRow),
          doc.words('95 % interval', ({ intervalRatio }) => formatRatioInterval(intervalRatio), 1),
          doc.figures('blocks', ({ blockCount }) => blockCount, 2),
        ]),
        doc.list(conclusion(view)),
      ]),
      energySection(view.workloads),
    ],
  );
