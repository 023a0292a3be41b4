/**
 * How an evaluation ended. `unsupported` and `device-failed` blame the device, never the candidate.
 * Expected outcomes are values; exceptions are for caller bugs.
 */
export const EVALUATION_STATUSES = [
  'passed',
  'unverified',
  'invalid',
  'compile-failed',
  'unsupported',
  'launch-failed',
  'wrong',
  'unsafe',
  'timed-out',
  'crashed',
  'implausible',
  'device-failed',
] as const;
export type EvaluationStatus = (typeof EVALUATION_STATUSES)[number];
export type FailureStatus = Exclude<EvaluationStatus, 'passed'>;

/** Whether the device is at fault, not the candidate. */
export const isDevicesFault = (status: EvaluationStatus): boolean =>
  status === 'unsupported' || status === 'device-failed';
