import type { KernelResources } from '../../core/counters.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import type { PlannedLaunch } from '../../core/launch-plan.ts';
import type { Occupancy } from '../../core/timing.ts';
import { occupancy } from '../../hardware/occupancy.ts';
import type { PtxInstruction } from '../../ptx/ast.ts';
import type { KernelImage } from '../../virtual-gpu/kernel-image.ts';

/** What limits how many CTAs of a launch an SM holds, and to how many. */
export const occupancyOf = (
  { block, dynamicSharedBytes }: Pick<PlannedLaunch, 'block' | 'dynamicSharedBytes'>,
  resources: KernelResources,
  spec: DeviceSpec,
): Occupancy => occupancy({ ...resources, dynamicSharedBytes }, block[0] * block[1] * block[2], spec);

/**
 * How many CTAs of an ordinary launch run beside each other if they wait for others, as many as the device holds. Undefined where
 * none waits for another CTA, as far as the code tells, and for clusters of more than one CTA.
 * @param polls instructions with which it waits.
 */
export function mostResident(
  step: PlannedLaunch,
  { image, resources }: { image: KernelImage; resources: () => KernelResources },
  polls: ReadonlySet<PtxInstruction>,
  spec: DeviceSpec,
): number | undefined {
  const { cooperative, grid, cluster } = step;
  const ctas = grid[0] * grid[1] * grid[2];
  const isClustered = image.requiredCluster || (cluster !== undefined && cluster[0] * cluster[1] * cluster[2] > 1);
  if (cooperative || isClustered || ctas === 1 || polls.size === 0) return undefined;
  return Math.min(ctas, occupancyOf(step, resources(), spec).ctasPerSm * spec.smCount.value);
}
