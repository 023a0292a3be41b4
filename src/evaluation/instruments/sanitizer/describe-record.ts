import type { LaunchPlan } from '../../../core/launch-plan.ts';
import type { SanitizerRecord } from './sanitizer-log.ts';

/**
 * A complaint in one line, with the buffer it is about where that can be told: every buffer is an allocation of its own
 * and of its exact size, so that the size often says which one.
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
