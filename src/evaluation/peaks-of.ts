import type { Device } from '../core/device.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { MeasuredPeaks } from '../core/measured-peaks.ts';

/** Measured once per GPU; where that is not possible, the datasheet must do. */
export const peaksOf = async (device: Device): Promise<MeasuredPeaks | undefined> => {
  try {
    return await device.measuring?.peaks?.();
  } catch (error) {
    if (error instanceof WarpsmithError) return undefined;
    throw error;
  }
};
