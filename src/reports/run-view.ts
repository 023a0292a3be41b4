import type { Evaluation } from '../core/evaluation.ts';
import type { Finding } from '../core/finding.ts';
import type { ParameterValues } from '../core/kernel.ts';
import type { EvaluationStatus } from '../core/status.ts';
import type { Timing } from '../core/timing.ts';
import type {
  AdviceEvent,
  Budgets,
  CandidateReference,
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
  ratioToPreviousBest: number | null;
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
  /** Start's time ÷ best's time. */
  speedup: number | null;
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
}

function progressionRow({ finished, proposed, decided }: Joined, startNs: number | null): ProgressionRow {
  const { evaluation, iteration } = finished;
  const time = timeFigure(evaluation);
  return {
    iteration,
    evaluationId: evaluation.id,
    change: proposed ? formatMove(proposed.move) : 'start',
    candidate: candidateOf(evaluation),
    why: proposed
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
    ratioToPreviousBest: decided?.ratio ?? null,
    ratioToStart: time && startNs !== null ? startNs / time.medianNs : null,
    decision: decided?.decision ?? null,
    reason: decided?.reason ?? evaluation.reason ?? '',
  };
}

function joinByIteration(events: readonly RecordedEvent[]): Joined[] {
  const proposals = new Map(ofType(events, 'move-proposed').map((event) => [event.iteration, event]));
  const decisions = new Map(ofType(events, 'decision').map((event) => [event.evaluationId, event]));
  return ofType(events, 'evaluation-finished').map((finished) => ({
    finished,
    proposed: proposals.get(finished.iteration),
    decided: decisions.get(finished.evaluation.id),
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

/** Builds the one view model of a run from its events; terminal, Markdown and JSON reports show nothing else. */
export function buildRunView(runId: string, events: readonly RecordedEvent[], tornLastLine = false): RunView {
  const started = ofType(events, 'run-started')[0];
  if (!started) throw new Error(`the log of run ${runId} has no run-started event`);
  const finished = ofType(events, 'run-finished').at(-1);
  const joined = joinByIteration(events);
  const startEvaluation = joined.find(({ finished: { iteration } }) => iteration === 0)?.finished.evaluation;
  const startTime = startEvaluation ? timeFigure(startEvaluation) : null;
  const rows = joined.map((one) => progressionRow(one, startTime?.medianNs ?? null));
  const bestId = rows.filter(({ decision }) => decision === 'keep').at(-1)?.evaluationId;
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
    speedup: startTime && bestTime ? startTime.medianNs / bestTime.medianNs : null,
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
