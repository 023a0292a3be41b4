import { specFromAttributes } from '../../hardware/spec-from-attributes.ts';
import { CudaDevice } from './cuda-device.ts';
import { lockGpu } from './gpu-lock.ts';
import { WorkerClient } from './worker-client.ts';

/**
 * Opens a GPU by its ordinal and reserves it for this process until it is closed.
 * @param options.shared skip the lock: for a second worker of a process that holds it.
 * @throws WarpsmithError `missing-library`, `unknown-device`, `device-busy`, `device-failed`.
 */
export async function openCudaDevice(ordinal: number, options: { shared?: boolean } = {}): Promise<CudaDevice> {
  const client = new WorkerClient(ordinal);
  let release = () => {};
  try {
    // Takes the lock before it creates a context, so as not to disturb another process that measures.
    if (!options.shared) release = await lockGpu((await client.identify()).uuid, `cuda:${ordinal}`);
    const { info, maximumSmClockMhz } = await client.open();
    return new CudaDevice(client, info, specFromAttributes({ ...info, maximumSmClockMhz }), release);
  } catch (error) {
    await client.close();
    release();
    throw error;
  }
}
