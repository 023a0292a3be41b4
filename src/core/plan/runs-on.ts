import type { Device } from '../device.ts';
import type { ArgumentDeclaration, KernelFile } from '../kernel.ts';

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
  if (identity.kind !== 'virtual') return undefined;
  const usesTensorMaps = file.steps.some((step) => 'function' in step && step.arguments.some(isTensorMap));
  return usesTensorMaps ? `${file.name} uses tensor maps (TMA), which virtual GPUs do not run` : undefined;
}

const isTensorMap = (argument: ArgumentDeclaration): boolean => 'tensorMap' in argument;
