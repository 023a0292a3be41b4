import type { KernelResources, LaunchActivity, LaunchCounters, LineCounters } from '../../../core/counters.ts';
import { emptyTotals } from '../../../core/empty-totals.ts';
import { buffersOf, type LaunchPlan, type PlannedLaunch } from '../../../core/launch-plan.ts';
import { STALL_REASONS } from '../../../core/vocabulary.ts';
import {
  COUNTER_METRICS,
  type CounterMetric,
  ISSUE_INTERVAL_METRIC,
  LANE_OPCODE_METRIC,
  OPCODE_METRIC,
  stallMetric,
  TENSOR_PIPE_METRIC,
} from './ncu-metrics.ts';
import type { DetailsLaunch } from './parse-details-page.ts';
import { accessBytes, sassClass, tensorFlop, vectorFlop } from './sass-classes.ts';

const LANES = 32;
const SECTOR_BYTES = 32;

export interface ProfiledLaunch {
  readonly profiled: Pick<DetailsLaunch, 'metrics' | 'instances'>;
  readonly planned: PlannedLaunch;
  readonly plan: LaunchPlan;
  /** The function's resources according to the driver; the profiler's figures if absent. */
  readonly resources?: KernelResources | undefined;
  readonly lines: LineCounters[];
}

/** The limits of a profile's counters, in words, for their label. */
export const NOT_COUNTED =
  'machine instructions, not PTX; lanes are means, so that few-lane instructions and the busiest warp are unknown; ' +
  'distinct sectors are at most those of the buffers a launch is given; HFMA2 counts as fp16 FLOP even where it only ' +
  'sets a constant';

/** The virtual GPU's counters, computed from one launch's metrics. A missing metric gives 0. */
export function countersFromMetrics({ profiled, planned, plan, resources, lines }: ProfiledLaunch): LaunchCounters {
  const { functionName, grid, block } = planned;
  const metric = (name: CounterMetric): number => profiled.metrics[COUNTER_METRICS[name]]?.value ?? 0;
  const ctaCount = grid[0] * grid[1] * grid[2];
  const instructions = metric('instructions');
  const threadInstructions = metric('threadInstructions');
  const meanLanes = instructions > 0 && threadInstructions > 0 ? threadInstructions / instructions : LANES;
  const opcodes = profiled.instances[OPCODE_METRIC] ?? new Map<string, number>();
  const counts = opcodeCounts(opcodes, lanesOf(opcodes, profiled.instances[LANE_OPCODE_METRIC], meanLanes));
  const distinct = distinctSectors(planned, plan);
  const loadSectors = metric('globalLoadSectors');
  const storeSectors = metric('globalStoreSectors');
  return {
    ...counts,
    functionName,
    grid,
    block,
    ctaCount,
    countedCtas: ctaCount,
    instructions,
    threadInstructions: threadInstructions || instructions * meanLanes,
    globalLoadRequests: metric('globalLoadRequests') || counts.globalLoadRequests,
    globalLoadSectors: loadSectors,
    globalStoreRequests: metric('globalStoreRequests') || counts.globalStoreRequests,
    globalStoreSectors: storeSectors,
    sharedLoadWavefronts: metric('sharedLoadWavefronts'),
    sharedLoadBankConflicts: metric('sharedLoadBankConflicts'),
    sharedStoreWavefronts: metric('sharedStoreWavefronts'),
    sharedStoreBankConflicts: metric('sharedStoreBankConflicts'),
    divergentBranches: metric('divergentBranches'),
    resources: resources
      ? { ...resources, dynamicSharedBytes: planned.dynamicSharedBytes }
      : resourcesFromMetrics(metric, planned),
    // Unknown: no hardware counter counts lanes per instruction, or single warps.
    activeLaneHistogram: [],
    criticalPathInstructions: 0,
    longestCtaInstructions: 0,
    distinctSectorsRead: Math.min(distinct.read, loadSectors),
    distinctSectorsWritten: Math.min(distinct.written, storeSectors),
    activity: activityOf(profiled.metrics),
    lines,
  };
}

/** Undefined where the profiler has none of these metrics. */
function activityOf(metrics: ProfiledLaunch['profiled']['metrics']): LaunchActivity | undefined {
  const tensorPercent = metrics[TENSOR_PIPE_METRIC]?.value;
  const intervalClocks = metrics[ISSUE_INTERVAL_METRIC]?.value ?? 0;
  const stalls = STALL_REASONS.flatMap((reason) => {
    const clocks = metrics[stallMetric(reason)]?.value;
    return clocks === undefined || !(intervalClocks > 0) ? [] : [[reason, clocks / intervalClocks] as const];
  });
  if (tensorPercent === undefined && stalls.length === 0) return undefined;
  return {
    tensorPipeRatio: tensorPercent === undefined ? undefined : tensorPercent / 100,
    stallRatios: stalls.length === 0 ? undefined : Object.fromEntries(stalls),
  };
}

const resourcesFromMetrics = (metric: (name: CounterMetric) => number, planned: PlannedLaunch): KernelResources => ({
  registersPerThread: metric('registersPerThread'),
  registersSource: 'compiler',
  staticSharedBytes: metric('staticSharedBytes'),
  dynamicSharedBytes: planned.dynamicSharedBytes,
  localBytesPerThread: 0,
});

/** Mean active lanes of an opcode: from its own lane counts if they exist, else from those of all instructions. */
function lanesOf(
  opcodes: ReadonlyMap<string, number>,
  laneCounts: ReadonlyMap<string, number> | undefined,
  meanLanes: number,
): (opcode: string) => number {
  const warpCounts = new Map<string, number>();
  for (const [opcode, count] of opcodes) {
    const base = baseOf(opcode);
    warpCounts.set(base, (warpCounts.get(base) ?? 0) + count);
  }
  return (opcode) => {
    const lanes = laneCounts?.get(baseOf(opcode));
    const warps = warpCounts.get(baseOf(opcode));
    return lanes !== undefined && warps ? lanes / warps : meanLanes;
  };
}

const baseOf = (opcode: string): string => opcode.split('.')[0]!;

/** What follows from how often each opcode ran. */
function opcodeCounts(opcodes: ReadonlyMap<string, number>, lanesOf: (opcode: string) => number) {
  const totals = emptyTotals();
  for (const [opcode, count] of opcodes) {
    const kind = sassClass(opcode) ?? 'move';
    totals.instructionsByClass[kind] += count;
    const flop = vectorFlop(opcode);
    if (flop) totals.flop[flop.kind] += flop.count * count * lanesOf(opcode);
    if (kind === 'tensor') totals.flop.tensor += (tensorFlop(opcode) ?? 0) * count;
    const bytes = accessBytes(opcode) * count * lanesOf(opcode);
    switch (kind) {
      case 'global-load':
        totals.globalLoadRequests += count;
        totals.globalLoadBytes += bytes;
        break;
      case 'global-store':
        totals.globalStoreRequests += count;
        totals.globalStoreBytes += bytes;
        break;
      case 'shared-load':
        totals.sharedLoadRequests += count;
        break;
      case 'shared-store':
        totals.sharedStoreRequests += count;
        break;
      case 'local-load':
        totals.localLoadRequests += count;
        break;
      case 'local-store':
        totals.localStoreRequests += count;
        break;
      case 'atomic':
        if (baseOf(opcode) === 'ATOMS') totals.sharedAtomicRequests += count;
        else totals.globalAtomicRequests += count;
        break;
    }
    if (baseOf(opcode) === 'BAR') totals.barriers += count;
    if (BRANCHES.has(baseOf(opcode))) totals.branches += count;
  }
  return totals;
}

const BRANCHES = new Set(['BRA', 'BRX', 'JMP', 'JMX']);

/** Sectors of the launch's buffers, which it can read or write. */
function distinctSectors(planned: PlannedLaunch, plan: LaunchPlan): { read: number; written: number } {
  const names = new Set(planned.arguments.flatMap(buffersOf));
  const sectorsOf = (excluded: 'in' | 'out'): number =>
    plan.buffers
      .filter(({ name, role }) => names.has(name) && role !== excluded)
      .reduce((sum, { bytes }) => sum + Math.ceil(bytes / SECTOR_BYTES), 0);
  return { read: sectorsOf('out'), written: sectorsOf('in') };
}
