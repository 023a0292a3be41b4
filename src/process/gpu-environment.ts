import { minimalEnvironment } from './minimal-environment.ts';

const PASSED_ON = ['LD_LIBRARY_PATH', 'CUDA_VISIBLE_DEVICES', 'CUDA_HOME', 'CUDA_PATH', 'WARPSMITH_LIBCUDA'] as const;

/** The minimal environment and what finding and steering CUDA needs. */
export function gpuEnvironment(): Record<string, string> {
  return {
    ...minimalEnvironment(PASSED_ON),
    // Functions are loaded with their module, never inside a timed launch.
    CUDA_MODULE_LOADING: 'EAGER',
    // Ordinals as nvidia-smi shows them.
    CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
    // The driver's own cache of compiled PTX lies in the home folder; ours is keyed by everything that matters.
    CUDA_CACHE_DISABLE: '1',
  };
}
