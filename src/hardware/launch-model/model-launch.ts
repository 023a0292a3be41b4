import type { LaunchCounters } from '../../core/counters.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import { figure } from '../../core/values.ts';
import { MACHINE_CODE, type MachineCode } from './constants.ts';
import { type CtaLatency, ctaLatency } from './latency.ts';
import { type Schedule, type ScheduleAssumptions, scheduleLaunch } from './schedule.ts';
import { type Demand, throughputDemands } from './throughput.ts';
import { estimateTraffic, type Traffic } from './traffic.ts';

/** Time one resource alone would need for a launch. */
export interface ResourceBound {
  readonly resource: string;
  readonly ns: number;
  readonly arithmetic: string;
}

export interface LaunchModel {
  /** Device time of the launch, overhead included. */
  readonly ns: number;
  readonly bindingResource: string;
  /** Slowest first. */
  readonly bounds: readonly ResourceBound[];
  readonly schedule: Schedule;
  readonly traffic: Traffic;
  readonly latency: CtaLatency;
  readonly launchOverheadNs: number;
}

/** Resources that work at the same time as those of another group. */
const OVERLAP_GROUP: Readonly<Record<string, string>> = {
  latency: 'latency',
  shared: 'on-chip memory',
  l1: 'on-chip memory',
  shuffle: 'shuffle',
  lsu: 'lsu',
  l2: 'l2',
  dram: 'dram',
  atomics: 'atomics',
};

/** Groups whose members take turns, so that their times add: shared memory and L1 are one array with one data pipe. */
const TAKE_TURNS: ReadonlySet<string> = new Set(['on-chip memory']);

/** Time of each group: the sum of members that take turns, else the slowest member. */
function groupTimes(bounds: readonly ResourceBound[]): number[] {
  const times = new Map<string, number>();
  for (const bound of bounds) {
    const group = OVERLAP_GROUP[bound.resource] ?? 'instructions';
    const before = times.get(group) ?? 0;
    times.set(group, TAKE_TURNS.has(group) ? before + bound.ns : Math.max(before, bound.ns));
  }
  return [...times.values()];
}

/**
 * Time of resources that overlap imperfectly: a norm over the groups, never below the slowest and never above the sum.
 */
export function combineBounds(
  bounds: readonly ResourceBound[],
  { overlapExponent }: MachineCode = MACHINE_CODE,
): number {
  const times = groupTimes(bounds);
  const longest = Math.max(0, ...times);
  if (longest === 0) return 0;
  const sum = times.reduce((total, ns) => total + (ns / longest) ** overlapExponent, 0);
  return longest * sum ** (1 / overlapExponent);
}

/** CTAs' worth of work on the busiest SM, a long last CTA included. */
const ctaShares = (count: number, schedule: Schedule): number =>
  count <= 1 ? count * schedule.longestCtaRatio : count - 1 + schedule.longestCtaRatio;

function demandBound(demand: Demand, schedule: Schedule, clockHz: number): ResourceBound {
  const ctas = demand.scope === 'sm' ? ctaShares(schedule.ctasOnBusiestSm, schedule) : 1;
  const ns = ((demand.clocks * ctas) / clockHz) * 1e9;
  const times = demand.scope === 'sm' ? ` × ${figure(ctas)} CTAs on the busiest SM` : '';
  return { resource: demand.resource, ns, arithmetic: `${demand.arithmetic}${times} = ${figure(ns)} ns` };
}

function latencyBound(latency: CtaLatency, schedule: Schedule, clockHz: number): ResourceBound {
  const turns = ctaShares(schedule.rounds, schedule);
  const ns = ((latency.totalClocks * turns) / clockHz) * 1e9;
  return {
    resource: 'latency',
    ns,
    arithmetic:
      `${latency.arithmetic} = ${figure(latency.totalClocks)} clocks, × ${figure(turns)} turns of` +
      ` ${schedule.residentCtas} resident CTAs at ${figure(clockHz / 1e9)} GHz = ${figure(ns)} ns`,
  };
}

/**
 * Predicts the device time of one launch from its counters: the demand on every resource, the latency of the critical
 * path at the estimated occupancy, whole waves, and the launch overhead. Deterministic.
 */
export function modelLaunch(
  launch: LaunchCounters,
  spec: DeviceSpec,
  assumptions: ScheduleAssumptions = {},
  code: MachineCode = MACHINE_CODE,
): LaunchModel {
  const clockHz = spec.sustainedClockHz.value;
  const schedule = scheduleLaunch(launch, spec, assumptions);
  const traffic = estimateTraffic(launch, schedule, spec);
  const demands = throughputDemands(launch, traffic, schedule, spec);
  const throughputClocksPerCta = Math.max(
    0,
    ...demands.filter((demand) => demand.scope === 'sm').map((demand) => demand.clocks),
  );
  const latency = ctaLatency(launch, traffic, schedule, throughputClocksPerCta, spec, code);
  const bounds = [
    ...demands.map((demand) => demandBound(demand, schedule, clockHz)),
    latencyBound(latency, schedule, clockHz),
  ].sort((a, b) => b.ns - a.ns);
  const launchOverheadNs = spec.launchOverheadNs.value;
  const workNs = combineBounds(bounds, code);
  return {
    ns: workNs + launchOverheadNs,
    bindingResource: workNs < launchOverheadNs ? 'launch' : (bounds[0]?.resource ?? 'launch'),
    bounds,
    schedule,
    traffic,
    latency,
    launchOverheadNs,
  };
}
