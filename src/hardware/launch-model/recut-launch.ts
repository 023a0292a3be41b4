import type { DeviceSpec } from '../../core/device-spec.ts';
import type { LaunchTiming } from '../../core/timing.ts';
import { combineBounds, startClocks } from './model-launch.ts';
import { turnsOfCtas } from './schedule.ts';

/** How a launch's work is cut into CTAs. */
export interface LaunchCut {
  readonly ctaCount: number;
  /** CTAs that the work would fill if the last tile along each axis needed no padding; at most `ctaCount`. */
  readonly filledCtas: number;
  readonly warpsPerCta: number;
  /** CTAs that an SM can hold. */
  readonly ctasPerSm: number;
}

/** Resources of the whole chip. Their demand does not depend on how the work is divided. */
const OF_CHIP: ReadonlySet<string> = new Set(['l2', 'dram', 'atomics']);
/** Resources of an SM that all its warps share; the others belong to its schedulers, and idle with them. */
const OF_SM: ReadonlySet<string> = new Set(['shared', 'shuffle', 'lsu', 'l1', 'fp64']);

/** CTAs that the busiest SM executes in all. */
export const ctasOnBusiestSm = ({ ctaCount }: Pick<LaunchCut, 'ctaCount'>, spec: DeviceSpec): number =>
  Math.ceil(ctaCount / spec.smCount.value);

/** Share of the SMs' time that CTAs fill: 1 when every SM executes as many as the busiest one, and nothing is padding. */
export const filledShare = (cut: Pick<LaunchCut, 'ctaCount' | 'filledCtas'>, spec: DeviceSpec): number =>
  cut.filledCtas / (ctasOnBusiestSm(cut, spec) * spec.smCount.value);

/**
 * Time in ns of a launch whose work is divided differently, by the time model. Scales each bound with the work of the
 * busiest SM, and latency with the number of waves and a warp's share of them. Keeps registers and the traffic of the whole
 * launch, so smaller tiles look better than they are: they re-read more. Copies that a CTA makes beside its own work are not seen.
 */
export function recutLaunchNs(
  launch: Pick<LaunchTiming, 'bounds' | 'launchOverheadNs'>,
  from: LaunchCut,
  to: LaunchCut,
  spec: DeviceSpec,
): number {
  const change = (amount: (cut: LaunchCut) => number): number => amount(to) / amount(from);
  const busiest = change((cut) => ctasOnBusiestSm(cut, spec) / cut.filledCtas);
  const schedulers = change((cut) => Math.min(spec.schedulersPerSm.value, residentCtas(cut, spec) * cut.warpsPerCta));
  const turns = change((cut) => roundsOf(cut, spec) / (cut.filledCtas * cut.warpsPerCta));
  const scaleOf = (resource: string): number => {
    if (OF_CHIP.has(resource)) return 1;
    if (resource === 'latency') return turns;
    if (resource === 'starts') return change((cut) => ctasOnBusiestSm(cut, spec) * startClocks(cut.warpsPerCta));
    // The number of steps (chain.ts).
    if (resource === 'chain') return Math.sqrt(change(({ ctaCount }) => ctaCount));
    return OF_SM.has(resource) ? busiest : busiest / schedulers;
  };
  const bounds = launch.bounds.map((bound) => ({ ...bound, ns: bound.ns * scaleOf(bound.resource) }));
  const resident = residentCtas(to, spec);
  const schedule = { residentCtas: resident, loadTurns: turnsOfCtas(resident, roundsOf(to, spec)) };
  return combineBounds(bounds, schedule) + launch.launchOverheadNs;
}

const residentCtas = (cut: LaunchCut, spec: DeviceSpec): number => Math.min(cut.ctasPerSm, ctasOnBusiestSm(cut, spec));

const roundsOf = (cut: LaunchCut, spec: DeviceSpec): number =>
  Math.ceil(ctasOnBusiestSm(cut, spec) / residentCtas(cut, spec));
