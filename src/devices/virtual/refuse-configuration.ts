import type { DeviceSpec } from '../../core/device-spec.ts';
import type { DeviceFailure } from '../../core/device-values.ts';
import type { PlannedLaunch } from '../../core/launch-plan.ts';
import type { KernelImage } from '../../virtual-gpu/kernel-image.ts';
import { failure } from '../failure.ts';
import { refuseLaunch } from '../refuse-launch.ts';

/** Source: CUDA C++ Programming Guide, technical specifications per compute capability. */
const MAXIMUM_GRID = [2 ** 31 - 1, 65535, 65535] as const;
const MAXIMUM_BLOCK = [1024, 1024, 64] as const;

/** Most CTAs of a launch: their order takes 512 MiB of memory. */
const MAXIMUM_CTAS = 2 ** 27;

/** Configurations that the driver would refuse at launch, or that a virtual GPU can't run. */
export function refuseConfiguration(
  step: PlannedLaunch,
  image: KernelImage,
  spec: DeviceSpec,
): DeviceFailure | undefined {
  const { functionName: name, dynamicSharedBytes } = step;
  if (step.cluster?.some((size) => size > 1))
    return failure('unsupported', `${name} uses thread-block clusters, which virtual GPUs do not run`);
  if (step.cooperative) return failure('unsupported', `${name} is a cooperative launch, which virtual GPUs do not run`);
  const own = image.maxThreads;
  const refusal = refuseLaunch(step, {
    deviceName: spec.name,
    maximumGrid: MAXIMUM_GRID,
    maximumBlock: MAXIMUM_BLOCK,
    maximumThreads: Math.min(spec.maximumThreadsPerCta.value, own ? own[0] * own[1] * own[2] : Infinity),
    requiredThreads: image.requiredThreads,
    staticSharedBytes: image.staticSharedBytes,
    sharedBytes: dynamicSharedBytes > 0 ? image.dynamicSharedStart + dynamicSharedBytes : image.staticSharedBytes,
    maximumSharedBytes: spec.sharedBytesPerCta.value,
  });
  if (refusal) return refusal;
  const ctas = step.grid[0] * step.grid[1] * step.grid[2];
  if (ctas > MAXIMUM_CTAS)
    return failure('unsupported', `${name}: virtual GPUs run at most ${MAXIMUM_CTAS} CTAs per launch, not ${ctas}`);
  return undefined;
}
