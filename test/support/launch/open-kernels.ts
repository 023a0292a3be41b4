import { readFile } from 'node:fs/promises';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from './compile-cuda.ts';
import { loadCode } from './launch-kernel.ts';

export interface OpenKernels {
  readonly device: Device;
  readonly module: LoadedModule;
  readonly source: string;
}

/** A virtual L4 with the `extern "C"` kernels of a CUDA file. The caller closes the device. */
export async function openKernels(path: string, { threads = 1 } = {}): Promise<OpenKernels> {
  const source = await readFile(path, 'utf8');
  const code = await compileCuda(await createClangToolchain(), source, functionsIn(source));
  const device = await openDevice('virtual:l4', { threads });
  return { device, module: await loadCode(device, code), source };
}
