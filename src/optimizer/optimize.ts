import { measuredEnergy } from '../core/energy.ts';
import { WarpsmithError } from '../core/errors.ts';
import { type Evaluation, isWrongWhenTimed } from '../core/evaluation.ts';
import { combineRatios } from '../stats/combine-ratios.ts';
import type { StopReason } from '../store/events.ts';
import { ablateBest, type Improvement } from './ablate.ts';
import { adviseWorkload } from './advise-workload.ts';
import { evaluationsOfMove } from './allowance.ts';
import type { ResolvedBudgets } from './budget.ts';
import { whyNot } from './by-energy.ts';
import { confirmBest } from './confirm.ts';
import { isTimed, type TimedEvaluation } from './decision.ts';
import { refuseGoalBelowBound } from './goal.ts';
import { decideBy, gainOf, gainToStart, measuredToDecide, minimisesEnergy } from './minimised.ts';
import { allTimed, decideObjective, meanNs, type ObjectiveDecision, timeAtHomeNs } from './objective.ts';
import { preparedAtStart } from './prepared-ahead.ts';
import type { ProposedMove } from './propose-moves.ts';
import type { Turn } from './proposers/proposer.ts';
import { announceEnd, type RunResult, resultOf } from './result.ts';
import {
  type Best,
  emit,
  evaluateOnce,
  evaluationsOfTrials,
  isInterrupted,
  type OptimizeOptions,
  type Run,
  reference,
  type Trial,
} from './run.ts';
import { resolveBudgets, startRun } from './start-run.ts';
import { reasonToGiveUp, reasonToStop, reasonToStopAtGoal, type Stop } from './stopping.ts';
import { beginTrial, hasRoom, nextLanded, standardOf } from './trials.ts';

export type { RunResult } from './result.ts';
export type { Best, OptimizeOptions } from './run.ts';

type Phase = 'baseline' | 'propose' | 'land' | 'confirm' | 'explain' | 'finished';

/** Consecutive device failures after which the run gives the device up. They never count against a candidate. */
const DEVICE_FAILURES_BEFORE_STOPPING = 2;

function finish(run: Run, reason: StopReason, detail: string): Phase {
  run.stop = { reason, detail };
  run.ending = undefined;
  // An interrupted run can be resumed where it was, because `run-finished` is the only event about its end.
  if (reason !== 'interrupted') emit(run, { type: 'search-ended', iteration: run.iteration, reason, detail });
  return 'confirm';
}

/** The search ends for good once the moves that are being judged are decided on: their evaluations are paid for. */
function endAfterTrials(run: Run, reason: StopReason, detail: string): Phase {
  run.ending = { reason, detail };
  return 'propose';
}

const INTERRUPTED = 'stopped by the user; the best so far is kept';
const interrupted = (run: Run): Phase => finish(run, 'interrupted', INTERRUPTED);

/** The search had ended. The steps after it continue when the run is resumed. */
function interruptedAtTheEnd(run: Run): Phase {
  run.stop = { reason: 'interrupted', detail: INTERRUPTED };
  return 'finished';
}

function emitBudget(run: Run, iteration = run.iteration): void {
  const { limits, evaluationsUsed, evaluationsLeft, ledger } = run.budget;
  const minutesUsed = run.budget.minutesUsed();
  emit(run, {
    type: 'budget',
    iteration,
    evaluationsUsed,
    evaluationsLeft,
    minutesUsed,
    minutesLeft: limits.maximumMinutes === null ? null : Math.max(0, limits.maximumMinutes - minutesUsed),
    ledger,
  });
}

/**
 * The budget that does not allow `needed` more evaluations of the search. In a resumed run the log decides while it lasts,
 * because the clock and perhaps the budgets were different then.
 */
function spentBudget(run: Run, needed: number): Stop | undefined {
  const extension = run.history.extension();
  const larger = extension ? resolveBudgets(run.options, extension) : extendNow(run);
  if (larger) run.budget.extend(larger);
  const spent = run.budget.spent(needed);
  if (run.history.isOver || spent?.reason === 'evaluations-spent') return spent;
  const logged = run.history.next();
  return logged?.type === 'search-ended' && logged.reason.endsWith('-spent') ? logged : undefined;
}

/** Applies a resumed run's larger budgets, once, where its history ends. */
function extendNow(run: Run): ResolvedBudgets | undefined {
  const { extendedBudgets } = run.options;
  if (!extendedBudgets || !run.history.isOver || run.isExtended) return undefined;
  run.isExtended = true;
  const budgets = resolveBudgets(run.options, extendedBudgets);
  emit(run, { type: 'budgets-extended', iteration: run.iteration, budgets });
  return budgets;
}

/** Decides after a new best whether to stop or to look for the next move. */
function afterNewBest(run: Run, best: Best): Phase {
  const { onBest } = run.options;
  run.best = best;
  run.bests.push(best);
  onBest?.(best);
  const stop = reasonToStopAt(run, best);
  return stop ? endAfterTrials(run, stop.reason, stop.detail) : 'propose';
}

/** Bounds are of times: no energy is known to be near the least. */
function reasonToStopAt({ bests, options }: Run, best: Best): Stop | undefined {
  const { goal, workloads } = options;
  if (minimisesEnergy(options)) return reasonToStopAtGoal(goal, best.evaluation.timing.medianNs, gainToStart(best));
  const time = {
    kind: best.evaluation.timing.kind,
    medianNs: timeAtHomeNs(workloads, best, bests[0]!),
    attainableNs: meanNs(workloads, best.evaluations, 'attainableNs'),
  };
  return reasonToStop(time, best.ratioToStart, goal);
}

async function baseline(run: Run): Promise<Phase> {
  const { options } = run;
  const spent = spentBudget(run, options.workloads.length);
  if (spent) return finish(run, spent.reason, `the budget is too small to evaluate the start: ${spent.detail}`);
  if (run.history.isOver) prepareFirst(run);
  for (const workload of options.workloads) {
    const profile = workload === options.workloads[0] ? 'light' : 'none';
    const measuring = { tier: 'accept', profile, ...measuredToDecide(options) } as const;
    const evaluation = await evaluateOnce(run, { candidate: options.start, workload, measuring });
    if (!evaluation) return interrupted(run);
    run.start ??= evaluation;
    run.judged.set(workload.name, evaluation);
    if (!isTimed(evaluation)) return startFailed(run, evaluation);
    if (minimisesEnergy(options) && !measuredEnergy(evaluation.energy)) return noEnergy(run, evaluation);
  }
  emit(run, {
    type: 'decision',
    iteration: run.iteration,
    evaluationId: run.start!.id,
    decision: 'keep',
    comparedWith: null,
    ratio: null,
    reason: 'the start, which everything is compared with',
  });
  emitBudget(run);
  const evaluations = allTimed(options.workloads, run.judged)!;
  refuseGoal(run, evaluations);
  const evaluation = run.start as TimedEvaluation;
  const best = { candidate: options.start, evaluation, evaluations, ratioToStart: 1 };
  return afterNewBest(run, minimisesEnergy(options) ? { ...best, energyToStart: 1 } : best);
}

/** While the start is judged, what may be asked for first compiles, and other GPUs rehearse: they judge the start, too, as candidates are screened. */
function prepareFirst({ options, proposer }: Run): void {
  const { evaluator, problem, start: candidate, workloads, seed, signal } = options;
  const { name, dimensions, cache } = workloads[0]!;
  const workload = { name, dimensions, cache };
  evaluator.rehearse?.({ problem, candidate, workload, seed, tier: 'screen', signal });
  const ahead = preparedAtStart(options, proposer.first?.());
  if (ahead.length > 0) evaluator.prepare?.(ahead);
}

function startFailed(run: Run, { status, reason, workload }: Evaluation): Phase {
  emitBudget(run);
  const on = run.options.workloads.length > 1 ? ` on ${workload.name}` : '';
  const stop = status === 'device-failed' ? 'device-failed' : 'start-failed';
  return finish(run, stop, `the start is ${status}${on}: ${reason ?? 'no reason given'}`);
}

/** Nothing can be found by an energy that nobody counts. */
function noEnergy(run: Run, start: Evaluation): Phase {
  emitBudget(run);
  const detail = `the run minimises energy, and the start's was not measured: ${whyNot(start)}`;
  return finish(run, 'device-failed', detail);
}

/** A goal as a speed-up can be checked only now: with several workloads, by geometric means of times and of bounds. */
function refuseGoal({ options }: Run, evaluations: ReadonlyMap<string, TimedEvaluation>): void {
  const { goal, vetoBound, workloads } = options;
  // Bounds are of times.
  if (!goal || minimisesEnergy(options)) return;
  const bound =
    workloads.length === 1
      ? vetoBound
      : {
          ns: meanNs(workloads, evaluations, 'vetoNs'),
          arithmetic: `geometric mean of the bounds of ${workloads.length} workloads`,
        };
  refuseGoalBelowBound(goal, bound, meanNs(workloads, evaluations, 'medianNs'));
}

/** Whether a budget, or patience, allows no further move beside those that are being judged. */
function reasonNotToPropose(run: Run): Stop | undefined {
  const { ending, options, withoutGain } = run;
  if (ending) return ending;
  const isMeasured = run.best!.evaluation.timing.kind === 'measured';
  const needed = evaluationsOfMove(options.workloads.length, isMeasured) + evaluationsOfTrials(run);
  return spentBudget(run, needed) ?? reasonToGiveUp(withoutGain, options.patience);
}

/** Nothing more to propose, for now: the moves that are being judged may change that. */
const endOrLand = (run: Run, { reason, detail }: Stop): Phase =>
  run.trials.size > 0 ? 'land' : finish(run, reason, detail);

async function propose(run: Run): Promise<Phase> {
  if (isInterrupted(run)) return interrupted(run);
  if (!hasRoom(run)) return 'land';
  const stop = reasonNotToPropose(run);
  if (stop) return endOrLand(run, stop);
  const turn = await run.proposer.next(run);
  logTurn(run, turn);
  const { move, exhausted } = turn;
  if (exhausted) return endOrLand(run, exhausted);
  if (!move) return 'propose';
  beginMove(run, move);
  if (run.history.isOver) run.options.evaluator.prepare?.((turn.upcoming ?? []).map(({ candidate }) => candidate));
  return 'propose';
}

function beginMove(run: Run, move: ProposedMove, known?: TimedEvaluation): Trial {
  run.iteration += 1;
  run.move = move;
  emit(run, {
    type: 'move-proposed',
    iteration: run.iteration,
    moveKey: move.key,
    pattern: move.pattern,
    finding: { evaluationId: run.best!.evaluation.id, ...move.finding },
    move: move.change,
    candidate: reference(move.candidate),
    expectedGain: move.expectedGain,
    confidence: move.confidence,
    reason: move.reason,
  });
  return beginTrial(run, move, known);
}

function logTurn(run: Run, { advice = [], abandoned = [], ranked }: Turn): void {
  const { iteration } = run;
  for (const item of advice) {
    const key = `${item.pattern.id}: ${item.text}`;
    if (run.advised.has(key)) continue;
    run.advised.add(key);
    emit(run, { type: 'advice', iteration, ...item });
  }
  for (const item of abandoned) emit(run, { type: 'move-abandoned', iteration, ...item });
  if (ranked) emit(run, { type: 'options-ranked', iteration, ...ranked });
}

/** Takes the next evaluation that is finished, and decides on its move if that was the last one it needs. */
async function land(run: Run): Promise<Phase> {
  const trial = await nextLanded(run);
  if (trial === 'room') return 'propose';
  if (!trial) return interrupted(run);
  return trial.asked ? 'propose' : decideOn(run, trial);
}

function decideOn(run: Run, trial: Trial): Phase {
  const { options, ledger } = run;
  const { iteration, move } = trial;
  const best = standardOf(run, trial);
  const judged = [...trial.judged.values()];
  const evaluation = judged[0]!;
  Object.assign(run, { move, judged: trial.judged });
  const decision = decideAmong(run, best, trial.judged);
  emit(run, {
    type: 'decision',
    iteration,
    evaluationId: evaluation.id,
    comparedWith: best.evaluation.id,
    ...decision,
  });
  const failed = judged.find(({ status }) => status === 'device-failed');
  if (failed) return afterDeviceFailure(run, trial, failed);
  run.deviceFailures = 0;
  run.proposer.note(move, { ratio: ratioToStart(run, best), isScreenedOut: isScreen(evaluation) });
  const evaluations = allTimed(options.workloads, trial.judged);
  if (decision.decision === 'keep' && evaluations) {
    ledger.noteKept(move, gainOf(options.minimised, decision)!);
    run.withoutGain = 0;
    emitBudget(run, iteration);
    const { candidate } = move;
    return afterNewBest(run, {
      candidate,
      evaluation: [...evaluations.values()][0]!,
      evaluations,
      ratioToStart: best.ratioToStart * decision.ratio!,
      energyToStart: decision.energy && best.energyToStart! * decision.energy.ratio,
    });
  }
  noteFailed(run, trial, decision.reason);
  return 'propose';
}

function noteFailed(run: Run, { iteration, move, judged: byWorkload }: Trial, last: string): void {
  const judged = [...byWorkload.values()];
  run.withoutGain += judged.length;
  const { failureCount, abandoned } = run.ledger.noteFailed(move, judged.length);
  const kernel = move.candidate.kernel.file.name;
  const giveUp = (reason: string) =>
    emit(run, { type: 'move-abandoned', iteration, moveKey: move.key, failureCount, why: 'failed', reason });
  if (judged.some(isWrongWhenTimed) && run.ledger.noteWrongWhenTimed(kernel))
    giveUp(
      `${kernel} was right when verified and wrong when timed, for the second time; no further setting of it is tried`,
    );
  if (abandoned) giveUp(`${failureCount} attempts in a row did not help; last: ${last}`);
  emitBudget(run, iteration);
}

const isScreen = ({ timing }: Evaluation): boolean => timing?.measurement?.conditions.tier === 'screen';

/** What is kept must be faster than the best of now, although it may have been measured beside the best of before. */
function decideAmong(run: Run, beside: Best, judged: ReadonlyMap<string, Evaluation>): ObjectiveDecision {
  const decision = decideObjective(run.options, beside, judged);
  const { evaluation } = run.best!;
  if (decision.decision === 'revert' || beside === run.best) return decision;
  const since = `it was not measured beside ${evaluation.id}, which was kept meanwhile`;
  return { ...decision, decision: 'revert', reason: `${decision.reason}; ${since}` };
}

/**
 * Start ÷ the candidate, of what is minimised, over the workloads judged; undefined if it failed on one of them. Measured: the ratio
 * to the best, from the same blocks, × the best's ratio to the start. What a screen ruled out has no energy: its time tells about as much.
 */
function ratioToStart({ judged, options: { workloads, minimised } }: Run, best: Best): number | undefined {
  const parts = workloads.flatMap(({ name, weight }) => {
    const evaluation = judged.get(name);
    if (!evaluation) return [];
    const decision = decideBy(minimised, best.evaluations.get(name)!, evaluation);
    return [{ weight, ratio: isScreen(evaluation) ? decision.ratio : gainOf(minimised, decision) }];
  });
  if (parts.some(({ ratio }) => ratio === null)) return undefined;
  return gainToStart(best) * combineRatios(parts.map(({ weight, ratio }) => ({ weight, ratio: ratio! }))).ratio;
}

function afterDeviceFailure(run: Run, { iteration }: Trial, evaluation: Evaluation): Phase {
  run.deviceFailures += 1;
  // Its screen may have been fine.
  run.ledger.noteUnjudged(evaluation.candidate.id);
  emitBudget(run, iteration);
  if (run.deviceFailures < DEVICE_FAILURES_BEFORE_STOPPING) return 'propose';
  return endAfterTrials(
    run,
    'device-failed',
    `the device failed twice in a row: ${evaluation.reason ?? 'no reason given'}`,
  );
}

/** Stop reasons that depend on the best. A confirmation that refutes the best revokes them. */
const EARNED: readonly StopReason[] = ['goal-reached', 'near-attainable'];

/** Confirms the winner. The search continues if this revokes the reason for stopping. */
async function confirm(run: Run): Promise<Phase> {
  const { stop, best: claimed } = run;
  await run.proposer.rest?.(run);
  await confirmBest(run);
  if (isInterrupted(run)) return interruptedAtTheEnd(run);
  if (!EARNED.includes(stop!.reason)) return 'explain';
  const falls = run.best !== claimed || (stop!.reason === 'goal-reached' && fallsShort(run));
  return falls ? 'propose' : 'explain';
}

/** Whether the confirmed speed-up misses a goal that the search believed reached. */
function fallsShort({ confirmation, start, options: { goal, minimised } }: Run): boolean {
  // A predicted time is the same as before.
  if (!goal || !confirmation || start?.timing?.kind === 'predicted') return false;
  if (goal.kind === 'speed-up') return !((gainOf(minimised, confirmation) ?? 0) >= goal.ratio);
  return !((confirmation.medianNs ?? Number.POSITIVE_INFINITY) <= goal.ns);
}

/**
 * Runs ablation and workload advice. If the winner is faster without one of its changes, undoing it is an ordinary move:
 * its result is confirmed and explained again. After a device failure there is nothing to explain.
 */
async function explain(run: Run): Promise<Phase> {
  if (run.stop!.reason === 'device-failed') return 'finished';
  const { evaluationsUsed } = run.budget;
  const improvement = await ablateBest(run);
  if (improvement && !isInterrupted(run)) return undo(run, improvement);
  await adviseWorkload(run);
  if (isInterrupted(run)) return interruptedAtTheEnd(run);
  if (run.budget.evaluationsUsed > evaluationsUsed) emitBudget(run);
  return 'finished';
}

function undo(run: Run, { move, evaluation }: Improvement): Phase {
  const trial = beginMove(run, move, evaluation);
  return trial.asked ? 'land' : decideOn(run, trial);
}

const PHASES: Readonly<Record<Exclude<Phase, 'finished'>, (run: Run) => Promise<Phase>>> = {
  baseline,
  propose,
  land,
  confirm,
  explain,
};

/**
 * Searches for a faster kernel. Judges the start, then makes one change per iteration (guided: one that a finding of the
 * best suggests). Keeps the change if it is faster over all workloads (predicted: by at least 3 %; measured: by the
 * verdict) and at most 2 % slower on each; of a run that minimises energy, by the verdict on joules. Stops with a named reason. Then confirms the winner with a fresh seed (measured:
 * against the start) and undoes its changes one by one, with the evaluations reserved for this.
 *
 * The same options and seed give the same events, except for times. A run continues from its log (`history`) as if it had
 * never stopped. Interrupting through `signal` is no error: the run ends as `interrupted` with the best so far.
 *
 * @throws WarpsmithError `goal-below-bound` if the goal is below the provable bound, `history-differs` if the log does not
 * follow from these options.
 */
export async function optimize(options: OptimizeOptions): Promise<RunResult> {
  if (options.goal && !minimisesEnergy(options)) refuseGoalBelowBound(options.goal, options.vetoBound);
  const run = startRun(options);
  let phase: Phase = 'baseline';
  try {
    while (phase !== 'finished') phase = await PHASES[phase](run);
  } catch (error) {
    if (!isHistoryDiffering(error)) announceFailure(run, error);
    throw error;
  }
  const result = resultOf(run);
  announceEnd(run, result);
  return result;
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof WarpsmithError ? error.details.code : undefined;

/** An error that leaves the log as it is, because the log already says what the run did. */
const isHistoryDiffering = (error: unknown): boolean => codeOf(error) === 'history-differs';

/** Logs that the run ended in an error. The caller rethrows it. */
function announceFailure(run: Run, error: unknown): void {
  run.options.emit({
    type: 'run-finished',
    stopReason: codeOf(error) === 'goal-below-bound' ? 'goal-refused' : 'failed',
    detail: error instanceof Error ? error.message : String(error),
    best: run.best?.evaluation.id ?? null,
    speedup: null,
  });
}
