import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { entryFile } from '../../process/entry-file.ts';
import type { OwnMemory, WorkerRequest } from './protocol.ts';

const WORKER_URL = entryFile(new URL('./worker.ts', import.meta.url));

/** A thread that waits for its next device may keep the memory of the last one for a while. */
const MOST_BYTES_HELD = 256 * 1024 ** 2;

/** How long a thread waits for its next device. */
const IDLE_MS = 1000;

/** Threads without a device. Starting a thread takes as long as judging a small kernel, so devices reuse them. */
const idle: { readonly worker: Worker; readonly timer: NodeJS.Timeout }[] = [];

export const post = (worker: Worker, request: WorkerRequest): void => worker.postMessage(request);

/** A thread that runs CTAs in this device memory; `reads` is the memory of a read map. */
export function takeThread(device: WebAssembly.Memory | OwnMemory, reads: WebAssembly.Memory): Worker {
  const waiting = idle.pop();
  clearTimeout(waiting?.timer);
  const worker = waiting?.worker ?? startThread();
  post(worker, { kind: 'attach', device, reads });
  return worker;
}

/** Takes back a thread that has answered all its requests. */
export async function giveBackThread(worker: Worker, device: WebAssembly.Memory | OwnMemory): Promise<void> {
  const isLarge = 'ownBytes' in device || device.buffer.byteLength > MOST_BYTES_HELD;
  if (idle.length >= availableParallelism() || isLarge) {
    await worker.terminate();
    return;
  }
  post(worker, { kind: 'detach' });
  const end = () => {
    leave(worker);
    void worker.terminate();
  };
  idle.push({ worker, timer: setTimeout(end, IDLE_MS).unref() });
}

function leave(worker: Worker): void {
  const at = idle.findIndex((waiting) => waiting.worker === worker);
  if (at >= 0) idle.splice(at, 1);
}

function startThread(): Worker {
  const worker = new Worker(WORKER_URL);
  // Threads never keep the process alive; the timer of a run in progress does.
  worker.unref();
  worker.on('exit', () => leave(worker));
  // If a working thread fails, its waiting caller is notified, too.
  worker.on('error', () => leave(worker));
  return worker;
}
