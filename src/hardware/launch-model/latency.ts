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
import type { Traffic } from './traffic.ts';

/** The time one CTA takes with an SM to itself, from its critical path. */
export interface CtaLatency {
  /** Mean clocks between two instructions of one warp: issue and exposed latency at this instruction mix. */
  readonly clocksPerInstruction: number;
  /** Warp instructions every warp executes: the launch's instructions ÷ (CTAs × warps). */
  readonly balancedInstructions: number;
  /** Warp instructions of the critical path beyond that: executed by one warp while the others wait. */
  readonly serialInstructions: number;
  readonly balancedClocks: number;
  readonly serialClocks: number;
  readonly totalClocks: number;
  readonly arithmetic: string;
}

/** Sectors that L1 looks up in one clock: one 128-byte line. */
const SECTORS_PER_LOOKUP = 4;
const ratio = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);

/**
 * Latencies as the launch's accesses make them: a load waits for all its wavefronts or line look-ups, and a barrier
 * for the last loads before it, whose latency nothing after the barrier can hide.
 */
export function memoryLatencies(launch: LaunchCounters, traffic: Traffic, spec: DeviceSpec): MemoryLatencies {
  const byClass = launch.instructionsByClass;
  const extraWavefronts = Math.max(0, ratio(launch.sharedLoadWavefronts, launch.sharedLoadRequests) - 1);
  const lookups = ratio(launch.globalLoadSectors, launch.globalLoadRequests) / SECTORS_PER_LOOKUP;
  const sharedLoad = spec.latencyClocks.shared.value + extraWavefronts;
  const globalLoad = traffic.globalLoadLatencyClocks + Math.max(0, lookups - 1);
  const drained =
    Math.min(1, ratio(byClass['global-load'], byClass.barrier)) * globalLoad +
    Math.min(1, ratio(byClass['shared-load'], byClass.barrier)) * sharedLoad;
  return { globalLoad, sharedLoad, barrier: spec.latencyClocks.barrier.value + drained };
}

/** Share of the instructions that at most SERIAL_LANES lanes execute. */
export function serialLaneRatio(launch: LaunchCounters): number {
  const serial = launch.activeLaneHistogram.slice(1, SERIAL_LANES + 1).reduce((sum, count) => sum + count, 0);
  return Math.min(1, ratio(serial, launch.instructions));
}

/**
 * Mean clocks from one instruction of a warp to its next: at least one issue slot, and the class's latency divided by
 * the independent instructions that cover it (Little's law inside a warp); in a serial walk nothing covers it.
 */
export function clocksPerInstruction(launch: LaunchCounters, traffic: Traffic, spec: DeviceSpec): number {
  if (launch.instructions <= 0) return 0;
  const memory = memoryLatencies(launch, traffic, spec);
  const serialRatio = serialLaneRatio(launch);
  let clocks = 0;
  for (const name of INSTRUCTION_CLASSES) {
    const alone = Math.max(1, latencyClocks(name, memory, spec));
    const covered = Math.max(1, alone / independentInstructions(name));
    const exposed = serialRatio * alone + (1 - serialRatio) * covered;
    clocks += launch.instructionsByClass[name] * machineInstructions(name) * exposed;
  }
  return clocks / launch.instructions;
}

/**
 * Time of one CTA alone. Its balanced part takes the longer of its latency and its own throughput demand; its serial
 * part is exposed latency, because the other warps wait at the next barrier.
 */
export function ctaLatency(
  launch: LaunchCounters,
  traffic: Traffic,
  schedule: Schedule,
  throughputClocksPerCta: number,
  spec: DeviceSpec,
): CtaLatency {
  const perInstruction = clocksPerInstruction(launch, traffic, spec);
  const balancedInstructions = launch.instructions / Math.max(1, launch.ctaCount * schedule.warpsPerCta);
  const serialInstructions = Math.max(0, launch.criticalPathInstructions - balancedInstructions);
  const balancedClocks = Math.max(balancedInstructions * perInstruction, throughputClocksPerCta);
  const serialClocks = serialInstructions * perInstruction;
  return {
    clocksPerInstruction: perInstruction,
    balancedInstructions,
    serialInstructions,
    balancedClocks,
    serialClocks,
    totalClocks: balancedClocks + serialClocks,
    arithmetic:
      `one CTA alone: ${figure(balancedInstructions)} instructions per warp × ${figure(perInstruction)} clocks` +
      ` (or its throughput, ${figure(throughputClocksPerCta)} clocks) + ${figure(serialInstructions)} serial` +
      ` × ${figure(perInstruction)}`,
  };
}
