import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import type { GpuUse } from '../../core/measuring-device.ts';
import { tryLockFile } from '../../ffi/file-lock.ts';
import { specFromAttributes } from '../../hardware/spec-from-attributes.ts';
import { CudaDevice } from './cuda-device.ts';
import { SharedGpu } from './shared-gpu.ts';
import { WorkerClient } from './worker-client.ts';

/**
 * Opens a GPU by its ordinal and reserves it for this process until it is closed.
 * @throws WarpsmithError `missing-library`, `unknown-device`, `device-busy`, `device-failed`.
 */
export async function openCudaDevice(ordinal: number): Promise<CudaDevice> {
  const client = new WorkerClient(ordinal, new SharedGpu());
  // Takes the lock before it creates a context, so as not to disturb another process that measures.
  return openWith(client, async () => lockGpu((await client.identify()).uuid, `cuda:${ordinal}`));
}

/** A second worker, with a context of its own, of a GPU that this process has opened. Errors as {@link openCudaDevice}. */
export const openSecondWorker = (ordinal: number, use: GpuUse): Promise<CudaDevice> =>
  openWith(new WorkerClient(ordinal, use), async () => () => {});

/** @param reserve gives what ends the reservation. */
async function openWith(client: WorkerClient, reserve: () => Promise<() => void>): Promise<CudaDevice> {
  let release = () => {};
  try {
    release = await reserve();
    const { info, maximumSmClockMhz } = await client.open();
    return new CudaDevice(client, info, specFromAttributes({ ...info, maximumSmClockMhz }), release);
  } catch (error) {
    await client.close();
    release();
    throw error;
  }
}

const DEFAULT_WAIT_MS = 10_000;
const POLL_MS = 200;

/** The file that is locked for the GPU. It stays: if it were removed, two processes could lock two different files. */
export const gpuLockPath = (uuid: string): string => join(tmpdir(), `warpsmith-${uuid}.lock`);

/**
 * Reserves a GPU for one process of this machine, because two that measure at the same time disturb each other. The kernel
 * holds the lock and releases it when its holder ends, for whatever reason.
 * @returns releases the lock.
 * @throws WarpsmithError `device-busy`, naming the holder, after waiting.
 */
export async function lockGpu(uuid: string, id: string, waitMs: number = DEFAULT_WAIT_MS): Promise<() => void> {
  const path = gpuLockPath(uuid);
  const holder = `process ${process.pid} (${process.argv.slice(1).join(' ').slice(0, 200) || process.title})`;
  const deadlineMs = performance.now() + waitMs;
  for (;;) {
    const lock = tryLockFile(path, holder);
    if ('release' in lock) return lock.release;
    if (performance.now() >= deadlineMs) throw busy(id, uuid, lock.heldBy);
    await sleep(POLL_MS);
  }
}

const busy = (id: string, uuid: string, holder: string): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'device-busy',
      message: `${id} (${uuid}) is in use by ${holder || 'another warpsmith'}.`,
      hint: 'Wait for it to end, end it, or choose another GPU: times measured side by side are worth nothing.',
    },
    EXIT.deviceOrToolMissing,
  );
