import type { LaunchCounters } from '../../core/counters.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import { LANES_PER_WARP } from '../../core/gpu-sizes.ts';
import type { Occupancy } from '../../core/timing.ts';
import { product } from '../../core/values.ts';
import { occupancy } from '../occupancy.ts';

/** How the CTAs of one launch spread over the SMs. */
export interface Schedule {
  readonly occupancy: Occupancy;
  readonly warpsPerCta: number;
  /** CTAs that the busiest SM executes in all. */
  readonly ctasOnBusiestSm: number;
  /** CTAs resident at once on the busiest SM. */
  readonly residentCtas: number;
  /** Turns of `residentCtas` that the busiest SM takes. */
  readonly rounds: number;
  /** CTAs ÷ (SMs × CTAs per SM). */
  readonly waves: number;
  /** Whole waves ÷ waves; 1 when the last wave is full. */
  readonly tailRatio: number;
  /** Work of the longest CTA ÷ work of the mean one. */
  readonly longestCtaRatio: number;
  readonly activeSms: number;
}

/** Questions of the form "what if …" that counters alone cannot express. */
export interface ScheduleAssumptions {
  /** Resident CTAs instead of the theoretical occupancy. */
  readonly ctasPerSm?: number;
  /** False: fractions of waves cost fractions of time, and every CTA takes the mean time. */
  readonly quantised?: boolean;
}

/** Spreads a launch over the SMs of a device. If not even one CTA of a kernel fits, it counts as one CTA per SM. */
export function scheduleLaunch(
  launch: LaunchCounters,
  spec: DeviceSpec,
  assumptions: ScheduleAssumptions = {},
): Schedule {
  const threads = product(launch.block);
  const theoretical = occupancy(launch.resources, threads, spec);
  const ctasPerSm = Math.max(1, assumptions.ctasPerSm ?? theoretical.ctasPerSm);
  const quantised = assumptions.quantised ?? true;
  const whole = (value: number): number => (quantised ? Math.ceil(value) : value);
  const ctasOnBusiestSm = Math.max(whole(launch.ctaCount / spec.smCount.value), quantised ? 1 : 0);
  const residentCtas = Math.min(ctasPerSm, Math.max(1, Math.ceil(ctasOnBusiestSm)));
  const waves = launch.ctaCount / (spec.smCount.value * ctasPerSm);
  const meanInstructions = launch.instructions / Math.max(1, launch.ctaCount);
  const longest = meanInstructions > 0 ? launch.longestCtaInstructions / meanInstructions : 1;
  return {
    occupancy: theoretical,
    warpsPerCta: Math.ceil(threads / LANES_PER_WARP),
    ctasOnBusiestSm,
    residentCtas,
    rounds: whole(ctasOnBusiestSm / residentCtas),
    waves,
    tailRatio: Math.ceil(waves) / waves,
    longestCtaRatio: quantised ? Math.max(1, longest) : 1,
    activeSms: Math.min(spec.smCount.value, launch.ctaCount),
  };
}

/** Turns in which some CTAs of an SM load while others compute: none where a CTA has the SM to itself. */
export const overlappingRounds = ({ residentCtas, rounds }: Pick<Schedule, 'residentCtas' | 'rounds'>): number =>
  residentCtas > 1 ? Math.max(1, rounds) : 1;
