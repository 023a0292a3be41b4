import type { LaunchPlan } from '../../../core/launch-plan.ts';
import type { SanitizerRecord } from './sanitizer-log.ts';

/**
 * A complaint in one line, with its buffer if it can be identified: every buffer is an allocation of its own with its exact
 * size, so the size often identifies it.
 */
export function describeRecord(
  { description, allocationBytes }: SanitizerRecord,
  plans: readonly LaunchPlan[],
): string {
  const names = new Set(
    plans.flatMap(({ buffers }) =>
      buffers.filter(({ bytes }) => bytes === allocationBytes).map(({ name }) => `'${name}'`),
    ),
  );
  return names.size === 0 ? description : `${description} (as large as ${[...names].join(' or ')})`;
}
