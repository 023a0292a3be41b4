import { defaultDeviceId, type ListedDevice, listDevices } from '../devices/open-device.ts';

export interface DevicesReport {
  schemaVersion: 1;
  kind: 'devices';
  devices: ListedDevice[];
}

/** All devices of this machine, real and virtual. */
export function devices(): DevicesReport {
  return { schemaVersion: 1, kind: 'devices', devices: listDevices() };
}

/** The default device: the first CUDA GPU, else a virtual one. */
export const defaultDevice = (): string => defaultDeviceId();
