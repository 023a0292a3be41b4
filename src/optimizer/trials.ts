import type { Evaluation } from '../core/evaluation.ts';
import { evaluationsOfMove } from './allowance.ts';
import { isTimed, type TimedEvaluation } from './decision.ts';
import { isPromising, judgeMove } from './judge-move.ts';
import { deservesProfile, startProfile } from './profile-kept.ts';
import type { ProposedMove } from './propose-moves.ts';
import {
  type Asked,
  type Best,
  finishEvaluation,
  judge,
  type Landed,
  type Run,
  type RunningTrial,
  type Trial,
} from './run.ts';

/**
 * Whether another move may be proposed now. While the log of a resumed run lasts, it decides: the number of evaluations at a
 * time depended on the machine.
 */
export function hasRoom({ history, options, trials }: Run): boolean {
  const judged = [...trials.values()].filter(({ held }) => !held);
  if (history.isOver) return judged.length < Math.max(1, options.evaluator.capacity ?? 1);
  return trials.size === 0 || history.next()!.type !== 'evaluation-finished';
}

/** @param known the candidate on the first workload, if it was judged before. */
export function beginTrial(run: Run, move: ProposedMove, known?: TimedEvaluation): Trial {
  const best = run.best!;
  const trial: Trial = {
    iteration: run.iteration,
    move,
    judged: new Map(),
    beside: best,
    mostLeft: evaluationsOfMove(run.options.workloads.length, best.evaluation.timing.kind === 'measured'),
  };
  const running = Object.assign(trial, { steps: judgeMove(run, trial, known) });
  run.trials.set(trial.iteration, running);
  run.ledger.notePending(move);
  advance(run, running, running.steps.next());
  return trial;
}

/** Asks for the next evaluation of a move, or ends its trial. */
function advance(run: Run, trial: RunningTrial, { done, value }: IteratorResult<Asked, void>): void {
  trial.work = undefined;
  trial.asked = done ? undefined : value!;
  if (done) {
    run.trials.delete(trial.iteration);
    run.ledger.noteLanded(trial.move);
  } else if (run.history.isOver) start(run, trial);
}

function start(run: Run, trial: RunningTrial): void {
  trial.isProfiled = false;
  const id = `e${run.budget.evaluationsUsed + run.trials.size}`;
  trial.work = judge(run, id, trial.asked!).then((evaluation) => ({ trial, evaluation }));
  // Where one fails, nobody waits for the others.
  trial.work.catch(() => {});
}

/**
 * Waits for the next evaluation that is finished: the log's, while it lasts. Returns its trial; or `room` if the evaluator takes
 * more requests than before; or undefined if the user interrupted.
 */
export async function nextLanded(run: Run): Promise<Trial | 'room' | undefined> {
  const landed = loggedLanding(run) ?? (await landing(run));
  if (landed === 'room') return 'room';
  const { trial, evaluation } = landed;
  if (!evaluation) return undefined;
  trial.mostLeft -= 1;
  // Numbers count what is finished, so that a log holds them in their order.
  const numbered = { ...evaluation, id: `e${run.budget.evaluationsUsed + 1}` };
  finishEvaluation(run, trial.asked!, numbered, trial.iteration);
  if (trial.judged.size === 0) trial.promise = promiseOf(trial, evaluation);
  advance(run, trial, trial.steps.next(numbered));
  return trial;
}

function loggedLanding({ history, trials, budget }: Run): Landed | undefined {
  const logged = history.next();
  const evaluation = history.evaluation(`e${budget.evaluationsUsed + 1}`);
  if (logged?.type !== 'evaluation-finished') return undefined;
  return { trial: trials.get(logged.iteration) ?? history.refuse('no move of that iteration'), evaluation };
}

/** By a screen, which measured it beside the best; both relative to the start. Of energy a screen promises nothing. */
const promiseOf = ({ beside }: Trial, { timing, comparisons }: Evaluation): number | undefined =>
  timing?.kind === 'measured' && comparisons?.[0] && beside.energyToStart === undefined
    ? comparisons[0].ratio * beside.ratioToStart
    : undefined;

/**
 * Whether a promising screen should wait: a candidate that promises as much or more is being measured longer. If that is kept, this one
 * is seen to be slower, or would have to be measured beside it once more.
 */
function mustWait(run: Run, { trial, evaluation }: Landed): boolean {
  if (!evaluation || trial.judged.size > 0) return false;
  const promise = promiseOf(trial, evaluation);
  if (promise === undefined || !isPromising(run, trial, evaluation)) return false;
  return [...run.trials.values()].some((other) => other !== trial && other.promise! >= promise);
}

/** One that waits no longer. */
function released(run: Run): Landed | undefined {
  for (const trial of run.trials.values()) {
    const { held } = trial;
    if (!held || mustWait(run, held)) continue;
    trial.held = undefined;
    return held;
  }
  return undefined;
}

async function landing(run: Run): Promise<Landed | 'room'> {
  const ready = released(run);
  if (ready) return ready;
  const { evaluator } = run.options;
  const trials = [...run.trials.values()].filter(({ held }) => !held);
  for (const trial of trials) if (!trial.work) start(run, trial);
  const room = Promise.withResolvers<'room'>();
  const stop = evaluator.onCapacity?.(() => room.resolve('room'));
  try {
    const landed = await Promise.race([...trials.map(({ work }) => work!), room.promise]);
    if (landed === 'room') return landed;
    const { trial, evaluation } = landed;
    if (!evaluation) return (await measuredBefore(trials)) ?? landed;
    if (mustWait(run, landed)) trial.held = landed;
    else if (deservesProfile(run, landed)) startProfile(run, trial, evaluation);
    else return landed;
    return 'room';
  } finally {
    stop?.();
  }
}

/** When the user interrupts: a measurement that was only being profiled, if there is one. */
const measuredBefore = (trials: readonly RunningTrial[]): Promise<Landed> | undefined =>
  trials.find(({ isProfiled }) => isProfiled)?.work;

/** What a move is compared with. A prediction depends on the kernel alone; a measurement holds for its own blocks. */
export const standardOf = ({ best }: Run, { beside, judged }: Trial): Best =>
  [...judged.values()].some((one) => isTimed(one) && one.timing.kind === 'measured') ? beside : best!;
