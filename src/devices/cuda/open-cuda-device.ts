import type { DeviceSpec } from '../../core/device-spec.ts';
import { DEVICE_SPECS } from '../../hardware/device-specs.ts';
import { CudaDevice } from './cuda-device.ts';
import { lockGpu } from './gpu-lock.ts';
import type { CudaInfo } from './worker/device-info.ts';
import { WorkerClient } from './worker-client.ts';

/**
 * Opens a GPU by its ordinal and keeps it to this process until it is closed.
 * @param options.shared do without the lock: for a second worker of a process that holds it.
 * @throws WarpsmithError `missing-library`, `unknown-device`, `device-busy`, `device-failed`.
 */
export async function openCudaDevice(ordinal: number, options: { shared?: boolean } = {}): Promise<CudaDevice> {
  const client = new WorkerClient(ordinal);
  try {
    const info = await client.open();
    const release = options.shared ? () => {} : await lockGpu(info.uuid, `cuda:${ordinal}`);
    return new CudaDevice(client, info, specOf(info), release);
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** TODO replaced by specFromAttributes */
function specOf(info: CudaInfo): DeviceSpec {
  return { ...DEVICE_SPECS.get('h200')!, name: info.name, architecture: info.architecture };
}
