import type { KernelResources } from '../../core/counters.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import type { DeviceFailure } from '../../core/device-values.ts';
import { GRID_LIMITS, type PlannedLaunch } from '../../core/launch-plan.ts';
import type { Occupancy } from '../../core/timing.ts';
import { synchronisationOf } from '../../ptx/instructions/properties.ts';
import type { KernelImage } from '../../virtual-gpu/kernel-image.ts';
import { failure } from '../failure.ts';
import { refuseLaunch } from '../refuse-launch.ts';
import { occupancyOf } from './most-resident.ts';

/** Source: CUDA C++ Programming Guide, technical specifications per compute capability. */
const MAXIMUM_BLOCK = [1024, 1024, 64] as const;

/** sm_90. */
const FIRST_WITH_CLUSTERS = 90;

/** Most CTAs of a launch: their order takes 512 MiB of memory. */
const MAXIMUM_CTAS = 2 ** 27;

/** Configurations that the driver would refuse at launch, or that a virtual GPU can't run. */
export function refuseConfiguration(
  step: PlannedLaunch,
  { image, resources }: { image: KernelImage; resources: () => KernelResources },
  spec: DeviceSpec,
): DeviceFailure | undefined {
  const { functionName: name, dynamicSharedBytes } = step;
  const own = image.maxThreads;
  const refusal = refuseLaunch(step, {
    deviceName: spec.name,
    maximumGrid: GRID_LIMITS,
    maximumBlock: MAXIMUM_BLOCK,
    maximumThreads: Math.min(spec.maximumThreadsPerCta.value, own ? own[0] * own[1] * own[2] : Infinity),
    requiredThreads: image.requiredThreads,
    staticSharedBytes: image.staticSharedBytes,
    sharedBytes: dynamicSharedBytes > 0 ? image.dynamicSharedStart + dynamicSharedBytes : image.staticSharedBytes,
    maximumSharedBytes: spec.sharedBytesPerCta.value,
  });
  const refused = refusal ?? refuseCluster(step, image, spec) ?? refuseCooperative(step, image, resources, spec);
  if (refused) return refused;
  const ctas = step.grid[0] * step.grid[1] * step.grid[2];
  if (ctas > MAXIMUM_CTAS)
    return failure('unsupported', `${name}: virtual GPUs run at most ${MAXIMUM_CTAS} CTAs per launch, not ${ctas}`);
  return undefined;
}

/** All CTAs of a cooperative launch must be resident at once. */
function refuseCooperative(
  { functionName: name, cooperative, grid, block, cluster, dynamicSharedBytes }: PlannedLaunch,
  { requiredCluster, barriers }: KernelImage,
  resources: () => KernelResources,
  spec: DeviceSpec,
): DeviceFailure | undefined {
  if (!cooperative) return undefined;
  const meetsInCluster = [...barriers.values()].some((barrier) => synchronisationOf(barrier) === 'cluster');
  if (cluster || requiredCluster || meetsInCluster)
    return failure('unsupported', `${name}: virtual GPUs run no cooperative launches of thread-block clusters`);
  const { ctasPerSm, limiter } = occupancyOf({ block, dynamicSharedBytes }, resources(), spec);
  const [ctas, sms] = [grid[0] * grid[1] * grid[2], spec.smCount.value];
  if (ctas <= ctasPerSm * sms) return undefined;
  return failure(
    'launch-failed',
    `${name} is a cooperative launch of ${ctas} CTAs; ${spec.name} holds ${ctasPerSm * sms} at once (${ctasPerSm} on each of ${sms} SMs, ` +
      `by its ${LIMITED_BY[limiter]}): make the grid at most device.smCount * kernel.ctasPerSm`,
  );
}

const LIMITED_BY: Readonly<Record<Occupancy['limiter'], string>> = {
  warps: 'warps',
  ctas: 'limit of CTAs',
  registers: 'registers, as estimated',
  'shared-memory': 'shared memory',
};

function refuseCluster(
  { functionName: name, grid, cluster }: PlannedLaunch,
  { requiredCluster }: KernelImage,
  spec: DeviceSpec,
): DeviceFailure | undefined {
  const extents = cluster ?? requiredCluster;
  if (!extents) return undefined;
  if (Number.parseInt(spec.architecture.slice('sm_'.length), 10) < FIRST_WITH_CLUSTERS)
    return failure('unsupported', `${name} uses thread-block clusters, which ${spec.name} does not have`);
  if (requiredCluster && extents.some((extent, axis) => extent !== requiredCluster[axis]))
    return failure(
      'launch-failed',
      `${name} is compiled for clusters of ${requiredCluster.join(' × ')} CTAs; the launch asks for ${extents.join(' × ')}`,
    );
  if (extents.some((extent, axis) => grid[axis]! % extent !== 0))
    return failure(
      'launch-failed',
      `${name}: grid ${grid.join(' × ')} is not made of whole clusters of ${extents.join(' × ')} CTAs`,
    );
  return undefined;
}
