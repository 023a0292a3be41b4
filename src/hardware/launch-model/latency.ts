import type { LaunchCounters, WarpTime } from '../../core/counters.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import { LANES_PER_WARP } from '../../core/gpu-sizes.ts';
import { figure } from '../../core/values.ts';
import { INSTRUCTION_CLASSES, type InstructionClass } from '../../core/vocabulary.ts';
import { independentInstructions, latencyClocks, type MemoryLatencies, machineInstructions } from './class-costs.ts';
import { globalLoadsInFlight, MACHINE_CODE, type MachineCode, SERIAL_LANES } from './constants.ts';
import type { Schedule } from './schedule.ts';
import { loadLines, sharedLoads, type Traffic } from './traffic.ts';

/** The warp instructions of one CTA's critical path. */
export interface CriticalPath {
  /** Executed by every warp side by side, most lanes active. */
  readonly balanced: number;
  /** Executed by one warp, or by at most SERIAL_LANES lanes of a warp, while the others wait. */
  readonly serial: number;
}

/** Mean clocks between two instructions of one warp, with many active lanes and with few. */
export interface ClocksPerInstruction {
  readonly wide: number;
  readonly narrow: number;
}

/** The time one CTA takes with an SM to itself, from its critical path. */
export interface CtaLatency {
  readonly path: CriticalPath;
  /** Mean clocks between two instructions of one warp. */
  readonly clocksPerInstruction: ClocksPerInstruction;
  readonly balancedClocks: number;
  readonly serialClocks: number;
  readonly totalClocks: number;
  readonly arithmetic: string;
}

const ratio = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);

/** Lines that the mean global load touches. */
const linesPerLoad = (launch: LaunchCounters): number => ratio(loadLines(launch), launch.globalLoadRequests);

/**
 * Latencies as the launch's accesses make them: a load waits for all its wavefronts or lines, and a barrier for the
 * last loads before it, whose latency nothing after the barrier can hide.
 */
function memoryLatencies(
  launch: LaunchCounters,
  traffic: Traffic,
  spec: DeviceSpec,
  code: MachineCode,
): MemoryLatencies {
  const byClass = launch.instructionsByClass;
  const { requests, wavefronts } = sharedLoads(launch);
  const extraWavefronts = Math.max(0, ratio(wavefronts, requests) - 1);
  const sharedLoad = spec.latencyClocks.shared.value + extraWavefronts;
  const extraLines = Math.max(0, linesPerLoad(launch) - 1);
  if (launch.warpTime)
    return {
      globalLoad: traffic.globalLoadLatencyClocks + extraLines * code.clocksPerLineOfOneWarp,
      sharedLoad,
      barrier: spec.latencyClocks.barrier.value,
    };
  const globalLoad = traffic.globalLoadLatencyClocks + extraLines;
  const drained =
    Math.min(1, ratio(byClass['global-load'], byClass.barrier)) * globalLoad +
    Math.min(1, ratio(byClass['shared-load'], byClass.barrier)) * sharedLoad;
  return { globalLoad, sharedLoad, barrier: spec.latencyClocks.barrier.value + drained };
}

/** Clocks that one warp's memory requests take on their way, which no independent instruction can cover. */
function occupiedClocks(launch: LaunchCounters, instructionClass: InstructionClass, code: MachineCode): number {
  if (instructionClass === 'global-load') return Math.max(0, linesPerLoad(launch) - 1) * code.clocksPerLineOfOneWarp;
  if (instructionClass === 'shared-load') return ratio(launch.sharedLoadWavefronts, launch.sharedLoadRequests);
  return 0;
}

/**
 * Mean clocks from one instruction of a warp to its next. Of a virtual GPU's counters it is what the schedule of the code issues
 * and waits for, at this launch's latencies. Without them: at least one issue slot, at least the request's own way to
 * memory, and the class's latency divided by the independent instructions that cover it (Little's law inside a warp).
 */
export function clocksPerInstruction(
  launch: LaunchCounters,
  traffic: Traffic,
  spec: DeviceSpec,
  code: MachineCode = MACHINE_CODE,
): ClocksPerInstruction {
  const { warpTime, instructions } = launch;
  if (!warpTime) {
    const mean = ratio(sumOf(classClocks(launch, traffic, spec, code)), instructions);
    return { wide: mean, narrow: mean };
  }
  const memory = memoryLatencies(launch, traffic, spec, code);
  const narrowInstructions = fewLaneInstructions(launch);
  const perInstruction = (time: WarpTime, count: number): number =>
    ratio(time.issued + sumOf(waitClocks(time, memory, spec)), count);
  const wide = perInstruction(warpTime.wide, instructions - narrowInstructions);
  return { wide, narrow: narrowInstructions > 0 ? perInstruction(warpTime.narrow, narrowInstructions) : wide };
}

/** Clocks that warps wait for results of each class. */
const waitClocks = (
  { waits }: WarpTime,
  memory: MemoryLatencies,
  spec: DeviceSpec,
): ReadonlyMap<InstructionClass, number> =>
  new Map(INSTRUCTION_CLASSES.map((name) => [name, (waits[name] ?? 0) * latencyClocks(name, memory, spec)]));

/** Instructions of serial walks. */
export const fewLaneInstructions = ({ activeLaneHistogram }: LaunchCounters): number =>
  activeLaneHistogram.slice(1, SERIAL_LANES + 1).reduce((sum, count) => sum + count, 0);

/** Clocks that all warps together spend on the instructions of each class, waits included. */
function classClocks(
  launch: LaunchCounters,
  traffic: Traffic,
  spec: DeviceSpec,
  code: MachineCode,
): ReadonlyMap<InstructionClass, number> {
  const memory = memoryLatencies(launch, traffic, spec, code);
  const globalLoads = globalLoadsInFlight(
    ratio(launch.globalLoadBytes, launch.globalLoadRequests * LANES_PER_WARP),
    code,
  );
  return new Map(
    INSTRUCTION_CLASSES.map((name) => {
      const covered = latencyClocks(name, memory, spec) / independentInstructions(name, globalLoads, code);
      const exposed = Math.max(1, occupiedClocks(launch, name, code), covered);
      return [name, launch.instructionsByClass[name] * machineInstructions(name) * exposed];
    }),
  );
}

const sumOf = (clocks: ReadonlyMap<InstructionClass, number>): number =>
  [...clocks.values()].reduce((sum, value) => sum + value, 0);

/** Share of a warp's time that it waits for global loads, and at the barriers that these hold up: 0…1, modelled. */
export function copyWaitRatio(launch: LaunchCounters, traffic: Traffic, spec: DeviceSpec): number {
  const { warpTime } = launch;
  const clocks = warpTime
    ? waitClocks(warpTime.wide, memoryLatencies(launch, traffic, spec, MACHINE_CODE), spec)
    : classClocks(launch, traffic, spec, MACHINE_CODE);
  const issued = warpTime?.wide.issued ?? 0;
  return ratio(clocks.get('global-load')! + clocks.get('barrier')!, issued + sumOf(clocks));
}

/**
 * Splits the critical path into balanced and serial instructions. Instructions with few lanes are serial, whether all warps
 * execute them with one lane each or one warp does on top of the mean. Everything else on the path beyond the mean warp is
 * serial, too.
 */
export function criticalPath(launch: LaunchCounters, schedule: Schedule): CriticalPath {
  const warps = Math.max(1, launch.ctaCount) * schedule.warpsPerCta;
  const balanced = Math.max(0, launch.instructions - fewLaneInstructions(launch)) / warps;
  const mean = launch.instructions / warps;
  return { balanced, serial: Math.max(mean, launch.criticalPathInstructions) - balanced };
}

/** Clocks in which one warp's memory requests pass, one line or wavefront after the other, whatever else it does. */
function requestClocks(launch: LaunchCounters, schedule: Schedule, code: MachineCode): number {
  const lines = launch.globalLoadRequests * Math.max(0, linesPerLoad(launch) - 1) * code.clocksPerLineOfOneWarp;
  return (lines + sharedLoads(launch).wavefronts) / (Math.max(1, launch.ctaCount) * schedule.warpsPerCta);
}

/**
 * Time of one CTA alone. Its balanced part takes the longer of its latency, its requests' way and its own throughput demand. Work of
 * one warp or a few lanes is added, because the others wait at the next barrier.
 */
export function ctaLatency(
  launch: LaunchCounters,
  traffic: Traffic,
  schedule: Schedule,
  throughputClocksPerCta: number,
  spec: DeviceSpec,
  code: MachineCode = MACHINE_CODE,
): CtaLatency {
  const perInstruction = clocksPerInstruction(launch, traffic, spec, code);
  const { wide, narrow } = perInstruction;
  const path = criticalPath(launch, schedule);
  const perWarp = Math.max(path.balanced * wide, launch.warpTime ? requestClocks(launch, schedule, code) : 0);
  const balancedClocks = Math.max(perWarp, throughputClocksPerCta);
  // Counters of before 2026-12-01, and those of a GPU, do not say how many of them lie on the path.
  const narrowPath =
    launch.criticalPathNarrowInstructions ?? fewLaneInstructions(launch) / Math.max(1, launch.ctaCount);
  const narrowSerial = Math.min(path.serial, narrowPath);
  const wideSerial = path.serial - narrowSerial;
  const serialClocks = narrowSerial * narrow + wideSerial * wide;
  const serialText = (count: number, clocks: number): string =>
    count > 0 ? ` + ${figure(count)} serial × ${figure(clocks)}` : '';
  return {
    path,
    clocksPerInstruction: perInstruction,
    balancedClocks,
    serialClocks,
    totalClocks: balancedClocks + serialClocks,
    arithmetic:
      `one CTA alone: ${balancedText(path.balanced, wide, perWarp, throughputClocksPerCta)}` +
      serialText(wideSerial, wide) +
      serialText(narrowSerial, narrow),
  };
}

function balancedText(instructions: number, clocks: number, perWarp: number, throughput: number): string {
  if (throughput >= perWarp) return `its throughput, ${figure(throughput)} clocks`;
  if (perWarp > instructions * clocks) return `its memory requests, ${figure(perWarp)} clocks`;
  return `${figure(instructions)} instructions per warp × ${figure(clocks)} clocks`;
}
