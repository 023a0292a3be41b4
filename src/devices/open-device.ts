import type { Device } from '../core/device.ts';
import type { DeviceSpec } from '../core/device-spec.ts';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import { suggestName } from '../core/nearest-name.ts';
import { DEVICE_SPECS } from '../hardware/device-specs.ts';
import { listGpus } from './cuda/list-gpus.ts';
import { VirtualDevice } from './virtual/virtual-device.ts';

/** One device that `--device` accepts. */
export interface ListedDevice {
  id: string;
  name: string;
  kind: 'virtual' | 'cuda';
  available: boolean;
}

/** Every device that `--device` can name on this machine: its GPUs, then the virtual ones. */
export function listDevices(): ListedDevice[] {
  const gpus = listGpus().map(
    ({ ordinal, name }): ListedDevice => ({
      id: `cuda:${ordinal}`,
      name,
      kind: 'cuda',
      available: true,
    }),
  );
  const virtual = [...DEVICE_SPECS.values()].map(
    (spec): ListedDevice => ({
      id: `virtual:${spec.id}`,
      name: `${spec.name} (virtual)`,
      kind: 'virtual',
      available: true,
    }),
  );
  return [...gpus, ...virtual];
}

/** The default device: the first GPU, or a virtual one if there is no GPU. */
export const defaultDeviceId = (): string => listDevices().find(({ kind }) => kind === 'cuda')?.id ?? 'virtual:l4';

/** How many threads a virtual device has where nobody says: for machines that do more than this. Undefined for all cores. */
export function usualThreads(asked = process.env.WARPSMITH_THREADS): number | undefined {
  if (asked === undefined || asked === '') return undefined;
  if (/^[1-9]\d?$/.test(asked)) return Number(asked);
  throw new WarpsmithError({
    code: 'bad-environment',
    message: 'WARPSMITH_THREADS is no number of threads.',
    path: 'WARPSMITH_THREADS',
    received: asked,
    expected: 'a whole number from 1 to 99',
    hint: 'Unset it to use every core.',
  });
}

/**
 * Opens a device by id. The caller closes it.
 * @param options.threads worker threads of a virtual device; as many as `WARPSMITH_THREADS` says, or all cores, by default.
 * @throws WarpsmithError `unknown-device`, `bad-environment`; for GPUs also `missing-library`, `device-busy` and `device-failed`.
 */
export async function openDevice(id: string, options: { threads?: number } = {}): Promise<Device> {
  const ordinal = /^cuda:(\d+)$/.exec(id)?.[1];
  // If the kernel module does not list the GPUs, the driver itself decides whether the GPU exists.
  if (ordinal !== undefined) return (await cuda()).openCudaDevice(Number(ordinal));
  const spec = id.startsWith('virtual:') ? DEVICE_SPECS.get(id.slice('virtual:'.length)) : undefined;
  if (spec) return openVirtualDevice(spec, options);
  const ids = listDevices().map((device) => device.id);
  throw new WarpsmithError(
    {
      code: 'unknown-device',
      message: `There is no device ${id}.`,
      received: id,
      expected: ids.join(', '),
      hint: suggestName(id, ids, 'Devices'),
    },
    EXIT.deviceOrToolMissing,
  );
}

/** A virtual GPU of any spec, such as a real one's. Threads as {@link openDevice}. */
export const openVirtualDevice = (spec: DeviceSpec, { threads }: { threads?: number | undefined } = {}): Device =>
  new VirtualDevice(spec, { threads: threads ?? usualThreads() });

/**
 * The GPU that this process has already opened, in another worker with its own context. Trusted references use one, because their results
 * must not lie where candidates run; and so does a second candidate at a time. The caller closes it.
 */
export const openAnotherWorker = async ({ identity, measuring }: Device): Promise<Device> =>
  (await cuda()).openSecondWorker(Number(identity.id.slice('cuda:'.length)), measuring!.use);

/** What talks to GPUs, a native library among it; loaded only for a GPU. */
const cuda = () => import('./cuda/open-cuda-device.ts');
