import type { LaunchCounters } from '../../core/counters.ts';
import { INSTRUCTION_CLASSES } from '../../core/counters.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import {
  independentInstructions,
  latencyClocks,
  type MemoryLatencies,
  machineInstructions,
  SERIAL_LANES,
} from './constants.ts';
import { figure } from './format.ts';
import type { Schedule } from './schedule.ts';
import { lineAccesses, type Traffic } from './traffic.ts';

/** The time one CTA takes with an SM to itself, from its critical path. */
export interface CtaLatency {
  readonly path: CriticalPath;
  /** Mean clocks between two instructions of one warp at this instruction mix, latencies covered by independent ones. */
  readonly coveredClocks: number;
  /** The same in a walk where nothing covers them. */
  readonly chainClocks: number;
  readonly balancedClocks: number;
  readonly serialClocks: number;
  readonly totalClocks: number;
  readonly arithmetic: string;
}

const ratio = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);

/**
 * Latencies as the launch's accesses make them: a load waits for all its wavefronts or line look-ups, and a barrier
 * for the last loads before it, whose latency nothing after the barrier can hide.
 */
export function memoryLatencies(launch: LaunchCounters, traffic: Traffic, spec: DeviceSpec): MemoryLatencies {
  const byClass = launch.instructionsByClass;
  const extraWavefronts = Math.max(0, ratio(launch.sharedLoadWavefronts, launch.sharedLoadRequests) - 1);
  const { globalLoadRequests, globalLoadSectors, globalLoadBytes } = launch;
  const lines = ratio(lineAccesses(globalLoadRequests, globalLoadSectors, globalLoadBytes), globalLoadRequests);
  const sharedLoad = spec.latencyClocks.shared.value + extraWavefronts;
  const globalLoad = traffic.globalLoadLatencyClocks + Math.max(0, lines - 1);
  const drained =
    Math.min(1, ratio(byClass['global-load'], byClass.barrier)) * globalLoad +
    Math.min(1, ratio(byClass['shared-load'], byClass.barrier)) * sharedLoad;
  return { globalLoad, sharedLoad, barrier: spec.latencyClocks.barrier.value + drained };
}

/**
 * Mean clocks from one instruction of a warp to its next: at least one issue slot, and the class's latency divided by
 * the independent instructions that cover it (Little's law inside a warp); in a serial walk nothing covers it.
 */
export function clocksPerInstruction(
  launch: LaunchCounters,
  traffic: Traffic,
  spec: DeviceSpec,
  kind: 'covered' | 'chain',
): number {
  if (launch.instructions <= 0) return 0;
  const memory = memoryLatencies(launch, traffic, spec);
  let clocks = 0;
  for (const name of INSTRUCTION_CLASSES) {
    const cover = kind === 'covered' ? independentInstructions(name) : 1;
    const exposed = Math.max(1, latencyClocks(name, memory, spec) / cover);
    clocks += launch.instructionsByClass[name] * machineInstructions(name) * exposed;
  }
  return clocks / launch.instructions;
}

/** The warp instructions of one CTA's critical path, by who executes them. */
export interface CriticalPath {
  /** Executed by every warp side by side. */
  readonly balanced: number;
  /** Executed by one warp, many lanes wide, while the others wait. */
  readonly oneWarp: number;
  /** Executed by at most SERIAL_LANES lanes: a walk in which each step needs the one before. */
  readonly fewLanes: number;
}

/**
 * Splits the critical path. The few-lane instructions of a CTA lie on it at least as their mean per warp (all warps
 * walk), at most all of them (one warp walks); what the path has beyond the mean warp says which.
 */
export function criticalPath(launch: LaunchCounters, schedule: Schedule): CriticalPath {
  const ctaCount = Math.max(1, launch.ctaCount);
  const mean = launch.instructions / ctaCount / schedule.warpsPerCta;
  const beyondMean = Math.max(0, launch.criticalPathInstructions - mean);
  const fewLanesOfCta =
    launch.activeLaneHistogram.slice(1, SERIAL_LANES + 1).reduce((sum, count) => sum + count, 0) / ctaCount;
  const fewLanesPerWarp = Math.min(mean, fewLanesOfCta / schedule.warpsPerCta);
  const fewLanes = Math.min(fewLanesOfCta, fewLanesPerWarp + beyondMean);
  return {
    balanced: mean - fewLanesPerWarp,
    oneWarp: Math.max(0, beyondMean - (fewLanes - fewLanesPerWarp)),
    fewLanes,
  };
}

/**
 * Time of one CTA alone. Its balanced part takes the longer of its latency and its own throughput demand; what one warp
 * or one lane does is exposed latency, because the other warps wait at the next barrier.
 */
export function ctaLatency(
  launch: LaunchCounters,
  traffic: Traffic,
  schedule: Schedule,
  throughputClocksPerCta: number,
  spec: DeviceSpec,
): CtaLatency {
  const covered = clocksPerInstruction(launch, traffic, spec, 'covered');
  const chain = clocksPerInstruction(launch, traffic, spec, 'chain');
  const path = criticalPath(launch, schedule);
  const balancedClocks = Math.max(path.balanced * covered, throughputClocksPerCta);
  const serialClocks = path.oneWarp * covered + path.fewLanes * chain;
  const parts = [`${figure(path.balanced)} instructions per warp × ${figure(covered)} clocks`];
  if (balancedClocks === throughputClocksPerCta) parts[0] = `its throughput, ${figure(throughputClocksPerCta)} clocks`;
  if (path.oneWarp > 0) parts.push(`${figure(path.oneWarp)} by one warp × ${figure(covered)}`);
  if (path.fewLanes > 0) parts.push(`${figure(path.fewLanes)} by few lanes × ${figure(chain)}`);
  return {
    path,
    coveredClocks: covered,
    chainClocks: chain,
    balancedClocks,
    serialClocks,
    totalClocks: balancedClocks + serialClocks,
    arithmetic: `one CTA alone: ${parts.join(' + ')}`,
  };
}
