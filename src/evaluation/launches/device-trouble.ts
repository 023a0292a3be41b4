import { WarpsmithError } from '../../core/errors.ts';

/** Errors of the device that a candidate may have caused, with the resulting status. */
const STATUS_OF_CODE: Readonly<Record<string, 'device-failed' | 'unsupported'>> = {
  'device-failed': 'device-failed',
  // The candidate or the workload needs more memory than the device has free.
  'device-memory': 'unsupported',
};

export interface DeviceTrouble {
  readonly ok: false;
  readonly status: 'device-failed' | 'unsupported';
  readonly reason: string;
}

/** The result of `work`, or a device error during it as a value. Rethrows other errors. */
export async function orDeviceTrouble<T>(work: Promise<T>): Promise<T | DeviceTrouble> {
  try {
    return await work;
  } catch (error) {
    const status = error instanceof WarpsmithError ? STATUS_OF_CODE[error.details.code] : undefined;
    if (status === undefined) throw error;
    const { message, hint } = (error as WarpsmithError).details;
    return { ok: false, status, reason: [message, hint].filter(Boolean).join(' ') };
  }
}
