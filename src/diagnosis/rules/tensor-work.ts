import type { LaunchCounters } from '../../core/counters.ts';
import type { StallReason } from '../../core/vocabulary.ts';
import type { ModelledLaunch } from '../rule.ts';

/** Whether most of a launch's arithmetic runs on the tensor cores. */
export const isTensorWork = ({ flop }: LaunchCounters): boolean => flop.tensor > flop.fp32 + flop.fp16;

/** Modelled time that one resource alone takes for a launch, in ns. */
export const resourceNs = ({ model }: ModelledLaunch, resource: string): number =>
  model.bounds.find((bound) => bound.resource === resource)?.ns ?? 0;

/** Share of a warp's time that the profiler saw it wait for these reasons; undefined if it did not look. */
export function stallRatio({ activity }: LaunchCounters, reasons: readonly StallReason[]): number | undefined {
  const seen = reasons.flatMap((reason) => activity?.stallRatios?.[reason] ?? []);
  return seen.length === 0 ? undefined : seen.reduce((sum, ratio) => sum + ratio, 0);
}
