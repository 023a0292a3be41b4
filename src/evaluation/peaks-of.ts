import type { Device } from '../core/device.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { MeasuredPeaks } from '../core/measured-peaks.ts';

/** Measures a GPU's peaks once; if that fails, the datasheet's values apply. */
export async function peaksOf(device: Device): Promise<MeasuredPeaks | undefined> {
  try {
    return await device.measuring?.peaks?.();
  } catch (error) {
    if (error instanceof WarpsmithError) return undefined;
    throw error;
  }
}
