import type { Device } from '../device.ts';
import type { KernelFile } from '../kernel.ts';

/**
 * Why a kernel can't run on a device, for any workload and parameters: it is for other architectures, or uses features that
 * virtual GPUs lack. Undefined if it may run.
 */
export function deviceRefusal(
  file: KernelFile,
  { identity, spec }: Pick<Device, 'identity' | 'spec'>,
): string | undefined {
  const { architectures } = file.source;
  if (architectures && !architectures.includes(spec.architecture)) {
    return `${file.name} is for ${architectures.join(', ')}; ${identity.id} is ${spec.architecture}`;
  }
  return undefined;
}
