import type { DeviceSpec } from '../core/device-spec.ts';
import { evaluateExpression } from '../core/expressions/evaluate.ts';
import type { ProblemFile, Workload } from '../core/problem.ts';
import { type TimeBound, vetoBoundNs } from '../hardware/bounds.ts';

/** The provable lower bound on the time of any kernel for a workload on a device. */
export function vetoBoundFor(problem: ProblemFile, workload: Workload, spec: DeviceSpec): TimeBound {
  const work = (name: 'flop' | 'minimumFlop' | 'minimumReadBytes') =>
    evaluateExpression(problem[name], workload.dimensions, { path: name });
  return vetoBoundNs(
    {
      flop: work('flop'),
      minimumFlop: work('minimumFlop'),
      minimumReadBytes: work('minimumReadBytes'),
      comparison: problem.comparison,
      cache: workload.cache,
    },
    spec,
  );
}
