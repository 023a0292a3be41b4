import { deriveSeed } from '../core/derive-seed.ts';
import { type Evaluation, type EvaluationRequest, isWrongWhenTimed } from '../core/evaluation.ts';
import { combineRatios } from '../stats/combine-ratios.ts';
import type { StopReason } from '../store/events.ts';
import { ablateBest, type Improvement } from './ablate.ts';
import { adviseWorkload } from './advise-workload.ts';
import { evaluationsOfMove } from './allowance.ts';
import type { ResolvedBudgets } from './budget.ts';
import { confirmBest } from './confirm.ts';
import { decide, isTimed, isWorthAccepting, type TimedEvaluation } from './decision.ts';
import { announceFailure, isHistoryDiffering } from './failure.ts';
import { refuseGoalBelowBound } from './goal.ts';
import { allTimed, decideObjective, meanNs, VETO_RATIO } from './objective.ts';
import type { ProposedMove } from './propose-moves.ts';
import type { Turn } from './proposers/proposer.ts';
import { announceEnd, type RunResult, resultOf } from './result.ts';
import { type Best, emit, evaluateOnce, isInterrupted, type OptimizeOptions, type Run, reference } from './run.ts';
import { resolveBudgets, startRun } from './start-run.ts';
import { reasonToGiveUp, reasonToStop } from './stopping.ts';

export type { RunResult } from './result.ts';
export type { Best, OptimizeOptions } from './run.ts';

type Phase = 'baseline' | 'propose' | 'evaluate' | 'accept' | 'decide' | 'confirm' | 'explain' | 'finished';

/** Consecutive device failures after which the run gives the device up. They never count against a candidate. */
const DEVICE_FAILURES_BEFORE_STOPPING = 2;

function finish(run: Run, reason: StopReason, detail: string): Phase {
  run.stop = { reason, detail };
  // An interrupted run can be resumed where it was, because `run-finished` is the only event about its end.
  if (reason !== 'interrupted') emit(run, { type: 'search-ended', iteration: run.iteration, reason, detail });
  return 'confirm';
}

const INTERRUPTED = 'stopped by the user; the best so far is kept';
const interrupted = (run: Run): Phase => finish(run, 'interrupted', INTERRUPTED);

/** The search had ended. The steps after it continue when the run is resumed. */
function interruptedAtTheEnd(run: Run): Phase {
  run.stop = { reason: 'interrupted', detail: INTERRUPTED };
  return 'finished';
}

function emitBudget(run: Run): void {
  const { limits, evaluationsUsed, evaluationsLeft, ledger } = run.budget;
  const minutesUsed = run.budget.minutesUsed();
  emit(run, {
    type: 'budget',
    iteration: run.iteration,
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
function spentBudget(run: Run, needed: number): { reason: StopReason; detail: string } | undefined {
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
  const { goal, workloads, onBest } = run.options;
  run.best = best;
  run.bests.push(best);
  onBest?.(best);
  const time = {
    kind: best.evaluation.timing.kind,
    medianNs: meanNs(workloads, best.evaluations, 'medianNs'),
    attainableNs: meanNs(workloads, best.evaluations, 'attainableNs'),
  };
  const stop = reasonToStop(time, best.ratioToStart, goal);
  return stop ? finish(run, stop.reason, stop.detail) : 'propose';
}

async function baseline(run: Run): Promise<Phase> {
  const { options } = run;
  const spent = spentBudget(run, options.workloads.length);
  if (spent) return finish(run, spent.reason, `the budget is too small to evaluate the start: ${spent.detail}`);
  for (const workload of options.workloads) {
    const measuring = { tier: 'accept', profile: workload === options.workloads[0] ? 'light' : 'none' } as const;
    const evaluation = await evaluateOnce(run, { candidate: options.start, workload, measuring });
    if (!evaluation) return interrupted(run);
    run.start ??= evaluation;
    run.judged.set(workload.name, evaluation);
    if (!isTimed(evaluation)) return startFailed(run, evaluation);
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
  return afterNewBest(run, { candidate: options.start, evaluation, evaluations, ratioToStart: 1 });
}

function startFailed(run: Run, { status, reason, workload }: Evaluation): Phase {
  emitBudget(run);
  const on = run.options.workloads.length > 1 ? ` on ${workload.name}` : '';
  const stop = status === 'device-failed' ? 'device-failed' : 'start-failed';
  return finish(run, stop, `the start is ${status}${on}: ${reason ?? 'no reason given'}`);
}

/** A goal as a speed-up can be checked only now: with several workloads, by geometric means of times and of bounds. */
function refuseGoal({ options }: Run, evaluations: ReadonlyMap<string, TimedEvaluation>): void {
  const { goal, vetoBound, workloads } = options;
  if (!goal) return;
  const bound =
    workloads.length === 1
      ? vetoBound
      : {
          ns: meanNs(workloads, evaluations, 'vetoNs'),
          arithmetic: `geometric mean of the bounds of ${workloads.length} workloads`,
        };
  refuseGoalBelowBound(goal, bound, meanNs(workloads, evaluations, 'medianNs'));
}

async function propose(run: Run): Promise<Phase> {
  if (isInterrupted(run)) return interrupted(run);
  const isMeasured = run.best!.evaluation.timing.kind === 'measured';
  const spent = spentBudget(run, evaluationsOfMove(run.options.workloads.length, isMeasured));
  const stop = spent ?? reasonToGiveUp(run.withoutGain, run.options.patience);
  if (stop) return finish(run, stop.reason, stop.detail);
  const turn = await run.proposer.next(run);
  logTurn(run, turn);
  const { move, exhausted } = turn;
  if (exhausted) return finish(run, exhausted.reason, exhausted.detail);
  if (!move) return 'propose';
  if (run.history.isOver) run.options.evaluator.prepare?.((turn.upcoming ?? []).map(({ candidate }) => candidate));
  beginMove(run, move);
  return 'evaluate';
}

function beginMove(run: Run, move: ProposedMove): void {
  run.iteration += 1;
  run.move = move;
  run.judged = new Map();
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

/** Judges the move's candidate on the first workload. If times are measured, a screen beside the best comes first. */
async function evaluate(run: Run): Promise<Phase> {
  const { workloads } = run.options;
  const [first] = workloads;
  const measuring = { tier: 'screen', against: beside(run) } as const;
  const evaluation = await evaluateOnce(run, { candidate: run.move!.candidate, measuring, ...secrecy(run, 'first') });
  if (!evaluation) return interrupted(run);
  run.judged.set(first!.name, evaluation);
  if (!isTimed(evaluation)) return 'decide';
  if (evaluation.timing.kind === 'measured') return isWorthAccepting(evaluation) ? 'accept' : 'decide';
  return workloads.length > 1 && isWithinVeto(run, first!.name, evaluation) ? 'accept' : 'decide';
}

/**
 * Judges a promising candidate on every workload, up to the first that vetoes it. If times are measured, it measures long
 * enough for a verdict, and profiles a faster candidate for the next move.
 */
async function accept(run: Run): Promise<Phase> {
  const { workloads } = run.options;
  const isMeasured = run.best!.evaluation.timing.kind === 'measured';
  for (const [index, workload] of workloads.entries()) {
    if (index === 0 && !isMeasured) continue;
    const measuring = { tier: 'accept', against: beside(run), profile: index === 0 ? 'light' : 'none' } as const;
    const { candidate } = run.move!;
    const evaluation = await evaluateOnce(run, { candidate, workload, measuring, ...secrecy(run, workload.name) });
    if (!evaluation) return interrupted(run);
    run.judged.set(workload.name, evaluation);
    if (workloads.length > 1 && !isWithinVeto(run, workload.name, evaluation)) break;
  }
  return 'decide';
}

/** Whether the candidate is at most 2 % slower on a workload. */
function isWithinVeto({ best }: Run, workload: string, evaluation: Evaluation): boolean {
  if (!isTimed(evaluation)) return false;
  const bestNs = best!.evaluations.get(workload)!.timing.medianNs;
  const ratio =
    evaluation.timing.kind === 'measured' ? evaluation.comparisons?.[0]?.ratio : bestNs / evaluation.timing.medianNs;
  return ratio !== undefined && ratio >= VETO_RATIO;
}

/** The best first: decisions compare with it. */
function beside({ best, move }: Run): NonNullable<EvaluationRequest['against']> {
  const { candidate } = best!;
  const parent = move?.written?.parent;
  const others = parent && parent.id !== candidate.id ? [{ name: 'parent', candidate: parent }] : [];
  return [{ name: 'best', candidate }, ...others];
}

/** Whoever writes a kernel can't have known its inputs: its seed follows from the kernel and from the run's secret one. */
function secrecy({ move, options }: Run, workload: string): { seed?: number; thorough?: boolean } {
  if (!move?.written) return {};
  const seed = deriveSeed(options.seed, `${move.candidate.id} on ${workload}`);
  return { seed, thorough: !move.written.isSetting };
}

async function decidePhase(run: Run): Promise<Phase> {
  const { options, ledger } = run;
  const best = run.best!;
  const move = run.move!;
  const judged = [...run.judged.values()];
  const evaluation = judged[0]!;
  const decision = decideObjective(options.workloads, best, run.judged);
  emit(run, {
    type: 'decision',
    iteration: run.iteration,
    evaluationId: evaluation.id,
    comparedWith: best.evaluation.id,
    ...decision,
  });
  const failed = judged.find(({ status }) => status === 'device-failed');
  if (failed) return afterDeviceFailure(run, failed);
  run.deviceFailures = 0;
  run.proposer.note(move, { ratio: ratioToStart(run), isScreenedOut: isScreen(evaluation) });
  const evaluations = allTimed(options.workloads, run.judged);
  if (decision.decision === 'keep' && evaluations) {
    ledger.noteKept(move, decision.ratio!);
    run.withoutGain = 0;
    emitBudget(run);
    const { candidate } = move;
    return afterNewBest(run, {
      candidate,
      evaluation: [...evaluations.values()][0]!,
      evaluations,
      ratioToStart: best.ratioToStart * decision.ratio!,
    });
  }
  run.withoutGain += judged.length;
  const { failureCount, abandoned } = ledger.noteFailed(move, judged.length);
  const kernel = move.candidate.kernel.file.name;
  if (judged.some(isWrongWhenTimed) && ledger.noteWrongWhenTimed(kernel)) {
    const reason = `${kernel} was right when verified and wrong when timed, for the second time; no further setting of it is tried`;
    emit(run, {
      type: 'move-abandoned',
      iteration: run.iteration,
      moveKey: move.key,
      failureCount,
      why: 'failed',
      reason,
    });
  }
  if (abandoned) {
    emit(run, {
      type: 'move-abandoned',
      iteration: run.iteration,
      moveKey: move.key,
      failureCount,
      why: 'failed',
      reason: `${failureCount} attempts in a row did not help; last: ${decision.reason}`,
    });
  }
  emitBudget(run);
  return 'propose';
}

const isScreen = ({ timing }: Evaluation): boolean => timing?.measurement?.conditions.tier === 'screen';

/**
 * Start's time ÷ the candidate's over the workloads judged; undefined if it failed on one of them. Measured: the ratio to
 * the best, from the same blocks, × the best's ratio to the start.
 */
function ratioToStart({ judged, best, options }: Run): number | undefined {
  const parts = options.workloads.flatMap(({ name, weight }) => {
    const evaluation = judged.get(name);
    return evaluation ? [{ weight, ratio: decide(best!.evaluations.get(name)!, evaluation).ratio }] : [];
  });
  if (parts.some(({ ratio }) => ratio === null)) return undefined;
  return best!.ratioToStart * combineRatios(parts.map(({ weight, ratio }) => ({ weight, ratio: ratio! }))).ratio;
}

function afterDeviceFailure(run: Run, evaluation: Evaluation): Phase {
  run.deviceFailures += 1;
  // Its screen may have been fine.
  run.ledger.noteUnjudged(evaluation.candidate.id);
  emitBudget(run);
  if (run.deviceFailures < DEVICE_FAILURES_BEFORE_STOPPING) return 'propose';
  return finish(run, 'device-failed', `the device failed twice in a row: ${evaluation.reason ?? 'no reason given'}`);
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
function fallsShort({ confirmation, start, options: { goal } }: Run): boolean {
  // A predicted time is the same as before.
  if (!goal || !confirmation || start?.timing?.kind === 'predicted') return false;
  if (goal.kind === 'speed-up') return !((confirmation.ratio ?? 0) >= goal.ratio);
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
  const { workloads } = run.options;
  beginMove(run, move);
  run.judged.set(workloads[0]!.name, evaluation);
  return workloads.length > 1 ? 'accept' : 'decide';
}

const PHASES: Readonly<Record<Exclude<Phase, 'finished'>, (run: Run) => Promise<Phase>>> = {
  baseline,
  propose,
  evaluate,
  accept,
  decide: decidePhase,
  confirm,
  explain,
};

/**
 * Searches for a faster kernel. Judges the start, then makes one change per iteration (guided: one that a finding of the
 * best suggests). Keeps the change if it is faster over all workloads (predicted: by at least 3 %; measured: by the
 * verdict) and at most 2 % slower on each. Stops with a named reason. Then confirms the winner with a fresh seed (measured:
 * against the start) and undoes its changes one by one, with the evaluations reserved for this.
 *
 * The same options and seed give the same events, except for times. A run continues from its log (`history`) as if it had
 * never stopped. Interrupting through `signal` is no error: the run ends as `interrupted` with the best so far.
 *
 * @throws WarpsmithError `goal-below-bound` if the goal is below the provable bound, `history-differs` if the log does not
 * follow from these options.
 */
export async function optimize(options: OptimizeOptions): Promise<RunResult> {
  if (options.goal) refuseGoalBelowBound(options.goal, options.vetoBound);
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
