import type { Timing } from '../core/timing.ts';
import { formatNs, formatRatio } from '../reports/format.ts';
import { combineRatios } from '../stats/combine-ratios.ts';
import type {
  ConfirmationEvent,
  DecisionEvent,
  EvaluationFinishedEvent,
  RecordedEvent,
  WeightedWorkload,
} from '../store/events.ts';

/** Follows the best candidate of a run through its events. A new run starts from nothing. */
export interface BestSoFar {
  note(this: void, event: RecordedEvent): void;
  /**
   * `e3, predicted 50 µs, 2.00× the start's speed`; over several workloads the ratio is their weighted mean. Measured,
   * the ratio is a confirmation's, and absent before there is one: times of different blocks are not divided.
   */
  describe(): string;
}

interface Best {
  readonly evaluationId: string;
  readonly candidateId: string;
  readonly timing: Timing;
  /** Workload → ns. */
  readonly times: ReadonlyMap<string, number>;
}

export function createBestSoFar(): BestSoFar {
  let workloads: readonly WeightedWorkload[] = [];
  /** Kept evaluations that still stand, in order: the start first, the best last. */
  let kept: Best[] = [];
  /** Candidate id → start's time ÷ its time on fresh blocks. */
  let confirmed = new Map<string, number>();
  /** Of runs that minimise energy: candidate id → start's joules ÷ its own on fresh blocks. */
  let less = new Map<string, number>();
  /** Evaluations of candidates that are not decided on. */
  let judged: EvaluationFinishedEvent['evaluation'][] = [];

  const begin = (ofRun: readonly WeightedWorkload[]): void => {
    workloads = ofRun;
    kept = [];
    confirmed = new Map();
    less = new Map();
    judged = [];
  };
  const decide = ({ decision, evaluationId }: DecisionEvent): void => {
    const own = judged.find(({ id }) => id === evaluationId);
    const timed = judged.filter(({ timing, candidate }) => timing && candidate.id === own?.candidate.id);
    judged = judged.filter(({ candidate }) => candidate.id !== own?.candidate.id);
    if (decision === 'revert' || !own?.timing) return;
    const times = new Map(timed.map(({ workload, timing }) => [workload.name, timing!.medianNs]));
    kept.push({ evaluationId, candidateId: own.candidate.id, timing: own.timing, times });
  };
  /** If a candidate is refused, the one before it is the best again. */
  const confirm = ({ candidate: { id }, outcome, ratio, energy }: ConfirmationEvent): void => {
    if (outcome !== 'refused' && energy) less.set(id, energy.ratio);
    if (outcome === 'refused') kept = kept.filter(({ candidateId }) => candidateId !== id);
    else if (ratio !== null) confirmed.set(id, ratio);
  };
  const predictedRatio = (best: Best): number => {
    const start = kept[0]!;
    const both = workloads.filter(({ name }) => start.times.has(name) && best.times.has(name));
    const ratios = both.map(({ name, weight }) => ({ ratio: start.times.get(name)! / best.times.get(name)!, weight }));
    return combineRatios(ratios).ratio;
  };
  const describeRatio = (best: Best): string => {
    const isMeasured = best.timing.kind === 'measured';
    const ratio = isMeasured ? confirmed.get(best.candidateId) : predictedRatio(best);
    if (ratio === undefined) return '';
    const over = workloads.length > 1 ? ` over ${workloads.length} workloads` : '';
    const energy = less.get(best.candidateId);
    const saved = energy === undefined ? '' : `confirmed ${formatRatio(energy)} less energy, `;
    return `, ${saved}${isMeasured ? 'confirmed ' : ''}${formatRatio(ratio)} the start's speed${over}`;
  };
  return {
    note(event) {
      if (event.type === 'run-started') begin(event.workloads);
      if (event.type === 'evaluation-finished') judged.push(event.evaluation);
      if (event.type === 'decision') decide(event);
      if (event.type === 'confirmation') confirm(event);
    },
    describe() {
      const best = kept.at(-1);
      if (!best) return 'none';
      return `${best.evaluationId}, ${best.timing.kind} ${formatNs(best.timing.medianNs)}${describeRatio(best)}`;
    },
  };
}
