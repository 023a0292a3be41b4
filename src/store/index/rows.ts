import { type Evaluation, isWrongWhenTimed } from '../../core/evaluation.ts';
import type { EvaluationStatus } from '../../core/status.ts';
import type { Timing } from '../../core/timing.ts';
import {
  type BudgetEvent,
  type DecisionEvent,
  type EvaluationFinishedEvent,
  type MoveProposedEvent,
  ofType,
  type RecordedEvent,
  type RunFinishedEvent,
  type RunStartedEvent,
  type StopReason,
} from '../events.ts';
import { standingDecisions } from '../standing-decisions.ts';
import { type TurnRow, turnRows } from './arm-turns.ts';

/** A run in the index. `null` if the log does not hold the value (yet). */
export interface RunRow {
  id: string;
  problem: string | null;
  workload: string | null;
  /** How many workloads the objective is about. */
  workloads: number;
  device: string | null;
  deviceId: string | null;
  /** The kind of its times. Comparisons stay within one kind. */
  kind: Timing['kind'] | null;
  strategy: string | null;
  seed: number | null;
  startedAt: string | null;
  /** Time of the last event. */
  lastAt: string | null;
  stopReason: StopReason | null;
  detail: string | null;
  evaluations: number;
  startKernel: string | null;
  /** Evaluation, candidate and kernel of the best so far. */
  best: string | null;
  bestCandidate: string | null;
  bestKernel: string | null;
  /** On the first workload. */
  startNs: number | null;
  bestNs: number | null;
  /** Start's time ÷ best's time; a measured one as confirmed. */
  speedup: number | null;
  /** Why the log can't be read. */
  error: string | null;
}

/** One evaluation of a run. */
export interface EvaluationRow {
  run: string;
  id: string;
  iteration: number;
  candidate: string;
  kernel: string;
  /** JSON. */
  parameters: string;
  workload: string;
  status: EvaluationStatus;
  kind: Timing['kind'] | null;
  medianNs: number | null;
  /** Of the time: 95 % of a measured one, the model's of a predicted one. */
  lowNs: number | null;
  highNs: number | null;
  compileMs: number;
  /** Verifying and timing. */
  runMs: number;
  decision: DecisionEvent['decision'] | null;
  ratio: number | null;
  /** Wall time of the run and money that were spent when its turn was over; `null` until then, and money without a price. */
  minutes: number | null;
  money: number | null;
}

/** A decided move of a run: the pattern's expectation and the result. */
export interface MoveRow {
  run: string;
  /** Number of the event that proposed it. */
  sequence: number;
  iteration: number;
  pattern: string;
  finding: string;
  /** Evaluation the finding is of. */
  findingEvaluation: string;
  /** Counters and thresholds of the finding, in one line. */
  evidence: string;
  /** What the move changes, as JSON. */
  change: string;
  expectedGain: number;
  confidence: number;
  candidate: string;
  evaluation: string;
  /** 1 if it was evaluated before and only repeated: no further attempt. */
  repeated: 0 | 1;
  status: EvaluationStatus;
  /** 1 if it was right when verified, and wrong when timed. */
  wrongWhenTimed: 0 | 1;
  decision: DecisionEvent['decision'];
  /** Time of the previous best ÷ time of this candidate; `null` if it has no valid time. */
  ratio: number | null;
  low: number | null;
  high: number | null;
  reason: string;
}

/** Everything the index holds of one run. */
export interface RunRows {
  run: RunRow;
  evaluations: EvaluationRow[];
  moves: MoveRow[];
  turns: TurnRow[];
}

/** The row of a run whose log can't be read. */
export const unreadableRun = (id: string, error: string): RunRows => ({
  run: { ...UNKNOWN, id, error },
  evaluations: [],
  moves: [],
  turns: [],
});

const UNKNOWN: Omit<RunRow, 'id'> = {
  problem: null,
  workload: null,
  workloads: 0,
  device: null,
  deviceId: null,
  kind: null,
  strategy: null,
  seed: null,
  startedAt: null,
  lastAt: null,
  stopReason: null,
  detail: null,
  evaluations: 0,
  startKernel: null,
  best: null,
  bestCandidate: null,
  bestKernel: null,
  startNs: null,
  bestNs: null,
  speedup: null,
  error: null,
};

/** A run's rows in the index, from its log. */
export function rowsOf(id: string, events: readonly RecordedEvent[]): RunRows {
  const started = ofType(events, 'run-started')[0];
  if (!started) return unreadableRun(id, 'it ended before it began');
  const evaluations = ofType(events, 'evaluation-finished');
  const decisions = new Map(ofType(events, 'decision').map((event) => [event.evaluationId, event]));
  const spent = spentAfter(events);
  return {
    run: runRow(id, started, events),
    evaluations: evaluations.map((event) =>
      evaluationRow(id, event, decisions.get(event.evaluation.id), spent.get(event.evaluation.id)),
    ),
    // What gained energy tells nothing of times, which is what later runs ask of moves.
    moves: started.minimised === 'energy' ? [] : moveRows(id, events),
    turns: turnRows(id, events),
  };
}

/** The account after the turn of each evaluation. */
function spentAfter(events: readonly RecordedEvent[]): ReadonlyMap<string, BudgetEvent> {
  const spent = new Map<string, BudgetEvent>();
  let open: string[] = [];
  for (const event of events) {
    if (event.type === 'evaluation-finished') open.push(event.evaluation.id);
    if (event.type !== 'budget') continue;
    for (const evaluation of open) spent.set(evaluation, event);
    open = [];
  }
  return spent;
}

const timingKind = ({ device }: RunStartedEvent): Timing['kind'] => (device.kind === 'cuda' ? 'measured' : 'predicted');

const medianNs = (event: EvaluationFinishedEvent | undefined): number | null =>
  event?.evaluation.status === 'passed' ? (event.evaluation.timing?.medianNs ?? null) : null;

function runRow(id: string, started: RecordedEvent<'run-started'>, events: readonly RecordedEvent[]): RunRow {
  const evaluations = ofType(events, 'evaluation-finished');
  const finished = ofType(events, 'run-finished').at(-1);
  const best = finished ? finished.best : (standingDecisions(events).at(-1)?.evaluationId ?? null);
  const bestEvaluation = evaluations.find(({ evaluation }) => evaluation.id === best);
  return {
    id,
    problem: started.problem.name,
    workload: started.workload.name,
    workloads: started.workloads.length,
    device: started.device.name,
    deviceId: started.device.id,
    kind: timingKind(started),
    strategy: started.strategy,
    seed: started.seed,
    startedAt: started.time,
    lastAt: events.at(-1)!.time,
    stopReason: finished?.stopReason ?? null,
    detail: finished?.detail ?? null,
    evaluations: evaluations.length,
    startKernel: started.start.kernel,
    best,
    bestCandidate: bestEvaluation?.evaluation.candidate.id ?? null,
    bestKernel: bestEvaluation?.evaluation.candidate.kernel ?? null,
    startNs: medianNs(evaluations[0]),
    bestNs: medianNs(bestEvaluation),
    speedup: speedup(finished, started, events),
    error: null,
  };
}

/** A predicted speed-up is known during the run, a measured one only after confirmation. */
function speedup(
  finished: RunFinishedEvent | undefined,
  started: RunStartedEvent,
  events: readonly RecordedEvent[],
): number | null {
  if (finished) return finished.speedup;
  const kept = ofType(events, 'decision').filter(({ decision }) => decision === 'keep');
  if (kept.length === 0 || timingKind(started) === 'measured') return null;
  return kept.reduce((product, { ratio }) => product * (ratio ?? 1), 1);
}

function evaluationRow(
  run: string,
  { iteration, evaluation }: EvaluationFinishedEvent,
  decision: DecisionEvent | undefined,
  spent: BudgetEvent | undefined,
): EvaluationRow {
  const { candidate, elapsedMs } = evaluation;
  const timing = evaluation.status === 'passed' ? evaluation.timing : undefined;
  return {
    run,
    id: evaluation.id,
    iteration,
    candidate: candidate.id,
    kernel: candidate.kernel,
    parameters: JSON.stringify(candidate.parameters),
    workload: evaluation.workload.name,
    status: evaluation.status,
    kind: evaluation.timing?.kind ?? null,
    medianNs: timing?.medianNs ?? null,
    lowNs: timing?.intervalNs[0] ?? null,
    highNs: timing?.intervalNs[1] ?? null,
    compileMs: elapsedMs.compile,
    runMs: elapsedMs.verify + elapsedMs.time,
    decision: decision?.decision ?? null,
    ratio: decision?.ratio ?? null,
    minutes: spent?.minutesUsed ?? null,
    money: spent?.ledger.money ?? null,
  };
}

/**
 * A decision applies to the move of its iteration; several may be judged at a time. A change that a confirmation refused counts as reverted, without a gain.
 */
function moveRows(run: string, events: readonly RecordedEvent[]): MoveRow[] {
  const rows: MoveRow[] = [];
  const standing = new Set(standingDecisions(events).map(({ evaluationId }) => evaluationId));
  const known = new Map<string, Evaluation>();
  const moves = new Map<number, MoveProposedEvent & { sequence: number }>();
  for (const event of events) {
    if (event.type === 'evaluation-finished') known.set(event.evaluation.id, event.evaluation);
    if (event.type === 'move-proposed') moves.set(event.iteration, event);
    if (event.type !== 'decision') continue;
    const proposed = moves.get(event.iteration);
    if (!proposed) continue;
    const evaluation = known.get(event.evaluationId);
    const isTakenBack = event.decision === 'keep' && !standing.has(event.evaluationId);
    const decision = isTakenBack ? { ...event, ...TAKEN_BACK } : event;
    if (evaluation) rows.push(moveRow(run, proposed, decision, evaluation));
  }
  return rows;
}

const TAKEN_BACK = { decision: 'revert', reason: 'kept, but refused when it was confirmed' } as const;

const moveRow = (
  run: string,
  proposed: MoveProposedEvent & { sequence: number },
  decision: DecisionEvent,
  evaluation: Evaluation,
): MoveRow => ({
  run,
  sequence: proposed.sequence,
  iteration: proposed.iteration,
  pattern: proposed.pattern.id,
  finding: proposed.finding.id,
  findingEvaluation: proposed.finding.evaluationId,
  evidence: proposed.finding.evidence,
  change: JSON.stringify(proposed.move),
  expectedGain: proposed.expectedGain,
  confidence: proposed.confidence,
  candidate: proposed.candidate.id,
  evaluation: decision.evaluationId,
  repeated: evaluation.repeated ? 1 : 0,
  status: evaluation.status,
  wrongWhenTimed: isWrongWhenTimed(evaluation) ? 1 : 0,
  decision: decision.decision,
  ratio: decision.ratio,
  low: decision.intervalRatio?.[0] ?? null,
  high: decision.intervalRatio?.[1] ?? null,
  reason: decision.reason,
});
