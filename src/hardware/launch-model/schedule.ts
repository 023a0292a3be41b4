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
  /** Turns in which an SM loads while it computes: 1 where all that it loads comes before all that it computes. */
  readonly loadTurns: number;
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
  const rounds = whole(ctasOnBusiestSm / residentCtas);
  const waves = launch.ctaCount / (spec.smCount.value * ctasPerSm);
  const meanInstructions = launch.instructions / Math.max(1, launch.ctaCount);
  const longest = meanInstructions > 0 ? launch.longestCtaInstructions / meanInstructions : 1;
  return {
    occupancy: theoretical,
    warpsPerCta: Math.ceil(threads / LANES_PER_WARP),
    ctasOnBusiestSm,
    residentCtas,
    rounds,
    loadTurns: loadTurns(launch, residentCtas, rounds),
    waves,
    tailRatio: Math.ceil(waves) / waves,
    longestCtaRatio: quantised ? Math.max(1, longest) : 1,
    activeSms: Math.min(spec.smCount.value, launch.ctaCount),
  };
}

/** Turns in which some CTAs of an SM load while others compute: 1 where a CTA has the SM to itself. */
export const turnsOfCtas = (residentCtas: number, rounds: number): number =>
  residentCtas > 1 ? Math.max(1, rounds) : 1;

/**
 * A CTA that copies asynchronously computes beside its own copies, as often as these fill its
 * shared memory: what it copies into memory that holds all of it is there before it begins.
 */
function loadTurns(launch: LaunchCounters, residentCtas: number, rounds: number): number {
  const { 'async-copy': copies, 'global-load': loads } = launch.instructionsByClass;
  const { staticSharedBytes, dynamicSharedBytes } = launch.resources;
  const sharedBytes = staticSharedBytes + dynamicSharedBytes;
  const ofCopies =
    copies > loads && sharedBytes > 0 ? launch.globalLoadBytes / Math.max(1, launch.ctaCount) / sharedBytes : 1;
  return Math.max(turnsOfCtas(residentCtas, rounds), ofCopies);
}
