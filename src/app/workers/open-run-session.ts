import { openSession, type Session, type SessionOptions } from '../session.ts';
import { chosenDevices } from './chosen-devices.ts';

/** Where the candidates of a run are judged. */
export type RunSessionOptions = SessionOptions & {
  /** Processes that judge candidates at a time, or workers of `queue`; this process itself when absent. */
  readonly workers?: string;
  readonly queue?: string;
  /** Names the jobs of a run in its queue, also when it is resumed. */
  readonly queueScope?: string;
};

/**
 * Opens what judges the candidates of a run: workers of a queue, several processes, or a device in this one.
 *
 * @throws WarpsmithError as `openQueuePool`, `openLocalPool` and `openSession`.
 */
export async function openRunSession(options: RunSessionOptions): Promise<Session> {
  const { queue, replay } = options;
  if (queue !== undefined && replay === undefined)
    return (await import('./open-queue-pool.ts')).openQueuePool({ ...options, queue });
  const devices = chosenDevices(options);
  if (!devices) return openSession(options);
  const [device] = devices as [string];
  if (device.startsWith('cuda:') && devices.every((other) => other === device))
    return (await import('./open-shared-gpu.ts')).openSharedGpu(device, devices.length, options);
  return (await import('./open-local-pool.ts')).openLocalPool(devices, options);
}
