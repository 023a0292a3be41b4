import type { DeviceSpec } from '../../core/device-spec.ts';
import type { LoadedModule } from '../../core/device-values.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';

/**
 * Whether the device has enough shared memory for every launch of a plan. Tiles may grow with a dimension, so settings that
 * suit one workload may not fit another; that is no mistake.
 *
 * @param plan expands the plan. Its other mistakes are reported elsewhere.
 */
export function fitsSharedMemory(
  plan: () => LaunchPlan,
  { spec, resources }: { readonly spec: DeviceSpec; readonly resources?: LoadedModule['resources'] },
): boolean {
  try {
    return plan().steps.every((step) => {
      if (step.kind !== 'launch') return true;
      const staticBytes = resources?.[step.functionName]?.staticSharedBytes ?? 0;
      return staticBytes + step.dynamicSharedBytes <= spec.sharedBytesPerCta.value;
    });
  } catch (error) {
    return !(error instanceof WarpsmithError && error.details.code === 'shared-memory-limit');
  }
}
