import type { Device } from '../core/device.ts';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import { suggestName } from '../core/nearest-name.ts';
import { DEVICE_SPECS } from '../hardware/device-specs.ts';
import { VirtualDevice } from './virtual/virtual-device.ts';

export interface DeviceListing {
  id: string;
  name: string;
  kind: 'virtual' | 'cuda';
  available: boolean;
}

/** Every device that `--device` can name on this machine. */
export function listDevices(): DeviceListing[] {
  return [...DEVICE_SPECS.values()].map((spec) => ({
    id: `virtual:${spec.id}`,
    name: `${spec.name} (virtual)`,
    kind: 'virtual',
    available: true,
  }));
}

/**
 * Opens a device by id. The caller closes it.
 * @param options.threads worker threads of a virtual device; all cores by default.
 * @throws WarpsmithError `unknown-device`.
 */
export async function openDevice(id: string, options: { threads?: number } = {}): Promise<Device> {
  const spec = id.startsWith('virtual:') ? DEVICE_SPECS.get(id.slice('virtual:'.length)) : undefined;
  if (spec) return new VirtualDevice(spec, options);
  throw new WarpsmithError(
    {
      code: 'unknown-device',
      message: `There is no device ${id}.`,
      received: id,
      expected: listDevices()
        .map((device) => device.id)
        .join(', '),
      hint: suggestName(
        id,
        listDevices().map((device) => device.id),
        'Devices',
      ),
    },
    EXIT.deviceOrToolMissing,
  );
}
