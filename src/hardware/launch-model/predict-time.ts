import type { LaunchCounters } from '../../core/counters.ts';
import type { CalibrationBasis, DeviceSpec } from '../../core/device-spec.ts';
import type { LaunchTiming, Timing } from '../../core/timing.ts';
import { figure } from '../../core/values.ts';
import { MACHINE_CODE, type MachineCode } from './constants.ts';
import { type LaunchModel, modelLaunch, type ResourceBound } from './model-launch.ts';

/** Half-width of the model's interval as a share of the prediction. */
interface Uncertainty {
  readonly throughput: number;
  /** Widest where the latency of machine code that nobody has seen decides. */
  readonly latency: number;
}

/**
 * On the measured board, the widths hold the measured time in 24 of 32 kernels that set no constant (docs/decisions, time
 * model). A board with the same chip differs in clock, L2 and DRAM at most; one known from publications alone may differ
 * in everything that was not published. These two steps are judgement, not measurement.
 */
const UNCERTAINTY: Readonly<Record<CalibrationBasis, Uncertainty>> = {
  measured: { throughput: 0.35, latency: 0.5 },
  'same-chip': { throughput: 0.4, latency: 0.55 },
  published: { throughput: 0.5, latency: 0.65 },
};

function launchTiming(launch: LaunchCounters, model: LaunchModel): LaunchTiming {
  return {
    functionName: launch.functionName,
    medianNs: model.ns,
    bindingResource: model.bindingResource,
    bounds: model.bounds.map((bound) => ({ ...bound })),
    occupancy: model.schedule.occupancy,
    ctaCount: launch.ctaCount,
    waves: model.schedule.waves,
    tailRatio: model.schedule.tailRatio,
    launchOverheadNs: model.launchOverheadNs,
    dramBytesEstimate: model.traffic.dramBytes,
    l2BytesEstimate: model.traffic.l2Bytes,
    l2HitRatioEstimate: model.traffic.l2HitRatio,
    cacheSampledRatio: launch.sampledCache?.sampledRatio,
  };
}

/** What a sequence does besides its launches, and what the model may assume. */
export interface PredictionOptions {
  /** Of each memset. */
  readonly memsetBytes?: readonly number[];
  readonly code?: MachineCode;
}

/** Memsets: each waits for what comes before it, and DRAM takes what it writes. Undefined if there are none. */
function memsetBound(memsetBytes: readonly number[], spec: DeviceSpec): ResourceBound | undefined {
  if (memsetBytes.length === 0) return undefined;
  const each = spec.memsetNs?.value ?? 0;
  const bytes = memsetBytes.reduce((sum, one) => sum + one, 0);
  const bytesPerNs = (spec.dramBytesPerSecond.value * spec.dramAttainableRatio.value) / 1e9;
  const ns = memsetBytes.length * each + bytes / bytesPerNs;
  return {
    resource: 'memset',
    ns,
    arithmetic: `${memsetBytes.length} × ${each} ns + ${figure(bytes)} B ÷ ${figure(bytesPerNs)} GB/s = ${figure(ns)} ns`,
  };
}

/** Sums each resource over the launches; a launch waits for the one before it. */
function sequenceBounds(launches: readonly LaunchTiming[], memsets: ResourceBound | undefined): ResourceBound[] {
  const sums = new Map<string, { ns: number; parts: string[] }>();
  const add = (resource: string, ns: number, part: string): void => {
    const sum = sums.get(resource) ?? { ns: 0, parts: [] };
    sum.ns += ns;
    sum.parts.push(part);
    sums.set(resource, sum);
  };
  for (const launch of launches) {
    for (const bound of launch.bounds) add(bound.resource, bound.ns, `${launch.functionName}: ${bound.arithmetic}`);
    add('launch', launch.launchOverheadNs, `${launch.functionName}: ${launch.launchOverheadNs} ns per launch`);
  }
  if (memsets) add(memsets.resource, memsets.ns, memsets.arithmetic);
  return [...sums]
    .map(([resource, { ns, parts }]) => ({ resource, ns, arithmetic: parts.join('; ') }))
    .sort((a, b) => b.ns - a.ns);
}

/** The interval: each launch's half-width weighted with its time; latency-bound launches are less certain. */
function uncertainty(launches: readonly LaunchTiming[], memsetNs: number, totalNs: number, spec: DeviceSpec): number {
  const widths = UNCERTAINTY[spec.calibration?.basis ?? 'published'];
  let weighted = memsetNs * widths.throughput;
  for (const launch of launches) {
    const own = launch.bindingResource === 'latency' ? widths.latency : widths.throughput;
    weighted += own * launch.medianNs;
  }
  return totalNs > 0 ? weighted / totalNs : 0;
}

/** The resource that binds the launches that take the most time, or memsets. */
function bindingResource(launches: readonly LaunchTiming[], memsets: ResourceBound | undefined): string {
  const share = new Map<string, number>(memsets ? [[memsets.resource, memsets.ns]] : []);
  for (const launch of launches) {
    share.set(launch.bindingResource, (share.get(launch.bindingResource) ?? 0) + launch.medianNs);
  }
  return [...share].reduce((most, entry) => (entry[1] > most[1] ? entry : most), ['launch', 0])[0];
}

/**
 * Predicts the device time of a counted sequence of launches and memsets: `predicted`, with every bound and its arithmetic.
 * The prediction never undercuts the provable lower bound. Deterministic and pure.
 */
export function predictTime(
  counters: readonly LaunchCounters[],
  spec: DeviceSpec,
  bounds: { vetoNs: number; attainableNs: number },
  { memsetBytes = [], code = MACHINE_CODE }: PredictionOptions = {},
): Timing {
  const launches = counters.map((launch) => launchTiming(launch, modelLaunch(launch, spec, {}, code)));
  const memsets = memsetBound(memsetBytes, spec);
  const memsetNs = memsets?.ns ?? 0;
  const modelledNs = launches.reduce((sum, launch) => sum + launch.medianNs, memsetNs);
  const medianNs = Math.max(modelledNs, bounds.vetoNs);
  const halfWidth = uncertainty(launches, memsetNs, modelledNs, spec);
  return {
    kind: 'predicted',
    medianNs,
    intervalNs: [Math.max(bounds.vetoNs, medianNs * (1 - halfWidth)), medianNs * (1 + halfWidth)],
    vetoNs: bounds.vetoNs,
    attainableNs: bounds.attainableNs,
    bindingResource: bindingResource(launches, memsets),
    bounds: sequenceBounds(launches, memsets),
    launches,
  };
}
