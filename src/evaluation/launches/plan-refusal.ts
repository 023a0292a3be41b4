import { WarpsmithError } from '../../core/errors.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import type { Dimensions } from '../../core/problem.ts';
import type { FailureStatus } from '../../core/status.ts';
import type { Refused } from './refusal.ts';

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

/** The launch sequence, or why the candidate is invalid with these dimensions. */
export function planOrRefusal(
  { planFor }: { readonly planFor: (dimensions: Dimensions, multiprocessors?: number) => LaunchPlan },
  dimensions: Dimensions,
  failedCheck: string,
  multiprocessors?: number,
): LaunchPlan | Refused {
  try {
    return planFor(dimensions, multiprocessors);
  } catch (error) {
    if (!(error instanceof WarpsmithError)) throw error;
    return { ok: false, ...planRefusal(error), failedCheck };
  }
}
