import { errorFactor, geometricMean, isWithinInterval, kendallTau } from '../../scripts/results/model-accuracy.ts';
import type { DeviceSpec } from '../../src/core/device-spec.ts';
import type { MachineCode } from '../../src/hardware/launch-model/constants.ts';
import { predictTime } from '../../src/hardware/launch-model/predict-time.ts';
import type { TimedKernel } from './recorded-times.ts';

export interface Prediction extends TimedKernel {
  readonly predictedNs: number;
  readonly intervalNs: readonly [number, number];
}

/** Predicts every kernel, knowing its counters and memsets alone: no bound of its problem. */
export const predictAll = (times: readonly TimedKernel[], spec: DeviceSpec, code: MachineCode): Prediction[] =>
  times.map((time) => {
    const { medianNs, intervalNs } = predictTime(
      time.counters,
      spec,
      { vetoNs: 0, attainableNs: 0 },
      { memsetBytes: time.memsetBytes, code },
    );
    return { ...time, predictedNs: medianNs, intervalNs: [intervalNs[0], intervalNs[1]] };
  });

export interface Accuracy {
  readonly count: number;
  /** Geometric mean of predicted ÷ measured, or of its inverse where that is above 1. */
  readonly error: number;
  readonly worst: number;
  /** Share of the measured times inside the intervals, 0…1. */
  readonly within: number;
  /** Kendall's τ over all of them; NaN for one. */
  readonly tau: number;
}

export function accuracyOf(predictions: readonly Prediction[]): Accuracy {
  const factors = predictions.map(errorFactor);
  return {
    count: predictions.length,
    error: geometricMean(factors),
    worst: Math.max(...factors),
    within: predictions.filter(isWithinInterval).length / predictions.length,
    tau: kendallTau(predictions),
  };
}

export interface GroupAccuracy {
  readonly group: string;
  readonly count: number;
  /** Mean of Kendall's τ over the workloads, weighted with their sizes. */
  readonly tau: number;
  /** Measured time of what is predicted best ÷ that of the measured best; the geometric mean over the workloads. */
  readonly regret: number;
}

const FEWEST_TO_RANK = 3;

/** By group, comparing only what ran on the same workload. Groups of fewer than three are left out. */
export function withinGroups(
  predictions: readonly Prediction[],
  groupOf: (prediction: Prediction) => string,
): GroupAccuracy[] {
  const groups = Map.groupBy(predictions, groupOf);
  return [...groups].flatMap(([group, members]) => {
    const workloads = [...Map.groupBy(members, ({ workload }) => workload).values()].filter(
      (same) => same.length >= FEWEST_TO_RANK,
    );
    const count = workloads.reduce((sum, same) => sum + same.length, 0);
    if (count === 0) return [];
    const tau = workloads.reduce((sum, same) => sum + kendallTau(same) * same.length, 0) / count;
    return [{ group, count, tau, regret: geometricMean(workloads.map(regretOf)) }];
  });
}

function regretOf(predictions: readonly Prediction[]): number {
  const chosen = predictions.reduce((best, one) => (one.predictedNs < best.predictedNs ? one : best));
  return chosen.measuredNs / Math.min(...predictions.map(({ measuredNs }) => measuredNs));
}
