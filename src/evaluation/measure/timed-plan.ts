import type { LaunchPlan, PlannedStep } from '../../core/launch-plan.ts';

/** The timed sequence. It includes zeroing the workspaces with `init: zero`. */
export function timedPlan(plan: LaunchPlan): LaunchPlan {
  const zeroing: PlannedStep[] = plan.buffers
    .filter(({ role, init }) => role === 'workspace' && init === 'zero')
    .map(({ name }) => ({ kind: 'memset', buffer: name, byteValue: 0 }));
  return { buffers: plan.buffers, steps: [...zeroing, ...plan.steps] };
}
