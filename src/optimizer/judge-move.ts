import { deriveSeed } from '../core/derive-seed.ts';
import type { Evaluation, EvaluationRequest } from '../core/evaluation.ts';
import { energyBesideBest, isWorthWindows } from './by-energy.ts';
import { isTimed, isWorthAccepting, SCREEN_RATIO } from './decision.ts';
import { gainOf, gainToStart, measuredToDecide, minimisesEnergy } from './minimised.ts';
import { decideObjective, VETO_RATIO } from './objective.ts';
import { profilesApart } from './profile-kept.ts';
import { type Asked, evaluationsOfTrials, type Measuring, type Run, type Trial } from './run.ts';

/**
 * The evaluations that one move takes, one after the other. First its candidate is judged on the first workload; if times are
 * measured, in a screen beside the best. A promising candidate is then judged on every workload, up to the first that vetoes it.
 * If times are measured, long enough for a verdict, and a faster candidate is profiled if its findings decide on the next move.
 *
 * @param known the candidate on the first workload, where that was judged before.
 */
export function* judgeMove(run: Run, trial: Trial, known?: Evaluation): Generator<Asked, void, Evaluation> {
  const [first] = run.options.workloads;
  const evaluation = known ?? (yield askFor(run, trial, { tier: 'screen' }));
  trial.judged.set(first!.name, evaluation);
  if (known ? run.options.workloads.length > 1 : isPromising(run, trial, evaluation)) yield* accept(run, trial);
}

export function isPromising(run: Run, trial: Trial, evaluation: Evaluation): boolean {
  if (!isTimed(evaluation)) return false;
  const { workloads } = run.options;
  if (evaluation.timing.kind === 'measured') {
    const gained = gainMeanwhile(run, trial);
    return minimisesEnergy(run.options)
      ? isWorthWindows(evaluation, trial.beside.evaluation, gained)
      : isWorthAccepting(evaluation, gained);
  }
  return workloads.length > 1 && isWithinVeto(run, workloads[0]!.name, evaluation);
}

/** How much better the best of now is than the best that the candidate was measured beside; both relative to the start. */
const gainMeanwhile = ({ best }: Run, { beside }: Trial): number => gainToStart(best!) / gainToStart(beside);

function* accept(run: Run, trial: Trial): Generator<Asked, void, Evaluation> {
  const { workloads } = run.options;
  const isMeasured = run.best!.evaluation.timing.kind === 'measured';
  trial.beside = run.best!;
  for (const [index, workload] of workloads.entries()) {
    if (index === 0 && !isMeasured) continue;
    const isProfiled = index === 0 && !run.proposer.asksNoFindings && !profilesApart(run);
    const measuring = {
      tier: 'accept',
      profile: isProfiled ? 'light' : 'none',
      ...measuredToDecide(run.options),
    } as const;
    const evaluation = yield askFor(run, trial, measuring, workload);
    trial.judged.set(workload.name, evaluation);
    if (workloads.length > 1 && !isWithinVeto(run, workload.name, evaluation)) break;
  }
  if (isMeasured && deservesAnother(run, trial)) yield* accept(run, trial);
}

/** Whether it was measured beside a best that is none any more, and may be faster than the best of now. */
function deservesAnother(run: Run, trial: Trial): boolean {
  const { workloads, minimised } = run.options;
  if (trial.beside === run.best) return false;
  const decision = decideObjective(run.options, trial.beside, trial.judged);
  if (decision.decision === 'revert' || gainOf(minimised, decision)! / gainMeanwhile(run, trial) < SCREEN_RATIO)
    return false;
  // Not the other budgets, whose clock is another one when a run is resumed.
  const left = run.budget.searchEvaluationsLeft;
  if (left !== null && left < evaluationsOfTrials(run) + workloads.length) return false;
  trial.mostLeft += workloads.length;
  return true;
}

function askFor(
  run: Run,
  trial: Trial,
  measuring: Omit<Measuring, 'against'>,
  workload = run.options.workloads[0]!,
): Asked {
  const { candidate } = trial.move;
  const against = besideOf(trial);
  return { candidate, workload, measuring: { ...measuring, against }, ...secrecy(run, trial, workload.name) };
}

/** Whether the candidate is at most 2 % slower on a workload; where energy is minimised, whether it needs at most 2 % more. */
function isWithinVeto(run: Run, workload: string, evaluation: Evaluation): boolean {
  if (!isTimed(evaluation)) return false;
  if (minimisesEnergy(run.options)) return (energyBesideBest(evaluation)?.ratio ?? 0) >= VETO_RATIO;
  const bestNs = run.best!.evaluations.get(workload)!.timing.medianNs;
  const ratio =
    evaluation.timing.kind === 'measured' ? evaluation.comparisons?.[0]?.ratio : bestNs / evaluation.timing.medianNs;
  return ratio !== undefined && ratio >= VETO_RATIO;
}

/** The best first: decisions compare with it. */
function besideOf({ beside: { candidate }, move }: Trial): NonNullable<EvaluationRequest['against']> {
  const parent = move.written?.parent;
  const others = parent && parent.id !== candidate.id ? [{ name: 'parent', candidate: parent }] : [];
  return [{ name: 'best', candidate }, ...others];
}

/** Whoever writes a kernel can't have known its inputs: its seed follows from the kernel and from the run's secret one. */
function secrecy({ options }: Run, { move }: Trial, workload: string): Pick<Asked, 'seed' | 'thorough' | 'isWritten'> {
  if (!move.written) return {};
  const seed = deriveSeed(options.seed, `${move.candidate.id} on ${workload}`);
  const isThorough = !move.written.isSetting;
  return { seed, thorough: isThorough, isWritten: isThorough };
}
