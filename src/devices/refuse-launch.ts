import type { DeviceFailure } from '../core/device-values.ts';
import type { PlannedLaunch } from '../core/launch-plan.ts';
import { failure } from './failure.ts';

/** What bounds a launch of one function on one device. */
export interface LaunchLimits {
  readonly deviceName: string;
  readonly maximumGrid: readonly [number, number, number];
  readonly maximumBlock: readonly [number, number, number];
  /** The smaller of the device's limit and the function's own. */
  readonly maximumThreads: number;
  /** Register limits, if registers are allocated: registers per thread of the function, and per CTA of the device. */
  readonly registers?: { readonly perThread: number; readonly perCta: number };
  /** `.reqntid`, where the function has it. */
  readonly requiredThreads?: readonly number[] | undefined;
  readonly staticSharedBytes: number;
  /** Static and dynamic shared memory of this launch, in the device's layout. */
  readonly sharedBytes: number;
  readonly maximumSharedBytes: number;
}

/** Describes a configuration that exceeds a limit of the device or the function; undefined if it exceeds none. */
export function refuseLaunch(step: PlannedLaunch, limits: LaunchLimits): DeviceFailure | undefined {
  const refuse = (message: string) => failure('launch-failed', message);
  const { functionName: name, grid, block } = step;
  for (const axis of [0, 1, 2] as const) {
    if (grid[axis] > limits.maximumGrid[axis] || grid[axis] < 1)
      return refuse(`${name}: grid ${grid.join(' × ')} exceeds ${limits.maximumGrid.join(' × ')}`);
    if (block[axis] > limits.maximumBlock[axis] || block[axis] < 1)
      return refuse(`${name}: block ${block.join(' × ')} exceeds ${limits.maximumBlock.join(' × ')}`);
  }
  const required = limits.requiredThreads;
  if (required?.some((extent, axis) => extent !== block[axis]))
    return refuse(`${name}: block ${block.join(' × ')}; the kernel requires ${required.join(' × ')}`);
  const threads = block[0] * block[1] * block[2];
  if (threads > limits.maximumThreads)
    return refuse(
      `${name}: ${threads} threads per CTA; at most ${limits.maximumThreads} are allowed (device limit and __launch_bounds__${describeRegisters(limits)})`,
    );
  if (limits.sharedBytes > limits.maximumSharedBytes)
    return refuse(
      `${name} needs ${limits.sharedBytes} bytes of shared memory per CTA (${limits.staticSharedBytes} static, ${step.dynamicSharedBytes} dynamic); ${limits.deviceName} allows ${limits.maximumSharedBytes}. Make the tiles smaller.`,
    );
  return undefined;
}

const describeRegisters = ({ registers }: LaunchLimits): string =>
  registers ? `; registers: ${registers.perThread} per thread of ${registers.perCta} per CTA` : '';
