import type { DeviceSpec } from '../core/device-spec.ts';
import { evaluateExpression } from '../core/expressions/evaluate.ts';
import type { MeasuredPeaks } from '../core/measured-peaks.ts';
import type { ProblemFile, Workload } from '../core/problem.ts';
import type { Roofline } from '../core/roofline.ts';
import { attainableBoundNs, attainableRoof, type TimeBound, vetoBoundNs, vetoRoof } from '../hardware/bounds.ts';

type Work = Parameters<typeof vetoBoundNs>[0];

function workOf(problem: ProblemFile, workload: Workload): Work {
  const value = (name: 'flop' | 'minimumFlop' | 'minimumReadBytes') =>
    evaluateExpression(problem[name], workload.dimensions, { path: name });
  return {
    flop: value('flop'),
    minimumFlop: value('minimumFlop'),
    minimumReadBytes: value('minimumReadBytes'),
    comparison: problem.comparison,
    cache: workload.cache,
  };
}

/** The provable lower bound on the time of any kernel for a workload on a device. */
export const vetoBoundFor = (problem: ProblemFile, workload: Workload, spec: DeviceSpec): TimeBound =>
  vetoBoundNs(workOf(problem, workload), spec);

/** FLOP of a workload as the problem counts them, and both bounds on its time. */
export function workAndBounds(
  problem: ProblemFile,
  workload: Workload,
  spec: DeviceSpec,
): { flop: number; vetoNs: number; attainableNs: number } {
  const work = workOf(problem, workload);
  return { flop: work.flop, vetoNs: vetoBoundNs(work, spec).ns, attainableNs: attainableBoundNs(work, spec).ns };
}

/** The figures of a run's roofline. The run logs them, so that a report needs no device. */
export function rooflineOf(
  problem: ProblemFile,
  workload: Workload,
  spec: DeviceSpec,
  peaks?: MeasuredPeaks,
): Roofline {
  const work = workOf(problem, workload);
  const { flop, minimumFlop, minimumReadBytes } = work;
  return {
    workload: workload.name,
    flop,
    minimumFlop,
    minimumReadBytes,
    veto: vetoRoof(work, spec),
    attainable: attainableRoof(work, spec, peaks),
  };
}
