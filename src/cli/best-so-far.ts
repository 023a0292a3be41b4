import type { Timing } from '../core/timing.ts';
import { formatNs, formatRatio } from '../reports/format.ts';
import { combineRatios } from '../stats/combine-ratios.ts';
import type { DecisionEvent, EvaluationFinishedEvent, RecordedEvent, WeightedWorkload } from '../store/events.ts';

/** The best candidate of a run so far, from the run's events; a further run begins anew. */
export interface BestSoFar {
  note(this: void, event: RecordedEvent): void;
  /** `e3, predicted 50 µs, 2.00× the start's speed`; over several workloads the ratio is their weighted mean. */
  describe(): string;
}

interface Best {
  readonly evaluationId: string;
  readonly timing: Timing;
  /** Workload → ns. */
  readonly times: ReadonlyMap<string, number>;
}

export function createBestSoFar(): BestSoFar {
  let workloads: readonly WeightedWorkload[] = [];
  let start: Best | undefined;
  let best: Best | undefined;
  /** What was judged since the last decision. */
  let judged: EvaluationFinishedEvent['evaluation'][] = [];

  const begin = (ofRun: readonly WeightedWorkload[]): void => {
    workloads = ofRun;
    start = undefined;
    best = undefined;
    judged = [];
  };
  const decide = ({ decision, evaluationId }: DecisionEvent): void => {
    const timed = judged.filter(({ timing }) => timing !== undefined);
    const timing = timed.find(({ id }) => id === evaluationId)?.timing;
    judged = [];
    if (decision === 'revert' || !timing) return;
    best = { evaluationId, timing, times: new Map(timed.map((one) => [one.workload.name, one.timing!.medianNs])) };
    start ??= best;
  };
  const ratioToStart = (): number => {
    const both = workloads.filter(({ name }) => start!.times.has(name) && best!.times.has(name));
    const ratios = both.map(({ name, weight }) => ({
      ratio: start!.times.get(name)! / best!.times.get(name)!,
      weight,
    }));
    return combineRatios(ratios).ratio;
  };
  return {
    note(event) {
      if (event.type === 'run-started') begin(event.workloads);
      if (event.type === 'evaluation-finished') judged.push(event.evaluation);
      if (event.type === 'decision') decide(event);
    },
    describe() {
      if (!best) return 'none';
      const { evaluationId, timing } = best;
      const over = workloads.length > 1 ? ` over ${workloads.length} workloads` : '';
      return `${evaluationId}, ${timing.kind} ${formatNs(timing.medianNs)}, ${formatRatio(ratioToStart())} the start's speed${over}`;
    },
  };
}
