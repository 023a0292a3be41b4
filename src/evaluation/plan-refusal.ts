import type { WarpsmithError } from '../core/errors.ts';
import type { FailureStatus } from '../core/status.ts';

/** Codes of plan errors that a driver reports at launch: the file is right, the device too small. */
const LAUNCH_LIMITS: ReadonlySet<string> = new Set(['shared-memory-limit', 'block-too-large']);

/** Status and reason for a kernel whose launch sequence cannot be expanded. */
export const planRefusal = ({ details }: WarpsmithError): { status: FailureStatus; reason: string } => ({
  status: LAUNCH_LIMITS.has(details.code) ? 'launch-failed' : 'invalid',
  reason: [details.message, details.path && `(${details.path})`, details.hint].filter(Boolean).join(' '),
});
