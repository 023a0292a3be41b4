import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { minimalEnvironment } from '../../../process/minimal-environment.ts';

/** The `python` folder beside package.json, from the sources and from the built package alike. */
export function findPythonFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) || !existsSync(join(folder, 'python', 'warpsmith_worker'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error('The python folder is missing from this installation of warpsmith.');
    folder = parent;
  }
  return join(folder, 'python');
}

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
  const environment = minimalEnvironment();
  for (const name of PASSED_ON) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  if (gpuUuid !== undefined) environment.CUDA_VISIBLE_DEVICES = gpuUuid;
  return { ...environment, PYTHONDONTWRITEBYTECODE: '1', PYTHONUNBUFFERED: '1' };
}
