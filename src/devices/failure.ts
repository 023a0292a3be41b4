import type { DeviceFailure, DeviceFault } from '../core/device-values.ts';
import type { FailureStatus } from '../core/status.ts';

/** A device failure as a value. */
export const failure = (status: FailureStatus, message: string, fault?: DeviceFault): DeviceFailure => ({
  ok: false,
  status,
  message,
  fault,
});
