import { makeCandidate } from '../core/candidate.ts';
import type { EnergyRatio } from '../core/energy.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Candidate } from '../core/kernel.ts';
import { takesWorkload } from '../core/plan/takes-workload.ts';
import type { AblationEvent } from '../store/events.ts';
import { evaluationsOfConfirmation } from './allowance.ts';
import { energyBesideBest, whyNot } from './by-energy.ts';
import { isTimed, type TimedEvaluation } from './decision.ts';
import { decideBy, measuredToDecide, minimisesEnergy } from './minimised.ts';
import { onRung, type ProposedMove } from './propose-moves.ts';
import { type Best, emit, evaluateOnce, isInterrupted, type Measuring, type Run, reference } from './run.ts';

/** Most changes to undo; each may cost an evaluation. */
const MOST_CHANGES = 8;

/** The best with one change undone. It has no candidate if the kernel is invalid without the change. */
interface Undoing {
  readonly undone: AblationEvent['undone'];
  readonly candidate: Candidate | undefined;
}

/** A candidate that was faster without one of the best's changes. */
export interface Improvement {
  readonly move: ProposedMove;
  /** On the first workload. */
  readonly evaluation: TimedEvaluation;
}

/**
 * Undoes the winner's changes one at a time and judges the result on the first workload. This shows what each change is
 * worth together with the others. Uses the evaluations that the search and the confirmation left, except the reserve for
 * later steps.
 *
 * @returns the best candidate that is faster without a change, as a move of its own: a change that helped once may not help
 * together with later ones.
 */
export async function ablateBest(run: Run): Promise<Improvement | undefined> {
  const { best, bests, options } = run;
  if (!best || bests.length < 2 || options.ablation === false || run.ablated.has(best.evaluation.id)) return undefined;
  run.ablated.add(best.evaluation.id);
  let improvement: (Improvement & { ratio: number }) | undefined;
  for (const undoing of undoings(bests, run).slice(0, MOST_CHANGES)) {
    if (isInterrupted(run)) return undefined;
    const judged = await judgeWithout(run, best, undoing);
    if (!judged) continue;
    emit(run, judged.event);
    const { ratio: ofTimes, energy } = judged.event;
    const ratio = minimisesEnergy(options) ? (energy?.ratio ?? null) : ofTimes;
    if (ratio === null || !(ratio < (improvement?.ratio ?? 1)) || !isBetter(run, best, judged)) continue;
    improvement = {
      ratio,
      move: undoingMove(run, best, undoing, ratio),
      evaluation: judged.evaluation as TimedEvaluation,
    };
  }
  return improvement;
}

/** Whether the loop would keep the ablated candidate as a change of the best. */
const isBetter = ({ options }: Run, best: Best, { evaluation }: Judged): boolean =>
  evaluation !== undefined && decideBy(options.minimised, best.evaluation, evaluation).decision === 'keep';

const undoingMove = ({ options }: Run, best: Best, { undone, candidate }: Undoing, ratio: number): ProposedMove => ({
  key: `ablation/${undone.kind === 'rung' ? undone.to : undone.parameter}`,
  pattern: { id: 'ablation', title: 'Undo a change that no longer helps' },
  finding: {
    id: 'none',
    estimatedSpeedup: 1,
    evidence: `the best ${minimisesEnergy(options) ? 'needs less energy' : 'is faster'} without it`,
  },
  change:
    undone.kind === 'rung'
      ? { kind: 'rung', from: undone.from, to: undone.to }
      : {
          kind: 'parameter',
          kernel: best.candidate.kernel.file.name,
          parameter: undone.parameter,
          from: undone.from,
          to: undone.to,
        },
  candidate: candidate!,
  expectedGain: 1 / ratio,
  confidence: 1,
  reason: 'the ablation judged it',
});

/**
 * First the rung before the best's rung, with the best's settings; then each parameter with its value from when the best's
 * rung was reached.
 */
function undoings(bests: readonly Best[], { options }: Run): Undoing[] {
  const { candidate: best } = bests.at(-1)!;
  const { dimensions } = options.workloads[0]!;
  const arrival = bests.findIndex(({ candidate }) => candidate.kernel.file.name === best.kernel.file.name);
  const before = bests[arrival - 1]?.candidate;
  const rung: Undoing[] = before
    ? [
        {
          undone: { kind: 'rung', from: best.kernel.file.name, to: before.kernel.file.name },
          candidate: onRung(best, before.kernel, dimensions),
        },
      ]
    : [];
  const arrived = bests[arrival]!.candidate.parameters;
  const parameters = Object.entries(best.parameters)
    .filter(([name, value]) => arrived[name] !== value)
    .map(([parameter, from]): Undoing => {
      const to = arrived[parameter]!;
      const candidate = makeCandidate(best.kernel, { ...best.parameters, [parameter]: to });
      return {
        undone: { kind: 'parameter', parameter, from, to },
        candidate: takesWorkload(candidate, dimensions) ? candidate : undefined,
      };
    });
  return [...rung, ...parameters];
}

/** What the judgement of a candidate without a change says. */
type Compared = Pick<AblationEvent, 'evaluationId' | 'ratio' | 'intervalRatio' | 'energy' | 'reason'>;

interface Judged {
  readonly event: AblationEvent;
  readonly evaluation?: Evaluation;
}

/** Undefined when interrupted. */
async function judgeWithout(run: Run, best: Best, { undone, candidate }: Undoing): Promise<Judged | undefined> {
  const event = (rest: Compared): Judged => ({
    event: {
      type: 'ablation',
      best: best.evaluation.id,
      undone,
      candidate: reference(candidate ?? best.candidate),
      ...rest,
    },
  });
  const notJudged = (reason: string): Judged => event({ evaluationId: null, ratio: null, reason });
  if (!candidate) return notJudged('without this change the others give no valid kernel');
  const known = knownOf(run, best, candidate);
  const logged = run.history.next();
  if (!known && logged?.type === 'ablation') return notJudged(logged.reason ?? 'not judged');
  const spent = known || logged ? undefined : run.budget.spentAfterSearch(keptAside(run));
  if (spent) return notJudged(`not judged: ${spent.detail}`);
  const evaluation = known ?? (await evaluateOnce(run, { candidate, measuring: beside(run, best) }));
  return evaluation && { ...event(comparison(run, best, evaluation)), evaluation };
}

/** Evaluations for advice, and for judging and confirming a change that is undone for good on the other workloads. */
function keptAside({ budget, options }: Run): number {
  const { length } = options.workloads;
  return budget.limits.allowance.advice + length - 1 + evaluationsOfConfirmation(length);
}

const beside = ({ options }: Run, best: Best): Measuring => ({
  tier: 'accept',
  against: [{ name: 'best', candidate: best.candidate }],
  ...measuredToDecide(options),
});

/** A repeated prediction gives the same time; a repeated measurement must run beside the best. */
const knownOf = ({ judgements, options }: Run, best: Best, candidate: Candidate): Evaluation | undefined =>
  best.evaluation.timing.kind === 'predicted'
    ? judgements.get(candidate.id)?.get(options.workloads[0]!.name)
    : undefined;

function comparison({ options }: Run, best: Best, evaluation: Evaluation): Compared {
  const evaluationId = evaluation.id;
  if (!isTimed(evaluation)) {
    return { evaluationId, ratio: null, reason: `${evaluation.status}: ${evaluation.reason ?? 'it has no time'}` };
  }
  if (evaluation.timing.kind === 'predicted') {
    return { evaluationId, ratio: evaluation.timing.medianNs / best.evaluation.timing.medianNs };
  }
  const measured = evaluation.comparisons?.[0];
  if (!measured) return { evaluationId, ratio: null, reason: 'the best could not be measured in the same blocks' };
  const times = { evaluationId, ...inverse(measured) };
  if (!minimisesEnergy(options)) return times;
  const energy = energyBesideBest(evaluation);
  return energy ? { ...times, energy: inverse(energy) } : { ...times, reason: `no energy: ${whyNot(evaluation)}` };
}

/** Without the change ÷ with it. */
const inverse = ({ ratio, intervalRatio: [low, high] }: Pick<EnergyRatio, 'ratio' | 'intervalRatio'>) => ({
  ratio: 1 / ratio,
  intervalRatio: [1 / high, 1 / low] as const,
});
