import type { DeviceFailure } from '../../core/device.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import type { PlannedLaunch } from '../../core/launch-plan.ts';
import type { KernelImage } from '../../virtual-gpu/kernel-image.ts';
import { failure } from './failure.ts';

/** Source: CUDA C++ Programming Guide, technical specifications per compute capability. */
const MAXIMUM_GRID = [2 ** 31 - 1, 65535, 65535] as const;
const MAXIMUM_BLOCK = [1024, 1024, 64] as const;

/** The order of a launch's CTAs is held in memory: 512 MiB. */
const MAXIMUM_CTAS = 2 ** 27;

/** What the driver would refuse at launch. */
export function refuseConfiguration(
  step: PlannedLaunch,
  image: KernelImage,
  spec: DeviceSpec,
): DeviceFailure | undefined {
  const threads = step.block[0] * step.block[1] * step.block[2];
  const maximumThreads = Math.min(
    spec.maximumThreadsPerCta.value,
    image.maxThreads ? image.maxThreads[0] * image.maxThreads[1] * image.maxThreads[2] : Number.POSITIVE_INFINITY,
  );
  const shared =
    step.dynamicSharedBytes > 0 ? image.dynamicSharedStart + step.dynamicSharedBytes : image.staticSharedBytes;
  const name = step.functionName;
  if (step.cluster?.some((size) => size > 1))
    return failure('unsupported', `${name} uses thread-block clusters, which virtual GPUs do not run`);
  if (step.cooperative) return failure('unsupported', `${name} is a cooperative launch, which virtual GPUs do not run`);
  for (const axis of [0, 1, 2] as const) {
    if (step.grid[axis] > MAXIMUM_GRID[axis] || step.grid[axis] < 1)
      return failure('launch-failed', `${name}: grid ${step.grid.join(' × ')} exceeds ${MAXIMUM_GRID.join(' × ')}`);
    if (step.block[axis] > MAXIMUM_BLOCK[axis] || step.block[axis] < 1)
      return failure('launch-failed', `${name}: block ${step.block.join(' × ')} exceeds ${MAXIMUM_BLOCK.join(' × ')}`);
  }
  const ctas = step.grid[0] * step.grid[1] * step.grid[2];
  if (ctas > MAXIMUM_CTAS)
    return failure('unsupported', `${name}: virtual GPUs run at most ${MAXIMUM_CTAS} CTAs per launch, not ${ctas}`);
  const required = image.requiredThreads;
  if (required?.some((extent, axis) => extent !== step.block[axis]))
    return failure(
      'launch-failed',
      `${name}: block ${step.block.join(' × ')}; the kernel requires ${required.join(' × ')}`,
    );
  if (threads > maximumThreads)
    return failure(
      'launch-failed',
      `${name}: ${threads} threads per CTA; at most ${maximumThreads} are allowed (device limit and __launch_bounds__)`,
    );
  if (shared > spec.sharedBytesPerCta.value)
    return failure(
      'launch-failed',
      `${name} needs ${shared} bytes of shared memory per CTA (${image.staticSharedBytes} static, ${step.dynamicSharedBytes} dynamic); ${spec.name} allows ${spec.sharedBytesPerCta.value}. Make the tiles smaller.`,
    );
  return undefined;
}
