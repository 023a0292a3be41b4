import type { DeviceSpec } from '../../core/device-spec.ts';
import type { LoadedModule } from '../../core/device-values.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { LaunchPlan, PlannedLaunch } from '../../core/launch-plan.ts';
import { expandPlan } from '../../core/plan/expand-plan.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import { occupancy } from '../../hardware/occupancy.ts';

export interface PlanLaunchesRequest {
  readonly problem: Problem;
  readonly candidate: Candidate;
  readonly dimensions: Dimensions;
  readonly spec: DeviceSpec;
  /** Absent before the code is compiled; `kernel.ctasPerSm` is then taken as 1. */
  readonly module?: LoadedModule | undefined;
  /** What `device.smCount` is, if not the device's own number. */
  readonly multiprocessors?: number | undefined;
}

const CTAS_PER_SM = 'kernel.ctasPerSm';

/**
 * The launch sequence of a candidate for these dimensions on this device.
 *
 * @throws WarpsmithError if it can't be expanded or launched.
 */
export function planLaunches(request: PlanLaunchesRequest): LaunchPlan {
  const { problem, candidate, dimensions, spec, module, multiprocessors = spec.smCount.value } = request;
  const { kernel, parameters } = candidate;
  const expand = (ctasPerSm: number): LaunchPlan =>
    expandPlan({
      problem: problem.file,
      kernel: kernel.file,
      parameters,
      dimensions,
      device: { smCount: multiprocessors, sharedBytesPerCta: spec.sharedBytesPerCta.value },
      ctasPerSm,
      file: `${kernel.folder}/kernel.json`,
    });
  const plan = expand(1);
  const asksForOccupancy = JSON.stringify(kernel.file).includes(CTAS_PER_SM);
  return module && asksForOccupancy ? expand(residentCtas(plan, module, spec)) : plan;
}

/** CTAs per SM that every launch of the plan can have resident. Block and shared memory must not depend on it. */
function residentCtas(plan: LaunchPlan, module: LoadedModule, spec: DeviceSpec): number {
  const launches = plan.steps.filter((step): step is PlannedLaunch => step.kind === 'launch');
  const counts = launches.map(({ functionName, block, dynamicSharedBytes }) => {
    const resources = module.resources?.[functionName];
    if (!resources) throw unknownResources(functionName);
    return occupancy({ ...resources, dynamicSharedBytes }, block[0] * block[1] * block[2], spec).ctasPerSm;
  });
  return Math.max(1, Math.min(...counts));
}

const unknownResources = (functionName: string): WarpsmithError =>
  new WarpsmithError({
    code: 'unknown-occupancy',
    message: `\`${CTAS_PER_SM}\` is used, but the device does not say what \`${functionName}\` occupies.`,
    hint: 'Use a parameter for the number of CTAs per SM.',
  });
