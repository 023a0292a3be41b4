import type { WarpsmithError } from '../../core/errors.ts';
import type { FailureStatus } from '../../core/status.ts';

/** Plan errors that are not mistakes in kernel.json. A driver would report the first two only at launch. */
const STATUS_OF_CODE: Readonly<Record<string, FailureStatus>> = {
  'shared-memory-limit': 'launch-failed',
  'block-too-large': 'launch-failed',
  'unknown-occupancy': 'unsupported',
};

/** Status and reason for a kernel whose launch sequence cannot be expanded. */
export const planRefusal = ({ details }: WarpsmithError): { status: FailureStatus; reason: string } => ({
  status: STATUS_OF_CODE[details.code] ?? 'invalid',
  reason: [details.message, details.path && `(${details.path})`, details.hint].filter(Boolean).join(' '),
});
