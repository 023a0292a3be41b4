import { DEFAULT_DEVICE } from './session.ts';

/** The device used when none is asked for: the first CUDA GPU that can be used, else a virtual one. */
export async function defaultDevice(): Promise<string> {
  const { listDevices } = await import('../devices/open-device.ts');
  const devices = await listDevices();
  return devices.find(({ kind, available }) => kind === 'cuda' && available)?.id ?? DEFAULT_DEVICE;
}
