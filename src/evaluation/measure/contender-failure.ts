import type { DeviceFailure } from '../../core/device-values.ts';
import type { ContenderFailure } from './contender.ts';

/** A device's failure as a contender's. */
export const contenderFailure = ({ status, message }: DeviceFailure): ContenderFailure => ({
  ok: false,
  status,
  reason: message,
});
