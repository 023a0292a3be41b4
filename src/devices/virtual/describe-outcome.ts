import type { DeviceFailure } from '../../core/device-values.ts';
import type { Dim3, PlannedLaunch } from '../../core/launch-plan.ts';
import type { KernelImage } from '../../virtual-gpu/kernel-image.ts';
import type { DeviceRange } from '../../virtual-gpu/runtime/memories.ts';
import { failure } from '../failure.ts';
import { describeFault, describePrint } from './describe-fault.ts';
import type { PoolOutcome } from './worker-pool.ts';

/** What is known of a launch besides its step. */
interface LaunchSurroundings {
  /** Of the step. */
  readonly index: number;
  readonly image: KernelImage;
  readonly ranges: readonly DeviceRange[];
  readonly cluster: Dim3;
  readonly timeoutMs: number;
}

/** The failure of a launch that did not finish. */
export function describeOutcome(
  step: PlannedLaunch,
  outcome: Exclude<PoolOutcome, { kind: 'finished' }>,
  { index, image, ranges, cluster, timeoutMs }: LaunchSurroundings,
): DeviceFailure {
  switch (outcome.kind) {
    case 'timed-out':
      return failure(
        'timed-out',
        `${step.functionName} did not finish within ${Math.round(timeoutMs)} ms: ${begunText(step, cluster, outcome)}${outcome.waits ? `; ${outcome.waits}` : ''}`,
      );
    case 'crashed':
      return failure('device-failed', `the virtual GPU failed while running ${step.functionName}: ${outcome.message}`);
    default:
      return {
        ...explainMissingBarrier(describeFault(step, outcome.fault, ranges), step, image),
        printed: outcome.printed.length > 0 ? describePrint(step, index, { lines: outcome.printed }) : undefined,
      };
  }
}

function begunText(
  { cooperative, grid }: PlannedLaunch,
  cluster: Dim3,
  { begun, count }: { begun: number; count: number },
): string {
  const what = cluster.some((extent) => extent > 1) ? 'clusters' : 'CTAs';
  if (!cooperative) return `${begun} of ${count} ${what} had begun`;
  return `all ${grid[0] * grid[1] * grid[2]} CTAs had begun, and may wait for one that never arrives`;
}

/** `grid.sync()` ends a kernel whose grid has no barrier. */
const explainMissingBarrier = (
  failed: DeviceFailure,
  { cooperative, functionName }: PlannedLaunch,
  image: KernelImage,
): DeviceFailure =>
  !cooperative && failed.fault && failed.status === 'crashed' && readsGridBarrier(image)
    ? {
        ...failed,
        message: `${failed.message}; grid.sync() needs a cooperative launch: "cooperative": true in the step that launches ${functionName}`,
      }
    : failed;

/** Whether code looks for the barrier that the driver keeps for a grid. */
const readsGridBarrier = ({ blockInstructions }: KernelImage): boolean =>
  blockInstructions.some((block) =>
    block.some(({ operands }) => operands.some((one) => one.kind === 'special' && one.name === '%envreg1')),
  );
