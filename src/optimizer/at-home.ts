import type { DeviceIdentity } from '../core/device.ts';
import type { WeightedWorkload } from '../store/events.ts';
import { meanNs } from './objective.ts';
import type { Best } from './run.ts';

const boardOf = ({ uuid, id }: DeviceIdentity): string => uuid ?? id;

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
