import { WarpsmithError } from '../core/errors.ts';
import type { Evaluation, EvaluationRequest } from '../core/evaluation.ts';
import type { ConfirmationEvent, StopReason } from '../store/events.ts';
import { createBudget } from './budget.ts';
import { confirmBest, isConfirmed } from './confirm.ts';
import { decide, describeRatio, isTimed, isWorthAccepting } from './decision.ts';
import { exploreMoves } from './explore-moves.ts';
import { refuseGoalBelowBound } from './goal.ts';
import { createMoveLedger } from './move-ledger.ts';
import { type ProposedMove, proposeMoves } from './propose-moves.ts';
import { type Best, evaluateOnce, type OptimizeOptions, type Run, reference } from './run.ts';
import { reasonToStop } from './stopping.ts';

export type { Best, OptimizeOptions } from './run.ts';

export interface RunResult {
  stopReason: StopReason;
  detail: string;
  /** The start's evaluation, whatever its status; absent when interrupted before it ended. */
  start?: Evaluation;
  best?: Best;
  /** Start's time ÷ best's time, both of one kind; of measured runs, as the confirmation measured it. */
  speedup?: number;
  /** Measured runs that found something: how the winner was confirmed. */
  confirmation?: ConfirmationEvent;
  evaluationsUsed: number;
}

type Phase = 'baseline' | 'propose' | 'evaluate' | 'accept' | 'decide' | 'confirm' | 'finished';

/** Device failures in a row after which the device is given up; they are never held against a candidate. */
const DEVICE_FAILURES_BEFORE_STOPPING = 2;

function finish(run: Run, reason: StopReason, detail: string): Phase {
  run.stop = { reason, detail };
  return 'confirm';
}

const interrupted = (run: Run): Phase => finish(run, 'interrupted', 'stopped by the user; the best so far is kept');

function emitBudget(run: Run): void {
  const { limits, evaluationsUsed } = run.budget;
  const minutesUsed = run.budget.minutesUsed();
  run.options.emit({
    type: 'budget',
    iteration: run.iteration,
    evaluationsUsed,
    evaluationsLeft:
      limits.maximumEvaluations === null ? null : Math.max(0, limits.maximumEvaluations - evaluationsUsed),
    minutesUsed,
    minutesLeft: limits.maximumMinutes === null ? null : Math.max(0, limits.maximumMinutes - minutesUsed),
  });
}

/** What to do after the best changed: stop, or look for the next move. */
function afterNewBest(run: Run, best: Best): Phase {
  run.best = best;
  run.bests.push(best);
  run.options.onBest?.(best);
  const startNs = isTimed(run.start!) ? run.start.timing.medianNs : Number.NaN;
  const stop = reasonToStop(best.evaluation.timing, startNs, run.options.goal);
  return stop ? finish(run, stop.reason, stop.detail) : 'propose';
}

async function baseline(run: Run): Promise<Phase> {
  const { options } = run;
  const spent = run.budget.spent();
  if (spent) return finish(run, spent, 'the budget does not allow a single evaluation');
  const evaluation = await evaluateOnce(run, options.start, { tier: 'accept', profile: 'light' });
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
  const open = openMoves(run, moves);
  const [move] = open;
  if (!move) return finish(run, 'no-moves-left', describeNoMoves(run));
  const spent = run.budget.spent();
  if (spent) return finish(run, spent, describeSpent(run, spent));
  run.iteration += 1;
  run.move = move;
  run.options.evaluator.prepare?.(open.slice(1, 1 + PREPARED_AHEAD).map(({ candidate }) => candidate));
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

/** Candidates of the next moves that are compiled while one is measured. */
const PREPARED_AHEAD = 6;

/** What may still be tried, most promising first; where times are measured, then every setting near the best. */
function openMoves(run: Run, suggested: readonly ProposedMove[]): ProposedMove[] {
  const best = run.best!;
  const others = best.evaluation.timing.kind === 'measured' ? exploreMoves(best, run.options.workload.dimensions) : [];
  const seen = new Set<string>();
  return [...suggested, ...others].filter((move) => {
    const isNew = !seen.has(move.candidate.id);
    seen.add(move.candidate.id);
    return isNew && run.ledger.isOpen(move);
  });
}

const describeNoMoves = (run: Run): string =>
  run.best!.evaluation.timing.kind === 'measured'
    ? 'every move that a finding of the best candidate suggests, and every setting near it, has been tried'
    : 'every move that a finding of the best candidate suggests has been tried';

function describeSpent(run: Run, spent: 'evaluations-spent' | 'time-spent'): string {
  const { limits, evaluationsUsed } = run.budget;
  return spent === 'evaluations-spent'
    ? `${evaluationsUsed} of ${limits.maximumEvaluations} evaluations used`
    : `${run.budget.minutesUsed().toFixed(1)} of ${limits.maximumMinutes} minutes used`;
}

/** Judges the move's candidate; where times are measured, first quickly, beside the best. */
async function evaluate(run: Run): Promise<Phase> {
  const evaluation = await evaluateOnce(run, run.move!.candidate, { tier: 'screen', against: beside(run) });
  if (!evaluation) return interrupted(run);
  run.candidate = evaluation;
  return evaluation.timing?.kind === 'measured' && isWorthAccepting(evaluation) ? 'accept' : 'decide';
}

/** Measures a candidate that looked worth it long enough for a verdict; a faster one is profiled for the next move. */
async function accept(run: Run): Promise<Phase> {
  const measuring = { tier: 'accept', against: beside(run), profile: 'light' } as const;
  const evaluation = await evaluateOnce(run, run.move!.candidate, measuring);
  if (!evaluation) return interrupted(run);
  run.candidate = evaluation;
  return 'decide';
}

const beside = (run: Run): NonNullable<EvaluationRequest['against']> => [
  { name: 'best', candidate: run.best!.candidate },
];

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
  // Its screen may have been fine.
  run.ledger.noteUnjudged(evaluation.candidate.id);
  emitBudget(run);
  if (run.deviceFailures < DEVICE_FAILURES_BEFORE_STOPPING) return 'propose';
  return finish(run, 'device-failed', `the device failed twice in a row: ${evaluation.reason ?? 'no reason given'}`);
}

/** Reasons to stop that the best gives, and takes back when it is not what it seemed. */
const EARNED: readonly StopReason[] = ['goal-reached', 'near-attainable'];

/** Confirms the winner. The search goes on where that takes back what it was stopped for. */
async function confirm(run: Run): Promise<Phase> {
  const { stop, best: claimed, options } = run;
  await confirmBest(run);
  if (!EARNED.includes(stop!.reason) || options.signal?.aborted) return 'finished';
  const falls = run.best !== claimed || (stop!.reason === 'goal-reached' && fallsShort(run));
  return falls ? 'propose' : 'finished';
}

/** Whether what was confirmed is less than the goal, which the search believed reached. */
function fallsShort({ confirmation, options: { goal } }: Run): boolean {
  if (!goal || !confirmation) return false;
  if (goal.kind === 'speed-up') return !((confirmation.ratio ?? 0) >= goal.ratio);
  return !((confirmation.medianNs ?? Number.POSITIVE_INFINITY) <= goal.ns);
}

const PHASES: Readonly<Record<Exclude<Phase, 'finished'>, (run: Run) => Promise<Phase>>> = {
  baseline,
  propose,
  evaluate,
  accept,
  decide: decidePhase,
  confirm,
};

/** Start's time ÷ best's time; a measured one only as confirmed. */
function speedupOf(run: Run): number | undefined {
  const { start, best } = run;
  if (!start || !isTimed(start) || !best) return undefined;
  if (best.evaluation.id === start.id) return 1;
  if (start.timing.kind === 'predicted') return start.timing.medianNs / best.evaluation.timing.medianNs;
  return isConfirmed(run) ? (run.confirmation?.ratio ?? undefined) : undefined;
}

function resultOf(run: Run): RunResult {
  const { start, best, confirmation } = run;
  const stop = run.stop!;
  const speedup = speedupOf(run);
  return {
    stopReason: stop.reason,
    detail: stop.detail,
    evaluationsUsed: run.budget.evaluationsUsed,
    ...(start ? { start } : {}),
    ...(best ? { best } : {}),
    ...(speedup === undefined ? {} : { speedup }),
    ...(confirmation ? { confirmation } : {}),
  };
}

function describeBest({ start, best, speedup }: RunResult): string {
  if (!best) return '';
  const { id, timing } = best.evaluation;
  if (id === start?.id) return '; no change was kept';
  if (speedup === undefined) return `; best ${id}, not confirmed`;
  return `; best ${id}, ${describeRatio(timing.kind, speedup)} than the start`;
}

/** The budget bounds the search: what was begun is finished, and a winner is confirmed whatever that takes. */
function describeOverrun({ budget }: Run): string {
  const { limits, evaluationsUsed } = budget;
  const beyond = limits.maximumEvaluations === null ? 0 : evaluationsUsed - limits.maximumEvaluations;
  if (beyond <= 0) return '';
  return `; ${beyond} more evaluation${beyond === 1 ? '' : 's'} than the budget of the search, for verdicts and confirmation`;
}

function announceEnd(run: Run, result: RunResult): void {
  const described = describeBest(result);
  run.options.emit({
    type: 'run-finished',
    stopReason: result.stopReason,
    detail: `${result.detail}${described}${describeOverrun(run)}`,
    best: result.best?.evaluation.id ?? null,
    speedup: result.speedup ?? null,
  });
}

/**
 * Searches for a faster kernel: judges the start, then makes one change per iteration that a finding of the best
 * candidate suggests, keeps it if it is faster (predicted: by at least 3 %; measured: by the verdict), and stops with a
 * named reason. The winner of a measured run is confirmed against the start, beyond the budget where that is spent.
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
    bests: [],
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
