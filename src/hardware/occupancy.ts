import type { KernelResources } from '../core/counters.ts';
import type { DeviceSpec } from '../core/device-spec.ts';
import { LANES_PER_WARP } from '../core/gpu-sizes.ts';
import type { Occupancy } from '../core/timing.ts';
import { roundUp } from '../core/values.ts';

/** Registers one warp of the kernel takes, rounded to the allocation unit. */
const registersPerWarp = (resources: KernelResources, spec: DeviceSpec): number =>
  roundUp(Math.max(1, resources.registersPerThread) * LANES_PER_WARP, spec.registerAllocationUnit.value);

/** Shared memory one CTA takes: static + dynamic + the driver's reservation, rounded to the allocation unit. */
export const sharedBytesPerCta = (resources: KernelResources, spec: DeviceSpec): number =>
  roundUp(
    resources.staticSharedBytes + resources.dynamicSharedBytes + spec.reservedSharedBytesPerCta.value,
    spec.sharedAllocationUnitBytes.value,
  );

/**
 * CTAs that the register file lets an SM hold. Each scheduler owns a quarter of it and a warp's registers
 * never straddle two, so warps are counted per scheduler.
 */
function ctasByRegisters(resources: KernelResources, warpsPerCta: number, spec: DeviceSpec): number {
  if (resources.registersPerThread > spec.maximumRegistersPerThread.value) return 0;
  const perWarp = registersPerWarp(resources, spec);
  const perScheduler = Math.floor(spec.registersPerSm.value / spec.schedulersPerSm.value / perWarp);
  return Math.floor((perScheduler * spec.schedulersPerSm.value) / warpsPerCta);
}

function ctasByShared(resources: KernelResources, spec: DeviceSpec): number {
  if (resources.staticSharedBytes + resources.dynamicSharedBytes > spec.sharedBytesPerCta.value) return 0;
  return Math.floor(spec.sharedBytesPerSm.value / sharedBytesPerCta(resources, spec));
}

function ctasByWarps(threadsPerCta: number, warpsPerCta: number, spec: DeviceSpec): number {
  if (threadsPerCta > spec.maximumThreadsPerCta.value) return 0;
  return Math.floor(spec.maximumWarpsPerSm.value / warpsPerCta);
}

/**
 * Theoretical occupancy: how many CTAs and warps of a kernel one SM can hold, and which resource says so.
 * `ctasPerSm` is 0 when not even one CTA fits. Equal limits are named in the order warps, CTAs, registers, shared.
 * Source: the rules of cuda_occupancy.h for compute capability 7.0 and later.
 * @throws RangeError when threadsPerCta is not a positive integer.
 */
export function occupancy(resources: KernelResources, threadsPerCta: number, spec: DeviceSpec): Occupancy {
  if (!Number.isInteger(threadsPerCta) || threadsPerCta < 1) {
    throw new RangeError(`threadsPerCta must be a positive integer, not ${threadsPerCta}`);
  }
  const warpsPerCta = Math.ceil(threadsPerCta / LANES_PER_WARP);
  const limits: [Occupancy['limiter'], number][] = [
    ['warps', ctasByWarps(threadsPerCta, warpsPerCta, spec)],
    ['ctas', spec.maximumCtasPerSm.value],
    ['registers', ctasByRegisters(resources, warpsPerCta, spec)],
    ['shared-memory', ctasByShared(resources, spec)],
  ];
  const [limiter, ctasPerSm] = limits.reduce((least, limit) => (limit[1] < least[1] ? limit : least));
  const warpsPerSm = ctasPerSm * warpsPerCta;
  const maximumWarpsPerSm = spec.maximumWarpsPerSm.value;
  return {
    ctasPerSm,
    warpsPerSm,
    maximumWarpsPerSm,
    ratio: warpsPerSm / maximumWarpsPerSm,
    limiter,
    kind: 'theoretical',
  };
}
