import type { DeviceSpec } from '../../core/device-spec.ts';
import type { LoadedModule } from '../../core/device-values.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';

/**
 * Whether every launch of a plan finds the shared memory it needs on the device. Tiles may grow with a dimension, so that
 * settings which are fine for one workload don't fit another; that is no mistake of theirs.
 *
 * @param plan expands the plan. What else is wrong with it is for others to say.
 */
export const fitsSharedMemory = (
  plan: () => LaunchPlan,
  { spec, resources }: { readonly spec: DeviceSpec; readonly resources?: LoadedModule['resources'] },
): boolean => {
  try {
    return plan().steps.every((step) => {
      if (step.kind !== 'launch') return true;
      const staticBytes = resources?.[step.functionName]?.staticSharedBytes ?? 0;
      return staticBytes + step.dynamicSharedBytes <= spec.sharedBytesPerCta.value;
    });
  } catch (error) {
    return !(error instanceof WarpsmithError && error.details.code === 'shared-memory-limit');
  }
};
