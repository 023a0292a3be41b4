import type { Evaluation } from '../../core/evaluation.ts';
import { pick } from '../../core/pick.ts';
import type { EvaluationStatus } from '../../core/status.ts';
import type { Timing } from '../../core/timing.ts';
import type { Verdict } from '../../core/vocabulary.ts';
import {
  type AblationEvent,
  type CandidateReference,
  type ConfirmationEvent,
  type DecisionEvent,
  type EvaluationFinishedEvent,
  type MoveProposedEvent,
  ofType,
  type RecordedEvent,
  type WorkloadRatio,
} from '../../store/events.ts';
import { formatMove } from '../format.ts';
import { energyFigure, type RowEnergy } from './minimised-energy.ts';

/** A time as reports show it, with the evaluation it comes from. */
export interface TimeFigure extends Pick<Timing, 'kind' | 'medianNs' | 'intervalNs'> {
  evaluationId: string;
}

/**
 * What an evaluation was for. `judge`: to decide on, the only one where times are predicted; `screen`: a short
 * measurement, followed by `judge` where it looked worth it; `confirm`: a winner's on fresh blocks; `ablation`: the
 * winner's with one change undone; `workload-advice`: the winner's on another workload, to see how it fills the device.
 */
export type Stage = 'judge' | 'screen' | 'confirm' | 'ablation' | 'workload-advice';

/** One row of the progression. Ratios are old time ÷ new time; `null` where there is no valid time. */
export interface ProgressionRow {
  iteration: number;
  evaluationId: string;
  /** `start`, or the one change against the best so far. */
  change: string;
  candidate: CandidateReference;
  workload: string;
  why: { pattern: string; finding: string; evidence: string; evaluationId: string } | null;
  status: EvaluationStatus;
  time: TimeFigure | null;
  bindingResource: string | null;
  stage: Stage;
  /** Measured: from the same blocks. Several workloads: their weighted geometric mean, on the row that was decided. */
  ratioToPreviousBest: number | null;
  /** Measured only: 95 % interval of `ratioToPreviousBest`. */
  intervalRatio: readonly [low: number, high: number] | null;
  /** Measured only: against the best so far; of a confirmation, against the start. */
  verdict: Verdict | null;
  /** Runs that minimise energy, where it was measured. With several workloads the ratio is as for times. */
  energy?: RowEnergy;
  /** On the run's first workload. Measured: medians of different blocks, so for orientation only. */
  ratioToStart: number | null;
  decision: 'keep' | 'revert' | null;
  /** Runs over several workloads: what each said of the decision. */
  perWorkload: WorkloadRatio[];
  reason: string;
}

/** An evaluation with the log's events about it. */
export interface Joined {
  finished: EvaluationFinishedEvent;
  proposed: MoveProposedEvent | undefined;
  decided: DecisionEvent | undefined;
  confirmed: ConfirmationEvent | undefined;
  ablated: AblationEvent | undefined;
  /** It was made for workload advice only. */
  advises: boolean;
}

/** The time of an evaluation that passed. */
export function timeFigure({ id, timing, status }: Evaluation): TimeFigure | null {
  if (status !== 'passed' || !timing) return null;
  return { evaluationId: id, ...pick(timing, 'kind', 'medianNs', 'intervalNs') };
}

export const candidateOf = ({ candidate }: Evaluation): CandidateReference =>
  pick(candidate, 'id', 'kernel', 'parameters');

/** Evaluation id → the event about it, including evaluations on further workloads. */
function byEvaluation<E extends DecisionEvent | ConfirmationEvent>(events: readonly E[]): Map<string, E> {
  return new Map(
    events.flatMap((event) =>
      [event.evaluationId, ...(event.perWorkload ?? []).map(({ evaluationId }) => evaluationId)].map(
        (id): [string, E] => [id, event],
      ),
    ),
  );
}

/** Joins the log's events about each evaluation, in the order in which the evaluations finished. */
export function joinEvaluations(events: readonly RecordedEvent[]): Joined[] {
  const proposals = new Map(ofType(events, 'move-proposed').map((event) => [event.iteration, event]));
  const decisions = byEvaluation(ofType(events, 'decision'));
  const confirmations = byEvaluation(ofType(events, 'confirmation'));
  const ablations = new Map(ofType(events, 'ablation').map((event) => [event.evaluationId, event]));
  const advising = new Set(
    ofType(events, 'workload-advice').flatMap(({ rows }) => rows.map(({ evaluationId }) => evaluationId)),
  );
  return ofType(events, 'evaluation-finished').map((finished) => {
    const { id, candidate } = finished.evaluation;
    const decided = decisions.get(id);
    // An ablated candidate that turned out faster was decided on in a move of its own.
    const proposed = proposals.get(decided?.iteration ?? finished.iteration);
    // Ablation and advice come after the last move's iteration; they may also cite an evaluation made for a move.
    const isOfMove = decided !== undefined || proposed?.candidate.id === candidate.id;
    return {
      finished,
      proposed,
      decided,
      confirmed: confirmations.get(id),
      ablated: isOfMove ? undefined : ablations.get(id),
      advises: !isOfMove && advising.has(id),
    };
  });
}

/**
 * A search that asks no findings has only its winner profiled, with the confirmation. What that shows is told of the evaluation that was kept, too.
 */
export function withConfirmedProfiles(joined: readonly Joined[]): Joined[] {
  const profiled = new Map(
    joined.flatMap(({ confirmed, finished: { evaluation } }) =>
      confirmed && evaluation.countersSource ? [[evaluation.candidate.id, evaluation] as const] : [],
    ),
  );
  return joined.map((one) => {
    const { evaluation } = one.finished;
    const found = profiled.get(evaluation.candidate.id);
    if (!found || evaluation.countersSource || one.decided?.decision !== 'keep') return one;
    const { counters, countersSource, profile, findings, hiddenFindings } = found;
    const explained = { ...evaluation, counters, countersSource, profile, findings, hiddenFindings };
    return { ...one, finished: { ...one.finished, evaluation: explained } };
  });
}

function stageOf({ finished: { evaluation }, decided, confirmed, ablated, advises }: Joined): Stage {
  if (confirmed) return 'confirm';
  if (ablated) return 'ablation';
  if (advises) return 'workload-advice';
  const tier = evaluation.timing?.measurement?.conditions.tier;
  return tier === 'screen' && decided?.decision !== 'keep' ? 'screen' : 'judge';
}

type Comparison = Pick<ProgressionRow, 'ratioToPreviousBest' | 'intervalRatio' | 'verdict'>;

const NOT_COMPARED: Comparison = { ratioToPreviousBest: null, intervalRatio: null, verdict: null };

/** Ratio, interval and verdict: as decided on, or as measured where nothing was decided. */
function comparisonOf({ finished, decided, confirmed, ablated, advises }: Joined): Comparison {
  if (confirmed) return { ...NOT_COMPARED, verdict: confirmed.verdict };
  if (ablated || advises) return NOT_COMPARED;
  const { id, comparisons } = finished.evaluation;
  const ofWorkload =
    decided && decided.evaluationId !== id && decided.perWorkload?.find((one) => one.evaluationId === id);
  const measured = ofWorkload ? { ...ofWorkload, verdict: null } : (decided ?? comparisons?.[0]);
  return {
    ratioToPreviousBest: measured?.ratio ?? null,
    intervalRatio: measured?.intervalRatio ?? null,
    verdict: measured?.verdict ?? null,
  };
}

export const describeUndone = (undone: AblationEvent['undone']): string =>
  undone.kind === 'rung' ? `${undone.from} → ${undone.to}` : `${undone.parameter} ${undone.from} → ${undone.to}`;

/** The change of the row in words. A confirmation makes no change. */
function changeOf({ finished: { evaluation }, proposed, confirmed, ablated, advises }: Joined): string {
  if (confirmed) return `confirm ${confirmed.candidate.kernel}`;
  if (ablated) return `undo ${describeUndone(ablated.undone)}`;
  if (advises) return `best on ${evaluation.workload.name}`;
  return proposed ? formatMove(proposed.move) : 'start';
}

function whyOf({ proposed, confirmed, ablated, advises }: Joined): ProgressionRow['why'] {
  if (!proposed || confirmed || ablated || advises) return null;
  const { pattern, finding } = proposed;
  return { pattern: pattern.id, finding: finding.id, evidence: finding.evidence, evaluationId: finding.evaluationId };
}

/** Only what was decided on has a ratio to the best before it. */
function rowEnergy({ finished, decided }: Joined, isMinimised: boolean): Pick<ProgressionRow, 'energy'> {
  const own = isMinimised ? energyFigure(finished.evaluation) : null;
  if (!own) return {};
  const compared = decided?.evaluationId === finished.evaluation.id ? decided.energy : undefined;
  return { energy: { joules: own.joules, compared } };
}

/** Rows of the progression; `startNs` is the start's time on the first workload. `isMinimised`: the run minimises energy. */
export function progressionRow(
  joined: Joined,
  first: { workload: string; startNs: number | null },
  isMinimised = false,
): ProgressionRow {
  const { finished, decided, confirmed, ablated } = joined;
  const { evaluation, iteration } = finished;
  const time = timeFigure(evaluation);
  const isDecided = decided?.evaluationId === evaluation.id;
  const isOnFirst = evaluation.workload.name === first.workload;
  return {
    iteration,
    evaluationId: evaluation.id,
    change: changeOf(joined),
    candidate: candidateOf(evaluation),
    workload: evaluation.workload.name,
    why: whyOf(joined),
    status: evaluation.status,
    time,
    bindingResource: evaluation.timing?.bindingResource ?? null,
    stage: stageOf(joined),
    ...comparisonOf(joined),
    ...rowEnergy(joined, isMinimised),
    ratioToStart: time && isOnFirst && first.startNs !== null ? first.startNs / time.medianNs : null,
    decision: isDecided ? decided.decision : null,
    perWorkload: isDecided ? (decided.perWorkload ?? []) : [],
    reason: confirmed?.reason ?? (isDecided ? decided.reason : undefined) ?? ablated?.reason ?? evaluation.reason ?? '',
  };
}
