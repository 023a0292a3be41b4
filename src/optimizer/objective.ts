import type { DeviceIdentity } from '../core/device.ts';
import { type EnergyRatio, measuredEnergy } from '../core/energy.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Minimised } from '../core/vocabulary.ts';
import { combineRatios } from '../stats/combine-ratios.ts';
import { energyVerdictOf } from '../stats/compare-energy.ts';
import { verdictOf } from '../stats/verdict.ts';
import type { WeightedWorkload, WorkloadRatio } from '../store/events.ts';
import { describeEnergy } from './by-energy.ts';
import {
  type Decision,
  describeComparison,
  describeRatio,
  isTimed,
  KEEP_RATIO,
  type TimedEvaluation,
} from './decision.ts';
import { decideBy, gainOf } from './minimised.ts';
import type { Best, OptimizeOptions } from './run.ts';

/** A candidate that is more than 2 % slower (or needs more energy than that) on any workload is reverted, even if it gains on the others. */
export const VETO_RATIO = 1 / 1.02;

/** A decision over one workload or several. */
export interface ObjectiveDecision extends Decision {
  perWorkload?: WorkloadRatio[];
}

/** What a run is about. */
type Objective = Pick<OptimizeOptions, 'workloads' | 'minimised'>;

/**
 * One workload: as {@link decideBy}. Several: keeps a change if the weighted geometric mean of the ratios reaches the
 * threshold for one workload, and if no workload vetoes it. Reverts if some workload was not judged.
 */
export function decideObjective(
  { workloads, minimised }: Objective,
  best: Best,
  judged: ReadonlyMap<string, Evaluation>,
): ObjectiveDecision {
  const [first] = workloads;
  if (workloads.length === 1) return decideBy(minimised, best.evaluation, judged.get(first!.name)!);
  const parts = workloads.flatMap((workload) => partOf(minimised, workload, best, judged.get(workload.name)));
  const perWorkload = parts.map(({ part }) => part);
  const vetoing = parts.find(({ part }) => part.vetoes);
  if (vetoing) {
    const { workload } = vetoing.part;
    return { decision: 'revert', ratio: null, perWorkload, reason: `${workload} vetoes it: ${vetoing.reason}` };
  }
  if (parts.length < workloads.length) {
    const { reason } = parts.at(-1)!;
    return { decision: 'revert', ratio: null, perWorkload, reason: `${perWorkload.at(-1)!.workload}: ${reason}` };
  }
  const decision = minimised === 'energy' ? combinedEnergy(perWorkload, judged) : combined(perWorkload, best, judged);
  return { ...decision, perWorkload };
}

interface Part {
  readonly part: WorkloadRatio;
  readonly reason: string;
}

function partOf(
  minimised: Minimised | undefined,
  workload: WeightedWorkload,
  best: Best,
  evaluation: Evaluation | undefined,
): Part[] {
  if (!evaluation) return [];
  const decision = decideBy(minimised, best.evaluations.get(workload.name)!, evaluation);
  return [{ part: workloadRatio(minimised, workload, evaluation, decision), reason: decision.reason }];
}

/** What a candidate is on one workload, and whether that vetoes it. */
export function workloadRatio(
  minimised: Minimised | undefined,
  { name, weight }: WeightedWorkload,
  { id }: Evaluation,
  { ratio, intervalRatio, energy }: Pick<Decision, 'ratio' | 'intervalRatio' | 'energy'>,
): WorkloadRatio {
  const gain = gainOf(minimised, { ratio, energy });
  return {
    workload: name,
    weight,
    evaluationId: id,
    ratio,
    intervalRatio,
    energy,
    vetoes: !(gain !== null && gain >= VETO_RATIO),
  };
}

/** The weighted geometric mean of ratios of times, each of which is known. */
export const combinedTimes = (perWorkload: readonly WorkloadRatio[]) =>
  combineRatios(perWorkload.map((part) => ({ ...part, ratio: part.ratio! })));

function combined(
  perWorkload: readonly WorkloadRatio[],
  { evaluation: { timing } }: Best,
  judged: ReadonlyMap<string, Evaluation>,
): Decision {
  const { ratio, intervalRatio } = combinedTimes(perWorkload);
  const of = `over ${perWorkload.length} workloads`;
  if (timing.kind === 'predicted' || !intervalRatio) {
    const decision = ratio >= KEEP_RATIO ? 'keep' : 'revert';
    return { decision, ratio, reason: `${describeRatio(timing.kind, ratio)} ${of}` };
  }
  const verdict = verdictOf(intervalRatio, fewestBlocks(judged));
  const reason = `${verdict}: ${describeComparison({ ratio, intervalRatio })} the speed of the best ${of}`;
  return { decision: verdict === 'faster' ? 'keep' : 'revert', ratio, verdict, intervalRatio, reason };
}

/** Both over all workloads: energies decide, times are told. Every part has an energy, because one without vetoes. */
function combinedEnergy(perWorkload: readonly WorkloadRatio[], judged: ReadonlyMap<string, Evaluation>): Decision {
  const times = combinedTimes(perWorkload);
  const energy = meanEnergy(perWorkload, [...judged.values()]);
  const of = `over ${perWorkload.length} workloads`;
  const { intervalRatio } = times;
  const time = intervalRatio ? { intervalRatio, verdict: verdictOf(intervalRatio, fewestBlocks(judged)) } : undefined;
  const described = time ? `; ${describeComparison({ ...time, ratio: times.ratio })} its speed` : '';
  return {
    decision: energy.verdict === 'less' ? 'keep' : 'revert',
    ratio: times.ratio,
    ...time,
    energy,
    reason: `${describeEnergy(energy, 'the best')} ${of}${described}`,
  };
}

/** The weighted geometric mean of energy ratios, with a verdict of its own. */
export function meanEnergy(perWorkload: readonly WorkloadRatio[], judged: readonly Evaluation[]): EnergyRatio {
  const { ratio, intervalRatio } = combineRatios(perWorkload.map(({ energy, weight }) => ({ ...energy!, weight })));
  const blocks = Math.min(...judged.map(({ energy }) => measuredEnergy(energy)?.comparisons[0]?.blockCount ?? 0));
  return { ratio, intervalRatio: intervalRatio!, verdict: energyVerdictOf(intervalRatio!, blocks) };
}

const fewestBlocks = (judged: ReadonlyMap<string, Evaluation>): number =>
  Math.min(...[...judged.values()].map(({ comparisons }) => comparisons?.[0]?.blockCount ?? 0));

/** Start's time ÷ best's time over all workloads, for predicted times, and for measured times before the confirmation. */
export function objectiveRatio(workloads: readonly WeightedWorkload[], start: Best, best: Best): number {
  const timeOf = ({ evaluations }: Best, name: string) => evaluations.get(name)!.timing.medianNs;
  return combineRatios(
    workloads.map(({ name, weight }) => ({ ratio: timeOf(start, name) / timeOf(best, name), weight })),
  ).ratio;
}

/** Weighted geometric mean of one field of each workload's timing, in ns. */
export const meanNs = (
  workloads: readonly WeightedWorkload[],
  evaluations: ReadonlyMap<string, TimedEvaluation>,
  figure: 'medianNs' | 'vetoNs' | 'attainableNs',
): number =>
  combineRatios(workloads.map(({ name, weight }) => ({ ratio: evaluations.get(name)!.timing[figure], weight }))).ratio;

/**
 * A best's time over all workloads on the GPU that measured the start, in ns. Where another GPU measured it, its own time says little: boards of one
 * model differ by some per cent. So it is the start's time ÷ how many times as fast the best is, by ratios of which each comes from blocks of one GPU.
 */
export function timeAtHomeNs(workloads: readonly WeightedWorkload[], best: Best, start: Best): number {
  const isAway = [...best.evaluations].some(
    ([workload, { device, timing }]) =>
      timing.kind === 'measured' && boardOf(device) !== boardOf(start.evaluations.get(workload)!.device),
  );
  return isAway
    ? meanNs(workloads, start.evaluations, 'medianNs') / best.ratioToStart
    : meanNs(workloads, best.evaluations, 'medianNs');
}

const boardOf = ({ uuid, id }: DeviceIdentity): string => uuid ?? id;

/** The evaluations of all workloads, if all passed and have a time. */
export function allTimed(
  workloads: readonly WeightedWorkload[],
  judged: ReadonlyMap<string, Evaluation>,
): ReadonlyMap<string, TimedEvaluation> | undefined {
  const timed = workloads.flatMap(({ name }) => {
    const evaluation = judged.get(name);
    return evaluation && isTimed(evaluation) ? [[name, evaluation] as const] : [];
  });
  return timed.length === workloads.length ? new Map(timed) : undefined;
}
