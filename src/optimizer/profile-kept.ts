import type { Evaluation } from '../core/evaluation.ts';
import { isTimed } from './decision.ts';
import { decideBy } from './minimised.ts';
import { type Landed, profileOf, type Run, type RunningTrial } from './run.ts';

/**
 * Where several GPUs measure, another best may be kept while a candidate is measured. So it is profiled apart, once it is seen that it would be
 * kept; elsewhere a profile is a part of the measurement.
 */
export const profilesApart = ({ options: { evaluator } }: Pick<Run, 'options'>): boolean =>
  evaluator.capacity !== undefined;

/** Whether the trial's candidate would be kept now, on the first workload, and findings of it are asked for. */
export function deservesProfile(run: Run, { trial, evaluation }: Landed): boolean {
  const [first] = run.options.workloads;
  const { measuring, workload = first } = trial.asked!;
  if (!evaluation || trial.isProfiled || measuring?.tier !== 'accept' || workload !== first) return false;
  if (!profilesApart(run) || run.proposer.asksNoFindings || trial.beside !== run.best) return false;
  return (
    isTimed(evaluation) &&
    evaluation.timing.kind === 'measured' &&
    decideBy(run.options.minimised, run.best.evaluation, evaluation).decision === 'keep'
  );
}

/**
 * Lets an idle GPU profile what would be kept. It is looked at after that, as if its measurement had profiled it; without a profile if the
 * user interrupts that: the measurement is paid for.
 */
export function startProfile(run: Run, trial: RunningTrial, evaluation: Evaluation): void {
  trial.isProfiled = true;
  trial.work = profileOf(run, trial.asked!, evaluation).then((profiled) => ({
    trial,
    evaluation: profiled ? withProfile(evaluation, profiled) : evaluation,
  }));
  trial.work.catch(() => {});
}

/** A profile that failed leaves the measurement as it is. */
function withProfile(evaluation: Evaluation, profiled: Evaluation): Evaluation {
  const { status, counters, countersSource, profile, findings, hiddenFindings, elapsedMs } = profiled;
  if (status !== 'passed') return evaluation;
  const spent = evaluation.elapsedMs;
  return {
    ...evaluation,
    ...{ counters, countersSource, profile, findings, hiddenFindings },
    elapsedMs: {
      compile: spent.compile + elapsedMs.compile,
      verify: spent.verify + elapsedMs.verify,
      time: spent.time + elapsedMs.total - elapsedMs.compile - elapsedMs.verify,
      total: spent.total + elapsedMs.total,
    },
  };
}
