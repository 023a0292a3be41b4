import type { LaunchCounters, WarpTime } from '../core/counters.ts';
import { SECTORS_PER_LINE } from '../core/gpu-sizes.ts';
import { figure } from '../core/values.ts';
import { INSTRUCTION_CLASSES, type InstructionClass } from '../core/vocabulary.ts';
import { fewLaneInstructions } from '../hardware/launch-model/latency.ts';
import { modelLaunch } from '../hardware/launch-model/model-launch.ts';
import type { ScheduleAssumptions } from '../hardware/launch-model/schedule.ts';
import { nanoseconds } from './format.ts';
import type { DiagnosisContext, ModelledLaunch } from './rule.ts';

/** How a launch would look without a defect. */
export interface Change {
  readonly launch?: LaunchCounters;
  readonly assumptions?: ScheduleAssumptions;
}

export interface Estimate {
  /** Modelled time now ÷ modelled time after the change; at least 1. */
  readonly estimatedSpeedup: number;
  readonly arithmetic: string;
}

/**
 * Estimates what removing a defect gives: the sequence is modelled again with the changed launches. `change` returns
 * undefined for launches that stay as they are.
 */
export function estimate(
  context: DiagnosisContext,
  what: string,
  change: (item: ModelledLaunch) => Change | undefined,
): Estimate {
  let afterNs = 0;
  let binding = 'launch';
  for (const item of context.launches) {
    const changed = change(item);
    if (!changed) {
      afterNs += item.model.ns;
      continue;
    }
    const model = modelLaunch(changed.launch ?? item.launch, context.spec, changed.assumptions);
    afterNs += Math.min(model.ns, item.model.ns);
    binding = model.bindingResource;
  }
  const estimatedSpeedup = afterNs > 0 ? Math.max(1, context.totalNs / afterNs) : 1;
  return {
    estimatedSpeedup,
    arithmetic:
      `${what}: ${nanoseconds(context.totalNs)} → ${nanoseconds(afterNs)} (then bound by ${binding})` +
      ` = ${figure(estimatedSpeedup)}×`,
  };
}

/** Lines of `factor` times the requests for the same sectors. */
export const fewerLines = (
  { globalLoadLines, globalLoadSectors }: LaunchCounters,
  factor: number,
): number | undefined => globalLoadLines && Math.max(globalLoadLines * factor, globalLoadSectors / SECTORS_PER_LINE);

/**
 * The same launch with `factor` times the instructions for the same work: fuller warps. Requests and wavefronts shrink
 * alike; the bytes and sectors they move do not.
 */
export function packInstructions(launch: LaunchCounters, factor: number): LaunchCounters {
  const instructionsByClass = { ...launch.instructionsByClass };
  for (const name of INSTRUCTION_CLASSES) instructionsByClass[name] *= factor;
  return {
    ...launch,
    instructionsByClass,
    instructions: launch.instructions * factor,
    activeLaneHistogram: launch.activeLaneHistogram.map((_, lanes) =>
      lanes === 32 ? launch.instructions * factor : 0,
    ),
    criticalPathInstructions: launch.criticalPathInstructions * factor,
    longestCtaInstructions: launch.longestCtaInstructions * factor,
    warpTime: launch.warpTime && packedTime(launch, launch.warpTime, factor),
    globalLoadRequests: launch.globalLoadRequests * factor,
    globalLoadLines: fewerLines(launch, factor),
    globalStoreRequests: launch.globalStoreRequests * factor,
    sharedLoadRequests: launch.sharedLoadRequests * factor,
    sharedLoadWavefronts: launch.sharedLoadWavefronts * factor,
    sharedStoreRequests: launch.sharedStoreRequests * factor,
    sharedStoreWavefronts: launch.sharedStoreWavefronts * factor,
  };
}

type WarpTimes = NonNullable<LaunchCounters['warpTime']>;

/** All warps with many lanes, which wait between two instructions as those that had many do. */
function packedTime(launch: LaunchCounters, time: WarpTimes, factor: number): WarpTimes {
  const { instructions } = launch;
  const narrow = fewLaneInstructions(launch);
  const hasWide = instructions > narrow;
  const source = hasWide ? time.wide : time.narrow;
  const scale = (instructions * factor) / (hasWide ? instructions - narrow : instructions);
  return { wide: mapTime(source, () => scale), narrow: { issued: 0, waits: {} } };
}

/** @param scaleOf factor of what is issued (no name) and of the waits for a class. */
function mapTime({ issued, waits }: WarpTime, scaleOf: (name?: InstructionClass) => number): WarpTime {
  const entries = Object.entries(waits) as [InstructionClass, number][];
  return {
    issued: issued * scaleOf(),
    waits: Object.fromEntries(entries.map(([name, count]) => [name, count * scaleOf(name)])),
  };
}

/**
 * The same launch with other instruction counts for some classes. What is added or removed is taken to be spread evenly
 * over CTAs and warps: serial parts of the critical path stay.
 */
export function replaceInstructions(
  { launch, model }: ModelledLaunch,
  counts: Partial<Record<InstructionClass, number>>,
): LaunchCounters {
  const instructionsByClass = { ...launch.instructionsByClass, ...counts };
  const instructions = INSTRUCTION_CLASSES.reduce((sum, name) => sum + instructionsByClass[name], 0);
  const changePerCta = (instructions - launch.instructions) / launch.ctaCount;
  const changePerWarp = changePerCta / model.schedule.warpsPerCta;
  const scaleOf = (name?: InstructionClass): number => {
    const [before, after] = name
      ? [launch.instructionsByClass[name], instructionsByClass[name]]
      : [launch.instructions, instructions];
    return before > 0 ? after / before : 1;
  };
  const { warpTime } = launch;
  return {
    ...launch,
    warpTime: warpTime && { wide: mapTime(warpTime.wide, scaleOf), narrow: mapTime(warpTime.narrow, scaleOf) },
    instructionsByClass,
    instructions,
    criticalPathInstructions: Math.max(0, launch.criticalPathInstructions + changePerWarp),
    longestCtaInstructions: Math.max(0, launch.longestCtaInstructions + changePerCta),
  };
}
