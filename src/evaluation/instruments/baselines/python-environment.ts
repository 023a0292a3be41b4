import { minimalEnvironment } from '../../../process/minimal-environment.ts';

/**
 * Variables by which PyTorch finds its libraries, its caches and the user's packages, and those that name libraries for
 * baselines.
 */
const PASSED_ON = [
  'HOME',
  'LD_LIBRARY_PATH',
  'CUDA_HOME',
  'CUDA_PATH',
  'PYTHONPATH',
  'PYTHONHOME',
  'VIRTUAL_ENV',
  'WARPSMITH_FA3',
];

/** The worker's whole environment. It sees one GPU and writes nothing beside its sources. */
export function pythonEnvironment(gpuUuid: string | undefined): Record<string, string> {
  const environment = minimalEnvironment(PASSED_ON);
  if (gpuUuid !== undefined) environment.CUDA_VISIBLE_DEVICES = gpuUuid;
  return { ...environment, PYTHONDONTWRITEBYTECODE: '1', PYTHONUNBUFFERED: '1' };
}

/** What library baselines want of a Python. */
export const PYTHON_FOR_BASELINES = {
  message: 'Library baselines need Python, and it is not there.',
  expected: 'Python 3.9 or later with PyTorch for CUDA',
} as const;
