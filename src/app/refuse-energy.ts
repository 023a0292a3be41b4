import { EXIT, WarpsmithError } from '../core/errors.ts';

/**
 * Nothing predicts an energy.
 *
 * @param device its id. @throws WarpsmithError `energy-needs-a-gpu`.
 */
export function refuseEnergyWithoutGpu(energy: boolean | undefined, device: string): void {
  if (!energy || !device.startsWith('virtual:')) return;
  throw new WarpsmithError(
    {
      code: 'energy-needs-a-gpu',
      message: `${device} has no energy counter, and warpsmith predicts no joules.`,
      path: '--energy',
      received: device,
      expected: 'a real GPU, such as cuda:0',
      hint: 'Leave --energy out, or choose a GPU: `warpsmith devices` lists them.',
    },
    EXIT.deviceOrToolMissing,
  );
}
