import type { EnergyRatio } from '../core/energy.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Candidate } from '../core/kernel.ts';
import { verdictOf } from '../stats/verdict.ts';
import type { ConfirmationEvent, WeightedWorkload, WorkloadRatio } from '../store/events.ts';
import { evaluationsOfConfirmation } from './allowance.ts';
import { describeEnergy, energyBesideBest, whyNot } from './by-energy.ts';
import { describeComparison, isTimed } from './decision.ts';
import { measuredToDecide, minimisesEnergy } from './minimised.ts';
import { allTimed, combinedTimes, meanEnergy, meanNs, workloadRatio } from './objective.ts';
import { type Best, emit, evaluateOnce, isInterrupted, type Run, reference } from './run.ts';

/**
 * Blocks of a confirmation, fixed beforehand: the best of many candidates looks better than it is in the samples that
 * selected it.
 */
export const CONFIRMATION_BLOCKS = 20;

/**
 * Verifies the winner again, thoroughly, with a secret seed: on every workload, with every kind of input, and on drawn
 * shapes. On a GPU it also measures the winner against the start on fresh blocks and runs the sanitizer. If the winner is
 * refused, the previous best takes its place, down to the start, which needs no confirmation. If the device fails, the
 * winner stays unconfirmed and the run ends.
 */
export async function confirmBest(run: Run): Promise<void> {
  const start = run.bests[0];
  if (!start) return;
  while (run.bests.length > 1 && !isConfirmed(run) && !isInterrupted(run)) {
    const winner = run.bests.at(-1)!;
    // What is not confirmed is not claimed.
    if (lacksEvaluations(run)) return;
    run.confirmationSeed = seedOf(run);
    const evaluations = await judgeAgain(run, winner, start, run.confirmationSeed);
    if (!evaluations) return;
    const { status, reason } = evaluations.at(-1)!;
    if (status === 'device-failed') {
      const detail = `the device failed twice in a row during the confirmation of the winner: ${reason ?? 'no reason given'}`;
      run.stop = { reason: 'device-failed', detail };
      return;
    }
    run.confirmation = confirmationOf(run, winner, evaluations);
    emit(run, run.confirmation);
    if (run.confirmation.outcome !== 'refused') {
      run.options.onBest?.(winner, run.confirmation);
      return;
    }
    run.bests.pop();
    run.best = run.bests.at(-1)!;
    run.options.onBest?.(run.best);
  }
}

/** Whether the limit in evaluations leaves none for a confirmation. */
export const lacksEvaluations = ({ budget, options }: Run): boolean =>
  (budget.evaluationsLeft ?? Number.POSITIVE_INFINITY) < evaluationsOfConfirmation(options.workloads.length);

/** Whether a confirmation has accepted the best. */
export const isConfirmed = ({ best, confirmation }: Run): boolean =>
  confirmation !== undefined && confirmation.outcome !== 'refused' && confirmation.candidate.id === best?.candidate.id;

/** The logged seed, if the log of a resumed run has one; otherwise a new one, drawn or derived from the given seed. */
function seedOf({ options, history, confirmationSeed }: Run): number {
  const logged = history.next();
  const known = logged?.type === 'evaluation-finished' ? logged.evaluation.seed : undefined;
  const after = confirmationSeed ?? options.seed;
  return known ?? options.drawSeed?.(after) ?? options.seed + 1;
}

/** The evaluations of the winner on every workload, up to the first that refutes it; undefined if interrupted. */
async function judgeAgain(run: Run, winner: Best, start: Best, seed: number): Promise<Evaluation[] | undefined> {
  const evaluations: Evaluation[] = [];
  const isMeasured = start.evaluation.timing.kind === 'measured';
  for (const [index, workload] of run.options.workloads.entries()) {
    const evaluation = await judgeOn({ run, workload, winner, start, seed, isFirst: index === 0 });
    if (!evaluation) return undefined;
    evaluations.push(evaluation);
    if (!isTimed(evaluation) || (isMeasured && !evaluation.comparisons?.[0])) break;
    if (minimisesEnergy(run.options) && !energyBesideBest(evaluation)) break;
  }
  return evaluations;
}

/** Tries again after a failure of the device, which is not the winner's fault. */
async function judgeOn(request: {
  run: Run;
  workload: WeightedWorkload;
  winner: Best;
  start: Best;
  seed: number;
  /** Once is enough for the sanitizer, which runs the check shapes for any workload, and for a profile, where the search made none. */
  isFirst: boolean;
}): Promise<Evaluation | undefined> {
  const { run, workload, winner, start, seed, isFirst } = request;
  const { candidate } = winner;
  const against = [{ name: 'start', candidate: start.candidate }];
  const energy = run.options.energy || minimisesEnergy(run.options);
  const profile = isFirst && run.proposer.asksNoFindings ? 'light' : 'none';
  const measured = {
    tier: 'accept',
    blocks: CONFIRMATION_BLOCKS,
    against,
    energy,
    ...measuredToDecide(run.options),
  } as const;
  const measuring = { ...measured, sanitize: isFirst, profile } as const;
  const isWritten = ![run.options.start.kernel, ...run.options.rungs].includes(candidate.kernel);
  const judge = () => evaluateOnce(run, { candidate, workload, measuring, seed, thorough: true, isWritten });
  const evaluation = await judge();
  return evaluation?.status === 'device-failed' && run.budget.evaluationsLeft !== 0 ? judge() : evaluation;
}

function confirmationOf(run: Run, { candidate }: Best, evaluations: readonly Evaluation[]): ConfirmationEvent {
  const { workloads, requireSanitizer = false } = run.options;
  const [first] = evaluations;
  if (run.start?.timing?.kind === 'predicted') return predictedConfirmation(run, candidate, evaluations);
  const sanitizer = first!.sanitizer?.outcome ?? null;
  const byEnergy = minimisesEnergy(run.options);
  const perWorkload = evaluations.map((evaluation, i) => partOf(run, workloads[i]!, evaluation));
  const measured = resultOf(workloads, evaluations, perWorkload);
  const energy = byEnergy ? energyOf(workloads, evaluations, perWorkload) : undefined;
  return {
    type: 'confirmation',
    evaluationId: first!.id,
    candidate: reference(candidate),
    ratio: measured?.ratio ?? null,
    medianNs: timeOf(workloads, evaluations),
    verdict: measured?.verdict ?? null,
    intervalRatio: measured?.intervalRatio ?? null,
    energy,
    sanitizer,
    perWorkload: workloads.length > 1 ? perWorkload : undefined,
    ...judge({ evaluations, perWorkload, measured, byEnergy, energy, sanitizer, requireSanitizer }),
  };
}

/** A predicted time needs no confirmation, because it depends on the kernel alone. Only correctness does. */
function predictedConfirmation(
  { confirmationSeed }: Run,
  candidate: Candidate,
  evaluations: readonly Evaluation[],
): ConfirmationEvent {
  const { id, status, reason, coverage } = evaluations.at(-1)!;
  const drawn = coverage ? `, on ${coverage.drawnShapes.length} drawn shapes` : '';
  return {
    type: 'confirmation',
    evaluationId: evaluations[0]!.id,
    candidate: reference(candidate),
    ...{ ratio: null, medianNs: null, verdict: null, intervalRatio: null, sanitizer: null },
    ...(evaluations.every(isTimed)
      ? { outcome: 'accepted', reason: `right with seed ${confirmationSeed} too${drawn} and with every kind of input` }
      : { outcome: 'refused', reason: `${status} in ${id}: ${reason ?? 'no reason given'}` }),
  };
}

/** The weighted geometric mean over the workloads; `null` unless all of them have a time. */
function timeOf(workloads: readonly WeightedWorkload[], evaluations: readonly Evaluation[]): number | null {
  const timed = allTimed(workloads, new Map(evaluations.map((one, i) => [workloads[i]!.name, one])));
  return timed ? meanNs(workloads, timed, 'medianNs') : null;
}

function partOf({ options }: Run, workload: WeightedWorkload, evaluation: Evaluation): WorkloadRatio {
  const timed = isTimed(evaluation) ? evaluation : undefined;
  const { ratio = null, intervalRatio } = timed?.comparisons?.[0] ?? {};
  const energy = timed && minimisesEnergy(options) ? energyBesideBest(timed) : undefined;
  return workloadRatio(options.minimised, workload, evaluation, { ratio, intervalRatio, energy });
}

type Measured = Required<Pick<ConfirmationEvent, 'ratio' | 'verdict' | 'intervalRatio'>> & {
  ratio: number;
  intervalRatio: readonly [number, number];
};

/** The result over all workloads; with one workload, its own comparison. */
function resultOf(
  workloads: readonly WeightedWorkload[],
  evaluations: readonly Evaluation[],
  perWorkload: readonly WorkloadRatio[],
): Measured | undefined {
  const comparisons = evaluations.flatMap((one) => (isTimed(one) ? (one.comparisons?.slice(0, 1) ?? []) : []));
  if (comparisons.length < workloads.length) return undefined;
  if (workloads.length === 1) return comparisons[0];
  const { ratio, intervalRatio } = combinedTimes(perWorkload);
  const blocks = Math.min(...comparisons.map(({ blockCount }) => blockCount));
  return { ratio, intervalRatio: intervalRatio!, verdict: verdictOf(intervalRatio!, blocks) };
}

/** The energy over all workloads; undefined unless all of them have one. */
function energyOf(
  workloads: readonly WeightedWorkload[],
  evaluations: readonly Evaluation[],
  perWorkload: readonly WorkloadRatio[],
): EnergyRatio | undefined {
  if (perWorkload.filter(({ energy }) => energy).length < workloads.length) return undefined;
  return workloads.length === 1 ? perWorkload[0]!.energy : meanEnergy(perWorkload, evaluations);
}

interface Grounds {
  readonly evaluations: readonly Evaluation[];
  readonly perWorkload: readonly WorkloadRatio[];
  readonly measured: Measured | undefined;
  /** Whether the energy decides, and what it was. */
  readonly byEnergy: boolean;
  readonly energy: EnergyRatio | undefined;
  readonly sanitizer: ConfirmationEvent['sanitizer'];
  readonly requireSanitizer: boolean;
}

type Judgement = Pick<ConfirmationEvent, 'outcome' | 'reason'>;

function judge({ evaluations, perWorkload, measured, byEnergy, energy, ...rest }: Grounds): Judgement {
  const last = evaluations.at(-1)!;
  if (!isTimed(last)) return { outcome: 'refused', reason: `${last.status}: ${last.reason ?? 'it has no time'}` };
  if (byEnergy && last.comparisons?.[0] && !energyBesideBest(last))
    return { outcome: 'refused', reason: `its energy was not measured: ${whyNot(last)}` };
  if (!measured) {
    const why = last.missingBaselines?.[0]?.reason ?? 'no reason given';
    return { outcome: 'refused', reason: `the start could not be measured in the same blocks: ${why}` };
  }
  const speed = `${describeComparison(measured)} the speed of the start`;
  const described = energy ? `${describeEnergy(energy, 'the start')}; ${speed}` : speed;
  const isBetter = energy ? energy.verdict === 'less' : measured.verdict === 'faster';
  if (!isBetter) return { outcome: 'refused', reason: energy ? described : `${measured.verdict}: ${described}` };
  const vetoing = perWorkload.find(({ vetoes }) => vetoes);
  if (vetoing) return { outcome: 'refused', reason: `${vetoing.workload} vetoes it: ${toldBy(vetoing)}` };
  return clearedBy(rest.sanitizer, evaluations[0]!, rest.requireSanitizer, described);
}

const toldBy = ({ ratio, energy }: WorkloadRatio): string =>
  energy ? `the joules of the start ÷ its own are ${energy.ratio.toFixed(3)}×` : `${ratio!.toFixed(3)}×`;

function clearedBy(
  sanitizer: ConfirmationEvent['sanitizer'],
  evaluation: Evaluation,
  requireSanitizer: boolean,
  described: string,
): Judgement {
  const why = sanitizerText(evaluation);
  const { clearedBy, uncleared } = evaluation.sanitizer?.doubt ?? {};
  if (sanitizer === 'errors' && clearedBy !== undefined && !requireSanitizer)
    return { outcome: 'accepted, unsanitized', reason: `${described}; ${contradictedBy(clearedBy)}; ${why}` };
  const unseen = uncleared === undefined ? '' : `; no race checker of a virtual GPU followed it: ${uncleared}`;
  if (sanitizer === 'errors') return { outcome: 'refused', reason: `the sanitizer found errors: ${why}${unseen}` };
  if (sanitizer === 'clean') return { outcome: 'accepted', reason: described };
  return requireSanitizer
    ? { outcome: 'refused', reason: `the sanitizer is required and has not cleared it: ${why}` }
    : { outcome: 'accepted, unsanitized', reason: `${described}; ${why}` };
}

const contradictedBy = (by: string): string =>
  `racecheck, which loses track of barriers of some of a CTA's threads, reported races; the race checker of ${by} followed it and found none`;

/** Why the sanitizer did not call a kernel clean. */
const sanitizerText = ({ sanitizer }: Evaluation): string =>
  sanitizer?.tools
    .filter(({ outcome }) => outcome !== 'clean')
    .map(({ tool, outcome, detail }) => `${tool} ${outcome}: ${detail}`)
    .join('; ') ?? 'no sanitizer was run';
