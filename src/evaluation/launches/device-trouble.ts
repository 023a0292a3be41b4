import { WarpsmithError } from '../../core/errors.ts';

/** Errors of the device itself that a candidate may have caused, and what they make of its evaluation. */
const STATUS_OF_CODE: Readonly<Record<string, 'device-failed' | 'unsupported'>> = {
  'device-failed': 'device-failed',
  // What the candidate or the workload needs is more than this device has free.
  'device-memory': 'unsupported',
};

export interface DeviceTrouble {
  readonly ok: false;
  readonly status: 'device-failed' | 'unsupported';
  readonly reason: string;
}

/** What `work` gives, or the device's trouble meanwhile as a value. Other errors are thrown on. */
export const orDeviceTrouble = async <T>(work: Promise<T>): Promise<T | DeviceTrouble> => {
  try {
    return await work;
  } catch (error) {
    const status = error instanceof WarpsmithError ? STATUS_OF_CODE[error.details.code] : undefined;
    if (status === undefined) throw error;
    const { message, hint } = (error as WarpsmithError).details;
    return { ok: false, status, reason: [message, hint].filter(Boolean).join(' ') };
  }
};
