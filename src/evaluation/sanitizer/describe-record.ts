import type { LaunchPlan } from '../../core/launch-plan.ts';
import type { SanitizerRecord } from './sanitizer-log.ts';

/**
 * A complaint in one line, e.g. `Invalid __global__ write of size 4 bytes in attention, kernel.cu:41, by thread (31,0,0)
 * of CTA (3,0,0); address 0x7f0000000fa0 is 1 bytes after the nearest allocation of size 4000 bytes (as large as 'O')`.
 */
export function describeRecord(record: SanitizerRecord, plans: readonly LaunchPlan[]): string {
  const { headline, functionName, source, thread, cta, address, place, allocationBytes } = record;
  const code = [functionName && `in ${functionName}`, source && `${source.file}:${source.line}`].filter(Boolean);
  const what = [headline, ...code].join(', ').replace(', in', ' in');
  const who = thread === undefined ? '' : `, by thread ${thread} of CTA ${cta}`;
  const where = address === undefined ? '' : `; address ${address}${place === undefined ? '' : ` is ${place}`}`;
  return what + who + where + sameSize(allocationBytes, plans);
}

/** Every buffer is an allocation of its own and exact size, so that the size often tells which one it is. */
function sameSize(bytes: number | undefined, plans: readonly LaunchPlan[]): string {
  if (bytes === undefined) return '';
  const names = new Set(
    plans.flatMap(({ buffers }) => buffers.filter((buffer) => buffer.bytes === bytes).map(({ name }) => `'${name}'`)),
  );
  return names.size === 0 ? '' : ` (as large as ${[...names].join(' or ')})`;
}
