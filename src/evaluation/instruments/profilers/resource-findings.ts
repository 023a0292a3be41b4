import type { KernelResources } from '../../../core/counters.ts';
import type { DeviceSpec } from '../../../core/device-spec.ts';
import type { Finding } from '../../../core/finding.ts';
import type { LaunchPlan, PlannedLaunch } from '../../../core/launch-plan.ts';
import type { Occupancy } from '../../../core/timing.ts';
import { figure } from '../../../core/values.ts';
import { occupancy } from '../../../hardware/occupancy.ts';

export interface ResourceFindingsRequest {
  readonly plan: LaunchPlan;
  /** By function name, as the driver says. */
  readonly resources: Readonly<Record<string, KernelResources>>;
  readonly spec: DeviceSpec;
  /** Why nothing was counted, for the findings' arithmetic. */
  readonly because: string;
}

interface Launch {
  readonly planned: PlannedLaunch;
  readonly resources: KernelResources;
  readonly occupancy: Occupancy;
  readonly ctaCount: number;
}

const OCCUPANCY_THRESHOLD = 0.5;

/**
 * Findings from grid, resources and occupancy alone, if nothing could be counted. Ids are those of the rules that use
 * counters.
 */
export function resourceFindings({ plan, resources, spec, because }: ResourceFindingsRequest): Finding[] {
  const unestimated = `no counters, hence no estimate of the time (${because})`;
  const launches = plan.steps.flatMap((step): Launch[] => {
    if (step.kind !== 'launch') return [];
    const known = resources[step.functionName];
    if (!known) return [];
    const [x, y, z] = step.block;
    const whole = { ...known, dynamicSharedBytes: step.dynamicSharedBytes };
    const ctaCount = step.grid[0] * step.grid[1] * step.grid[2];
    return [{ planned: step, resources: whole, occupancy: occupancy(whole, x * y * z, spec), ctaCount }];
  });
  return [
    ...parallelism(launches, spec.smCount.value, because),
    ...lowOccupancy(launches, spec.smCount.value, unestimated),
    ...localMemory(launches, unestimated),
  ];
}

function parallelism(launches: readonly Launch[], smCount: number, because: string): Finding[] {
  // A sequence with one wide launch fills the device at least once; without times the important launch is unknown.
  const widest = Math.max(...launches.map(({ ctaCount }) => ctaCount));
  if (launches.length === 0 || widest >= smCount) return [];
  const speedup = smCount / widest;
  return [
    {
      id: 'parallelism',
      title: `${widest} ${widest === 1 ? 'CTA' : 'CTAs'} on ${smCount} SMs: part of the GPU does nothing`,
      estimatedSpeedup: speedup,
      arithmetic: `at most ${smCount} SMs ÷ ${widest} CTAs = ${figure(speedup)}×; nothing was counted (${because})`,
      evidence: launches.map(({ planned, ctaCount }) => ({
        counter: 'CTAs ÷ SMs',
        value: ctaCount / smCount,
        threshold: 1,
        comparison: 'below',
        where: `${planned.functionName}: ${ctaCount} CTAs, ${smCount} SMs`,
      })),
      advice: `Launch at least ${smCount} CTAs: smaller tiles, or split the reduced axis over CTAs and combine.`,
    },
  ];
}

function lowOccupancy(launches: readonly Launch[], smCount: number, arithmetic: string): Finding[] {
  const low = launches.filter(
    ({ occupancy: { ratio, ctasPerSm }, ctaCount }) => ratio < OCCUPANCY_THRESHOLD && ctaCount / smCount > ctasPerSm,
  );
  const worst = low[0];
  if (!worst) return [];
  return [
    {
      id: 'occupancy',
      title: `theoretical occupancy ${Math.round(worst.occupancy.ratio * 100)} %, limited by ${worst.occupancy.limiter}`,
      estimatedSpeedup: 1,
      arithmetic,
      evidence: low.map(({ planned, resources, occupancy: theoretical }) => ({
        counter: 'theoretical occupancy',
        value: theoretical.ratio,
        threshold: OCCUPANCY_THRESHOLD,
        comparison: 'below',
        where:
          `${planned.functionName}: ${theoretical.warpsPerSm} of ${theoretical.maximumWarpsPerSm} warps ` +
          `(${resources.registersPerThread} registers per thread, ` +
          `${resources.staticSharedBytes + resources.dynamicSharedBytes} B shared per CTA)`,
      })),
      advice: 'Smaller tiles, fewer stages or __launch_bounds__ let more CTAs be resident, if latency is what binds.',
    },
  ];
}

function localMemory(launches: readonly Launch[], arithmetic: string): Finding[] {
  const spilling = launches.filter(({ resources }) => resources.localBytesPerThread > 0);
  const worst = spilling[0];
  if (!worst) return [];
  return [
    {
      id: 'register-spills',
      title: `${worst.resources.localBytesPerThread} B of local memory per thread: spills or indexed local arrays`,
      estimatedSpeedup: 1,
      arithmetic,
      evidence: spilling.map(({ planned, resources }) => ({
        counter: 'local bytes per thread',
        value: resources.localBytesPerThread,
        unit: 'B',
        threshold: 0,
        comparison: 'above',
        where: planned.functionName,
      })),
      advice: 'Index per-thread arrays with constants only, or shrink the per-thread tile.',
    },
  ];
}
