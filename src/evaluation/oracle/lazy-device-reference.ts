import type { Device } from '../../core/device.ts';
import type { Toolchain } from '../../toolchains/toolchain.ts';
import { startOnDemand } from '../launches/start-on-demand.ts';
import { createDeviceReference } from './device-reference.ts';
import type { DeviceReference } from './expectations.ts';

/**
 * A device reference that opens its device when a problem first needs it.
 *
 * @param options.openDevice opens the GPU in a process of its own; closing the reference closes it.
 */
export const lazyDeviceReference = (options: {
  readonly openDevice: () => Promise<Device>;
  readonly toolchain: Toolchain;
}): DeviceReference => {
  const opened = startOnDemand(async (_only: 'reference') => {
    const device = await options.openDevice();
    return { device, reference: createDeviceReference({ device, toolchain: options.toolchain }) };
  });
  return {
    async run(request) {
      if (!request.problem.deviceReference) return undefined;
      return (await opened.get('reference')).reference.run(request);
    },
    async close() {
      for (const { device, reference } of await opened.started()) {
        await reference.close();
        await device.close();
      }
    },
  };
};
