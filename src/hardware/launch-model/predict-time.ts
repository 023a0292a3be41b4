import type { LaunchCounters } from '../../core/counters.ts';
import type { CalibrationBasis, DeviceSpec } from '../../core/device-spec.ts';
import type { LaunchTiming, Timing } from '../../core/timing.ts';
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

/** Sums each resource over the launches; a launch waits for the one before it. */
function sequenceBounds(launches: readonly LaunchTiming[]): ResourceBound[] {
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
  return [...sums]
    .map(([resource, { ns, parts }]) => ({ resource, ns, arithmetic: parts.join('; ') }))
    .sort((a, b) => b.ns - a.ns);
}

/** The interval: each launch's half-width weighted with its time; latency-bound launches are less certain. */
function uncertainty(launches: readonly LaunchTiming[], totalNs: number, spec: DeviceSpec): number {
  const widths = UNCERTAINTY[spec.calibration?.basis ?? 'published'];
  let weighted = 0;
  for (const launch of launches) {
    const own = launch.bindingResource === 'latency' ? widths.latency : widths.throughput;
    weighted += own * launch.medianNs;
  }
  return totalNs > 0 ? weighted / totalNs : 0;
}

/** The resource that binds the launches that take the most time. */
function bindingResource(launches: readonly LaunchTiming[]): string {
  const share = new Map<string, number>();
  for (const launch of launches) {
    share.set(launch.bindingResource, (share.get(launch.bindingResource) ?? 0) + launch.medianNs);
  }
  return [...share].reduce((most, entry) => (entry[1] > most[1] ? entry : most), ['launch', 0])[0];
}

/**
 * Predicts the device time of a counted sequence of launches: `predicted`, with every bound and its arithmetic.
 * The prediction never undercuts the provable lower bound. Deterministic and pure.
 */
export function predictTime(
  counters: readonly LaunchCounters[],
  spec: DeviceSpec,
  bounds: { vetoNs: number; attainableNs: number },
  code: MachineCode = MACHINE_CODE,
): Timing {
  const launches = counters.map((launch) => launchTiming(launch, modelLaunch(launch, spec, {}, code)));
  const modelledNs = launches.reduce((sum, launch) => sum + launch.medianNs, 0);
  const medianNs = Math.max(modelledNs, bounds.vetoNs);
  const halfWidth = uncertainty(launches, modelledNs, spec);
  return {
    kind: 'predicted',
    medianNs,
    intervalNs: [Math.max(bounds.vetoNs, medianNs * (1 - halfWidth)), medianNs * (1 + halfWidth)],
    vetoNs: bounds.vetoNs,
    attainableNs: bounds.attainableNs,
    bindingResource: bindingResource(launches),
    bounds: sequenceBounds(launches),
    launches,
  };
}
