import type { Evaluation } from '../core/evaluation.ts';
import type { Finding } from '../core/finding.ts';
import type { ParameterValues } from '../core/kernel.ts';
import type { Verdict } from '../core/measurement.ts';
import type { SanitizerReport } from '../core/sanitizer-report.ts';
import type { EvaluationStatus } from '../core/status.ts';
import type { Timing } from '../core/timing.ts';
import type {
  AdviceEvent,
  Budgets,
  CandidateReference,
  ConfirmationEvent,
  DecisionEvent,
  EvaluationFinishedEvent,
  Goal,
  MoveAbandonedEvent,
  MoveProposedEvent,
  RecordedEvent,
  RunFinishedEvent,
  RunStartedEvent,
} from '../store/events.ts';
import { formatMove } from './format.ts';

/** A time as reports show it, with the evaluation it comes from. */
export interface TimeFigure {
  evaluationId: string;
  kind: Timing['kind'];
  medianNs: number;
  intervalNs: [low: number, high: number];
}

/**
 * What an evaluation was for. `judge`: to decide on, the only one where times are predicted; `screen`: a short
 * measurement, followed by `judge` where it looked worth it; `confirm`: a winner's on fresh blocks.
 */
export type Stage = 'judge' | 'screen' | 'confirm';

/** One row of the progression. Ratios are old time ÷ new time; `null` where there is no valid time. */
export interface ProgressionRow {
  iteration: number;
  evaluationId: string;
  /** `start`, or the one change against the best so far. */
  change: string;
  candidate: { id: string; kernel: string; parameters: ParameterValues };
  why: { pattern: string; finding: string; evidence: string; evaluationId: string } | null;
  status: EvaluationStatus;
  time: TimeFigure | null;
  bindingResource: string | null;
  stage: Stage;
  /** Measured: from the same blocks. */
  ratioToPreviousBest: number | null;
  /** Measured only: 95 % interval of `ratioToPreviousBest`. */
  intervalRatio: readonly [low: number, high: number] | null;
  /** Measured only: against the best so far; of a confirmation, against the start. */
  verdict: Verdict | null;
  /** Measured: medians of different blocks, so for orientation only. */
  ratioToStart: number | null;
  decision: 'keep' | 'revert' | null;
  reason: string;
}

/** What the best candidate changed against the start. */
export interface BestChanges {
  kernel: { from: string; to: string } | null;
  parameters: { name: string; from: number | null; to: number | null }[];
  /** Kept changes in the order they were made. */
  steps: { evaluationId: string; change: string; ratio: number | null }[];
}

/** The last word on a winner of a measured run, against the start on fresh blocks. */
export interface Confirmation {
  evaluationId: string;
  candidate: CandidateReference;
  /** Start's time ÷ winner's time. */
  ratio: number | null;
  intervalRatio: readonly [low: number, high: number] | null;
  verdict: Verdict | null;
  sanitizer: SanitizerReport['outcome'] | null;
  outcome: ConfirmationEvent['outcome'];
  reason: string;
}

/** Everything a run's report says. `report.json` is exactly this. */
export interface RunView {
  schemaVersion: 1;
  kind: 'run-report';
  runId: string;
  /** False when the log has no end: the run is still going, or died. */
  complete: boolean;
  tornLastLine: boolean;
  startedAt: string;
  finishedAt: string | null;
  problem: { name: string };
  workload: RunStartedEvent['workload'];
  device: RunStartedEvent['device'];
  seed: number;
  budgets: Budgets;
  evaluationsUsed: number;
  goal: Goal | null;
  environment: Readonly<Record<string, string>>;
  stop: { reason: RunFinishedEvent['stopReason']; detail: string } | null;
  start: (TimeFigure & { candidate: CandidateReference }) | null;
  best: (TimeFigure & { candidate: CandidateReference }) | null;
  /** Start's time ÷ best's time; measured ones as the confirmation measured them, `null` where there was none. */
  speedup: number | null;
  /** Measured only: in the order made; a refused winner gives way to the best before it. */
  confirmations: Confirmation[];
  bounds: { vetoNs: number; attainableNs: number } | null;
  progression: ProgressionRow[];
  changes: BestChanges | null;
  reverted: ProgressionRow[];
  abandoned: { moveKey: string; failureCount: number; reason: string }[];
  advice: { pattern: string; finding: string; evaluationId: string; text: string }[];
  findings: {
    before: { evaluationId: string; findings: Finding[] } | null;
    after: { evaluationId: string; findings: Finding[] } | null;
  };
}

type OfType<T extends RecordedEvent['type']> = Extract<RecordedEvent, { type: T }>;

function ofType<T extends RecordedEvent['type']>(events: readonly RecordedEvent[], type: T): OfType<T>[] {
  return events.filter((event): event is OfType<T> => event.type === type);
}

function timeFigure({ id, timing, status }: Evaluation): TimeFigure | null {
  if (status !== 'passed' || !timing) return null;
  return { evaluationId: id, kind: timing.kind, medianNs: timing.medianNs, intervalNs: timing.intervalNs };
}

const candidateOf = ({ candidate }: Evaluation): CandidateReference => ({
  id: candidate.id,
  kernel: candidate.kernel,
  parameters: candidate.parameters,
});

interface Joined {
  finished: EvaluationFinishedEvent;
  proposed: MoveProposedEvent | undefined;
  decided: DecisionEvent | undefined;
  confirmed: ConfirmationEvent | undefined;
}

function stageOf({ finished: { evaluation }, decided, confirmed }: Joined): Stage {
  if (confirmed) return 'confirm';
  const tier = evaluation.timing?.measurement?.conditions.tier;
  return tier === 'screen' && decided?.decision !== 'keep' ? 'screen' : 'judge';
}

/** Ratio, interval and verdict: as decided on, or as measured where nothing was decided. */
function comparisonOf({
  finished,
  decided,
  confirmed,
}: Joined): Pick<ProgressionRow, 'ratioToPreviousBest' | 'intervalRatio' | 'verdict'> {
  if (confirmed) return { ratioToPreviousBest: null, intervalRatio: null, verdict: confirmed.verdict };
  const measured = decided ?? finished.evaluation.comparisons?.[0];
  return {
    ratioToPreviousBest: measured?.ratio ?? null,
    intervalRatio: measured?.intervalRatio ?? null,
    verdict: measured?.verdict ?? null,
  };
}

/** What the row is about: a confirmation makes no change. */
function changeOf({ proposed, confirmed }: Joined): string {
  if (confirmed) return `confirm ${confirmed.candidate.kernel}`;
  return proposed ? formatMove(proposed.move) : 'start';
}

function progressionRow(joined: Joined, startNs: number | null): ProgressionRow {
  const { finished, proposed, decided, confirmed } = joined;
  const { evaluation, iteration } = finished;
  const time = timeFigure(evaluation);
  return {
    iteration,
    evaluationId: evaluation.id,
    change: changeOf(joined),
    candidate: candidateOf(evaluation),
    why:
      proposed && !confirmed
        ? {
            pattern: proposed.pattern.id,
            finding: proposed.finding.id,
            evidence: proposed.finding.evidence,
            evaluationId: proposed.finding.evaluationId,
          }
        : null,
    status: evaluation.status,
    time,
    bindingResource: evaluation.timing?.bindingResource ?? null,
    stage: stageOf(joined),
    ...comparisonOf(joined),
    ratioToStart: time && startNs !== null ? startNs / time.medianNs : null,
    decision: decided?.decision ?? null,
    reason: confirmed?.reason ?? decided?.reason ?? evaluation.reason ?? '',
  };
}

function joinByIteration(events: readonly RecordedEvent[]): Joined[] {
  const proposals = new Map(ofType(events, 'move-proposed').map((event) => [event.iteration, event]));
  const decisions = new Map(ofType(events, 'decision').map((event) => [event.evaluationId, event]));
  const confirmations = new Map(ofType(events, 'confirmation').map((event) => [event.evaluationId, event]));
  return ofType(events, 'evaluation-finished').map((finished) => ({
    finished,
    proposed: proposals.get(finished.iteration),
    decided: decisions.get(finished.evaluation.id),
    confirmed: confirmations.get(finished.evaluation.id),
  }));
}

function bestChanges(
  start: CandidateReference,
  best: CandidateReference,
  rows: readonly ProgressionRow[],
): BestChanges {
  const names = [...new Set([...Object.keys(start.parameters), ...Object.keys(best.parameters)])];
  return {
    kernel: start.kernel === best.kernel ? null : { from: start.kernel, to: best.kernel },
    parameters: names
      .map((name) => ({ name, from: start.parameters[name] ?? null, to: best.parameters[name] ?? null }))
      .filter(({ from, to }) => from !== to),
    steps: rows
      .filter(({ decision, why }) => decision === 'keep' && why)
      .map(({ evaluationId, change, ratioToPreviousBest }) => ({ evaluationId, change, ratio: ratioToPreviousBest })),
  };
}

const describeAdvice = ({ pattern, finding, text }: AdviceEvent) => ({
  pattern: pattern.id,
  finding: finding.id,
  evaluationId: finding.evaluationId,
  text,
});

const describeAbandoned = ({ moveKey, failureCount, reason }: MoveAbandonedEvent) => ({
  moveKey,
  failureCount,
  reason,
});

const describeConfirmation = (event: ConfirmationEvent): Confirmation => ({
  evaluationId: event.evaluationId,
  candidate: event.candidate,
  ratio: event.ratio,
  intervalRatio: event.intervalRatio,
  verdict: event.verdict,
  sanitizer: event.sanitizer,
  outcome: event.outcome,
  reason: event.reason,
});

/** The last candidate kept that no confirmation refused. */
function bestRow(rows: readonly ProgressionRow[], confirmations: readonly Confirmation[]): ProgressionRow | undefined {
  const refused = new Set(
    confirmations.filter(({ outcome }) => outcome === 'refused').map(({ candidate }) => candidate.id),
  );
  return rows.filter(({ decision, candidate }) => decision === 'keep' && !refused.has(candidate.id)).at(-1);
}

function speedupOf(start: TimeFigure | null, best: TimeFigure | null, confirmations: readonly Confirmation[]) {
  if (!start || !best || start.kind !== best.kind) return null;
  if (best.evaluationId === start.evaluationId) return 1;
  if (start.kind === 'predicted') return start.medianNs / best.medianNs;
  const last = confirmations.at(-1);
  return last && last.outcome !== 'refused' ? last.ratio : null;
}

/** Builds the one view model of a run from its events; terminal, Markdown and JSON reports show nothing else. */
export function buildRunView(runId: string, events: readonly RecordedEvent[], tornLastLine = false): RunView {
  const started = ofType(events, 'run-started')[0];
  if (!started) throw new Error(`the log of run ${runId} has no run-started event`);
  const finished = ofType(events, 'run-finished').at(-1);
  const joined = joinByIteration(events);
  const startEvaluation = joined.find(({ finished: { iteration } }) => iteration === 0)?.finished.evaluation;
  const startTime = startEvaluation ? timeFigure(startEvaluation) : null;
  const rows = joined.map((one) => progressionRow(one, startTime?.medianNs ?? null));
  const confirmations = ofType(events, 'confirmation').map(describeConfirmation);
  const bestId = bestRow(rows, confirmations)?.evaluationId;
  const bestEvaluation = joined.find(({ finished: { evaluation } }) => evaluation.id === bestId)?.finished.evaluation;
  const bestTime = bestEvaluation ? timeFigure(bestEvaluation) : null;
  return {
    schemaVersion: 1,
    kind: 'run-report',
    runId,
    complete: finished !== undefined,
    tornLastLine,
    startedAt: started.time,
    finishedAt: finished?.time ?? null,
    problem: { name: started.problem.name },
    workload: started.workload,
    device: started.device,
    seed: started.seed,
    budgets: started.budgets,
    evaluationsUsed: rows.length,
    goal: started.goal,
    environment: started.environment,
    stop: finished ? { reason: finished.stopReason, detail: finished.detail } : null,
    start: startEvaluation && startTime ? { ...startTime, candidate: candidateOf(startEvaluation) } : null,
    best: bestEvaluation && bestTime ? { ...bestTime, candidate: candidateOf(bestEvaluation) } : null,
    speedup: speedupOf(startTime, bestTime, confirmations),
    confirmations,
    bounds: startEvaluation?.timing
      ? { vetoNs: startEvaluation.timing.vetoNs, attainableNs: startEvaluation.timing.attainableNs }
      : null,
    progression: rows,
    changes: bestEvaluation ? bestChanges(started.start, candidateOf(bestEvaluation), rows) : null,
    reverted: rows.filter(({ decision }) => decision === 'revert'),
    abandoned: ofType(events, 'move-abandoned').map(describeAbandoned),
    advice: ofType(events, 'advice').map(describeAdvice),
    findings: {
      before: startEvaluation ? { evaluationId: startEvaluation.id, findings: startEvaluation.findings } : null,
      after: bestEvaluation ? { evaluationId: bestEvaluation.id, findings: bestEvaluation.findings } : null,
    },
  };
}
