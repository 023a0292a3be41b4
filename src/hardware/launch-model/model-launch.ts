import type { LaunchCounters } from '../../core/counters.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import { figure } from '../../core/values.ts';
import { lookBackChain } from './chain.ts';
import { MACHINE_CODE, type MachineCode, type Overlap, START_CLOCKS } from './constants.ts';
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

/** Resources that are not the vector pipes or the schedulers. */
const GROUP: Readonly<Record<string, string>> = {
  latency: 'latency',
  shared: 'on-chip memory',
  l1: 'on-chip memory',
  shuffle: 'shuffle',
  lsu: 'lsu',
  l2: 'l2',
  dram: 'dram',
  atomics: 'atomics',
  chain: 'chain',
  starts: 'starts',
};
/** Groups of the whole chip. */
const OF_CHIP: ReadonlySet<string> = new Set(['l2', 'dram']);
/** Groups whose members take turns, so that their times add: shared memory and L1 are one array with one data pipe. */
const TAKE_TURNS: ReadonlySet<string> = new Set(['on-chip memory']);

/** Time of each group: the sum of members that take turns, else the slowest member. */
function groupTimes(bounds: readonly ResourceBound[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const bound of bounds) {
    const group = GROUP[bound.resource] ?? 'instructions';
    const before = times.get(group) ?? 0;
    times.set(group, TAKE_TURNS.has(group) ? before + bound.ns : Math.max(before, bound.ns));
  }
  return times;
}

/** A norm: never below the longest time, nor above the sum. */
function overlapped(times: readonly number[], exponent: number): number {
  const longest = Math.max(0, ...times);
  if (longest === 0) return 0;
  return longest * times.reduce((total, ns) => total + (ns / longest) ** exponent, 0) ** (1 / exponent);
}

/** The exponent between the one of a single turn, or CTA, and the limit of many. */
const between = (one: number, many: number, count: number): number => many + (one - many) / count;

/**
 * Time of resources that overlap imperfectly: those of the SMs with each other, these with L2 and DRAM, and all with atomics and the
 * chain through CTAs. The starts of CTAs are added.
 *
 * @param schedule with one turn, all load at the same time, and then all compute.
 */
export function combineBounds(
  bounds: readonly ResourceBound[],
  schedule: Pick<Schedule, 'residentCtas' | 'loadTurns'>,
  overlap: Overlap = MACHINE_CODE.overlap,
): number {
  const { atomics = 0, chain = 0, starts = 0, ...groups } = Object.fromEntries(groupTimes(bounds));
  const timesOf = (ofChip: boolean): number[] =>
    Object.entries(groups).flatMap(([group, ns]) => (OF_CHIP.has(group) === ofChip ? [ns] : []));
  const among = between(overlap.oneCta, overlap.manyCtas, schedule.residentCtas);
  const [sms, chip] = [overlapped(timesOf(false), among), overlapped(timesOf(true), among)];
  const both = overlapped([sms, chip], between(overlap.oneRound, overlap.manyRounds, schedule.loadTurns));
  const turns = overlapped([atomics, chain], overlap.chain);
  return overlapped([both, turns], overlap.atomics) + starts;
}

/** How far the bounds of a launch overlap. */
export function overlapOf({ warpTime }: LaunchCounters, code: MachineCode = MACHINE_CODE): Overlap {
  if (!warpTime) return code.overlapUnscheduled;
  const awaits = [warpTime.wide, warpTime.narrow].some(({ waits }) => (waits.atomic ?? 0) > 0);
  return awaits ? { ...code.overlap, atomics: code.overlap.awaitedAtomics } : code.overlap;
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

/** Nothing if no CTA looks back. */
function chainBounds(launch: LaunchCounters, schedule: Schedule, spec: DeviceSpec): ResourceBound[] {
  const chain = lookBackChain(launch, schedule, spec);
  if (!chain) return [];
  const ns = (chain.clocks / spec.sustainedClockHz.value) * 1e9;
  return [{ resource: 'chain', ns, arithmetic: `${chain.arithmetic} = ${figure(ns)} ns` }];
}

/** Between the starts of two CTAs on one SM. */
export const startClocks = (warpsPerCta: number): number => Math.max(START_CLOCKS.cta, START_CLOCKS.warp * warpsPerCta);

/** CTAs start one after the other. */
function startBound({ ctasOnBusiestSm, warpsPerCta }: Schedule, clockHz: number): ResourceBound {
  const clocks = startClocks(warpsPerCta);
  const ns = ((ctasOnBusiestSm * clocks) / clockHz) * 1e9;
  return {
    resource: 'starts',
    ns,
    arithmetic: `${figure(ctasOnBusiestSm)} CTAs on the busiest SM × ${clocks} clocks = ${figure(ns)} ns`,
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
    startBound(schedule, clockHz),
    ...chainBounds(launch, schedule, spec),
  ].sort((a, b) => b.ns - a.ns);
  const launchOverheadNs = spec.launchOverheadNs.value;
  const workNs = combineBounds(bounds, schedule, overlapOf(launch, code));
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
