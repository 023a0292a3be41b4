import type { DeviceIdentity } from '../core/device.ts';
import type { DeviceSpec } from '../core/device-spec.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { Evaluation, Evaluator } from '../core/evaluation.ts';
import type { Candidate, Kernel } from '../core/kernel.ts';
import type { Problem, Workload } from '../core/problem.ts';
import type { Pattern } from '../diagnosis/pattern.ts';
import type { Budgets, CandidateReference, EventSink, Goal, StopReason } from '../store/events.ts';
import { type Budget, createBudget } from './budget.ts';
import { decide, describeRatio, isTimed, type TimedEvaluation } from './decision.ts';
import { refuseGoalBelowBound, type VetoBound } from './goal.ts';
import { createMoveLedger, type MoveLedger } from './move-ledger.ts';
import { type ProposedMove, proposeMoves } from './propose-moves.ts';
import { reasonToStop, type Stop } from './stopping.ts';
import { untilAborted } from './until-aborted.ts';

/** Everything a run needs; nothing is looked up elsewhere. */
export interface OptimizeOptions {
  problem: Problem;
  workload: Workload;
  device: DeviceIdentity;
  spec: DeviceSpec;
  start: Candidate;
  /** Every rung of the problem, in ladder order. */
  rungs: readonly Kernel[];
  evaluator: Evaluator;
  patterns: readonly Pattern[];
  seed: number;
  budgets: Budgets;
  goal?: Goal;
  /** Provable lower bound for this workload; goals below it are refused. */
  vetoBound: VetoBound;
  emit: EventSink;
  /** Stores a candidate's sources and returns file → content hash, for the log. */
  storeSources?: (candidate: Candidate) => Readonly<Record<string, string>>;
  /** Called whenever there is a new best, the start included, so that it outlives whatever happens next. */
  onBest?: (best: Best) => void;
  environment?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
  /** Monotonic clock in milliseconds. */
  clockMs?: () => number;
}

/** The fastest candidate so far. */
export interface Best {
  candidate: Candidate;
  evaluation: TimedEvaluation;
}

export interface RunResult {
  stopReason: StopReason;
  detail: string;
  /** The start's evaluation, whatever its status; absent when interrupted before it ended. */
  start?: Evaluation;
  best?: Best;
  /** Start's time ÷ best's time, both of one kind. */
  speedup?: number;
  evaluationsUsed: number;
}

/** State of one run. `phase` says what happens next; each phase is one function of {@link PHASES}. */
interface Run {
  readonly options: OptimizeOptions;
  readonly budget: Budget;
  readonly ledger: MoveLedger;
  iteration: number;
  start?: Evaluation;
  best?: Best;
  move?: ProposedMove;
  candidate?: Evaluation;
  readonly advised: Set<string>;
  deviceFailures: number;
  stop?: Stop;
}

type Phase = 'baseline' | 'propose' | 'evaluate' | 'decide' | 'finished';

/** Device failures in a row after which the device is given up; they are never held against a candidate. */
const DEVICE_FAILURES_BEFORE_STOPPING = 2;

const reference = (candidate: Candidate): CandidateReference => ({
  id: candidate.id,
  kernel: candidate.kernel.file.name,
  parameters: candidate.parameters,
});

function finish(run: Run, reason: StopReason, detail: string): Phase {
  run.stop = { reason, detail };
  return 'finished';
}

const interrupted = (run: Run): Phase => finish(run, 'interrupted', 'stopped by the user; the best so far is kept');

/** Judges a candidate and logs it. Undefined when the user interrupted. */
async function evaluateOnce(run: Run, candidate: Candidate): Promise<Evaluation | undefined> {
  const { options, budget } = run;
  if (options.signal?.aborted) return undefined;
  const id = `e${budget.evaluationsUsed + 1}`;
  let evaluation: Evaluation;
  try {
    const work = options.evaluator.evaluate({
      problem: options.problem,
      candidate,
      workload: options.workload,
      seed: options.seed,
      id,
      ...(options.signal ? { signal: options.signal } : {}),
    });
    evaluation = await untilAborted(work, options.signal);
  } catch (error) {
    if (options.signal?.aborted) return undefined;
    throw error;
  }
  budget.spendEvaluation();
  if (evaluation.status !== 'device-failed') run.ledger.noteEvaluated(candidate.id);
  options.emit({
    type: 'evaluation-finished',
    iteration: run.iteration,
    evaluation,
    sources: options.storeSources?.(candidate) ?? {},
  });
  return evaluation;
}

function emitBudget(run: Run): void {
  const { limits, evaluationsUsed } = run.budget;
  const minutesUsed = run.budget.minutesUsed();
  run.options.emit({
    type: 'budget',
    iteration: run.iteration,
    evaluationsUsed,
    evaluationsLeft: limits.maximumEvaluations === null ? null : limits.maximumEvaluations - evaluationsUsed,
    minutesUsed,
    minutesLeft: limits.maximumMinutes === null ? null : Math.max(0, limits.maximumMinutes - minutesUsed),
  });
}

/** What to do after the best changed: stop, or look for the next move. */
function afterNewBest(run: Run, best: Best): Phase {
  run.best = best;
  run.options.onBest?.(best);
  const startNs = isTimed(run.start!) ? run.start.timing.medianNs : Number.NaN;
  const stop = reasonToStop(best.evaluation.timing, startNs, run.options.goal);
  return stop ? finish(run, stop.reason, stop.detail) : 'propose';
}

async function baseline(run: Run): Promise<Phase> {
  const { options } = run;
  const spent = run.budget.spent();
  if (spent) return finish(run, spent, 'the budget does not allow a single evaluation');
  const evaluation = await evaluateOnce(run, options.start);
  if (!evaluation) return interrupted(run);
  run.start = evaluation;
  if (!isTimed(evaluation)) {
    emitBudget(run);
    const reason = evaluation.status === 'device-failed' ? 'device-failed' : 'start-failed';
    return finish(run, reason, `the start is ${evaluation.status}: ${evaluation.reason ?? 'no reason given'}`);
  }
  options.emit({
    type: 'decision',
    iteration: run.iteration,
    evaluationId: evaluation.id,
    decision: 'keep',
    comparedWith: null,
    ratio: null,
    reason: 'the start, which everything is compared with',
  });
  emitBudget(run);
  if (options.goal) refuseGoalBelowBound(options.goal, options.vetoBound, evaluation.timing.medianNs);
  return afterNewBest(run, { candidate: options.start, evaluation });
}

async function propose(run: Run): Promise<Phase> {
  if (run.options.signal?.aborted) return interrupted(run);
  const best = run.best!;
  const { moves, advice } = proposeMoves({
    dimensions: run.options.workload.dimensions,
    rungs: run.options.rungs,
    patterns: run.options.patterns,
    spec: run.options.spec,
    best,
  });
  for (const item of advice) {
    const key = `${item.pattern.id}: ${item.text}`;
    if (run.advised.has(key)) continue;
    run.advised.add(key);
    run.options.emit({ type: 'advice', iteration: run.iteration, ...item });
  }
  const move = moves.find((candidate) => run.ledger.isOpen(candidate));
  if (!move)
    return finish(run, 'no-moves-left', 'every move that a finding of the best candidate suggests has been tried');
  const spent = run.budget.spent();
  if (spent) return finish(run, spent, describeSpent(run, spent));
  run.iteration += 1;
  run.move = move;
  run.options.emit({
    type: 'move-proposed',
    iteration: run.iteration,
    moveKey: move.key,
    pattern: move.pattern,
    finding: { ...move.finding, evaluationId: best.evaluation.id },
    move: move.change,
    candidate: reference(move.candidate),
    expectedGain: move.expectedGain,
    confidence: move.confidence,
    reason: move.reason,
  });
  return 'evaluate';
}

function describeSpent(run: Run, spent: 'evaluations-spent' | 'time-spent'): string {
  const { limits, evaluationsUsed } = run.budget;
  return spent === 'evaluations-spent'
    ? `${evaluationsUsed} of ${limits.maximumEvaluations} evaluations used`
    : `${run.budget.minutesUsed().toFixed(1)} of ${limits.maximumMinutes} minutes used`;
}

async function evaluate(run: Run): Promise<Phase> {
  const evaluation = await evaluateOnce(run, run.move!.candidate);
  if (!evaluation) return interrupted(run);
  run.candidate = evaluation;
  return 'decide';
}

async function decidePhase(run: Run): Promise<Phase> {
  const { options, ledger } = run;
  const best = run.best!;
  const move = run.move!;
  const evaluation = run.candidate!;
  const decision = decide(best.evaluation, evaluation);
  options.emit({
    type: 'decision',
    iteration: run.iteration,
    evaluationId: evaluation.id,
    comparedWith: best.evaluation.id,
    ...decision,
  });
  if (evaluation.status === 'device-failed') return afterDeviceFailure(run, evaluation);
  run.deviceFailures = 0;
  if (decision.decision === 'keep' && isTimed(evaluation)) {
    ledger.noteKept(move.key);
    emitBudget(run);
    return afterNewBest(run, { candidate: move.candidate, evaluation });
  }
  const { failureCount, abandoned } = ledger.noteFailed(move.key);
  if (abandoned) {
    options.emit({
      type: 'move-abandoned',
      iteration: run.iteration,
      moveKey: move.key,
      failureCount,
      reason: `${failureCount} attempts in a row did not help; last: ${decision.reason}`,
    });
  }
  emitBudget(run);
  return 'propose';
}

function afterDeviceFailure(run: Run, evaluation: Evaluation): Phase {
  run.deviceFailures += 1;
  emitBudget(run);
  if (run.deviceFailures < DEVICE_FAILURES_BEFORE_STOPPING) return 'propose';
  return finish(run, 'device-failed', `the device failed twice in a row: ${evaluation.reason ?? 'no reason given'}`);
}

const PHASES: Readonly<Record<Exclude<Phase, 'finished'>, (run: Run) => Promise<Phase>>> = {
  baseline,
  propose,
  evaluate,
  decide: decidePhase,
};

function resultOf(run: Run): RunResult {
  const { start, best } = run;
  const stop = run.stop!;
  const speedup = start && isTimed(start) && best ? start.timing.medianNs / best.evaluation.timing.medianNs : undefined;
  return {
    stopReason: stop.reason,
    detail: stop.detail,
    evaluationsUsed: run.budget.evaluationsUsed,
    ...(start ? { start } : {}),
    ...(best ? { best } : {}),
    ...(speedup === undefined ? {} : { speedup }),
  };
}

function describeBest({ start, best, speedup }: RunResult): string {
  if (!best || speedup === undefined) return '';
  const { id, timing } = best.evaluation;
  if (id === start?.id) return '; no change was kept';
  return `; best ${id}, ${describeRatio(timing.kind, speedup)} than the start`;
}

function announceEnd(run: Run, result: RunResult): void {
  const described = describeBest(result);
  run.options.emit({
    type: 'run-finished',
    stopReason: result.stopReason,
    detail: `${result.detail}${described}`,
    best: result.best?.evaluation.id ?? null,
    speedup: result.speedup ?? null,
  });
}

/**
 * Searches for a faster kernel: judges the start, then makes one change per iteration that a finding of the best
 * candidate suggests, keeps it if it is at least 3 % faster, and stops with a named reason.
 *
 * The same options and seed give the same events, apart from times. Interrupting through `signal` is not an error: the
 * run ends as `interrupted` with the best so far.
 *
 * @throws WarpsmithError `goal-below-bound` when the goal is below the provable bound.
 */
export async function optimize(options: OptimizeOptions): Promise<RunResult> {
  if (options.goal) refuseGoalBelowBound(options.goal, options.vetoBound);
  const run: Run = {
    options,
    budget: createBudget(options.budgets, options.clockMs ?? (() => performance.now())),
    ledger: createMoveLedger(),
    iteration: 0,
    advised: new Set(),
    deviceFailures: 0,
  };
  options.emit({
    type: 'run-started',
    problem: { name: options.problem.file.name, folder: options.problem.folder },
    start: reference(options.start),
    workload: options.workload,
    device: options.device,
    seed: options.seed,
    budgets: options.budgets,
    goal: options.goal ?? null,
    environment: options.environment ?? {},
  });
  let phase: Phase = 'baseline';
  try {
    while (phase !== 'finished') phase = await PHASES[phase](run);
  } catch (error) {
    options.emit({
      type: 'run-finished',
      stopReason:
        error instanceof WarpsmithError && error.details.code === 'goal-below-bound' ? 'goal-refused' : 'failed',
      detail: error instanceof Error ? error.message : String(error),
      best: run.best?.evaluation.id ?? null,
      speedup: null,
    });
    throw error;
  }
  const result = resultOf(run);
  announceEnd(run, result);
  return result;
}
