import type { DeviceFailure, DeviceFault } from '../../core/device-values.ts';
import { MOST_PRINTED_LINES } from '../../core/join-printed.ts';
import { coordinatesOf, type PlannedLaunch } from '../../core/launch-plan.ts';
import type { Printed } from '../../core/printed.ts';
import type { FailureStatus } from '../../core/status.ts';
import { WINDOW } from '../../virtual-gpu/layout.ts';
import { nearestRange } from '../../virtual-gpu/runtime/bounds.ts';
import type { DeviceRange } from '../../virtual-gpu/runtime/memories.ts';
import { failure } from '../failure.ts';
import type { FaultReport, PrintReport, StoreReport } from './protocol.ts';

const STATUS_OF_FAULT: Record<string, FailureStatus> = {
  'out-of-bounds': 'unsafe',
  misaligned: 'unsafe',
  barrier: 'unsafe',
  'tensor-map': 'unsafe',
  registers: 'unsafe',
  race: 'unsafe',
  'read-only': 'unsafe',
  trap: 'crashed',
  budget: 'timed-out',
  late: 'timed-out',
  // A GPU might get further where lanes of one warp wait for each other: here they advance together.
  standstill: 'timed-out',
  unsupported: 'unsupported',
};

/** Turns a worker's report into a failure with place, address, buffer and source line. */
export function describeFault(step: PlannedLaunch, report: FaultReport, ranges: readonly DeviceRange[]): DeviceFailure {
  const fault = placeOfFault(step, report, ranges);
  return failure(STATUS_OF_FAULT[report.kind] ?? 'crashed', faultMessage(report, fault), fault);
}

/** What a worker saw, in words: function, what, where. */
export const describeReport = (step: PlannedLaunch, report: FaultReport): string =>
  faultMessage(report, placeOfFault(step, report, []));

/** Function, CTA and thread of what a thread did. */
export const placeOfStore = (
  { functionName, grid, block }: PlannedLaunch,
  { cta, thread }: Pick<StoreReport, 'cta' | 'thread'>,
): Required<Pick<DeviceFault, 'functionName' | 'cta' | 'thread'>> => ({
  functionName,
  cta: coordinatesOf(cta, grid),
  thread: coordinatesOf(thread, block),
});

/**
 * What a launch printed.
 * @param calls not known of one that was stopped.
 */
export function describePrint(
  step: PlannedLaunch,
  index: number,
  { lines, calls }: { lines: PrintReport['lines']; calls?: number },
): Printed {
  const shown = lines.slice(0, MOST_PRINTED_LINES);
  return {
    lines: shown.map((line) => ({ step: index, ...placeOfStore(step, line), text: line.text })),
    moreCalls: calls === undefined ? undefined : calls - shown.reduce((sum, line) => sum + line.calls, 0),
  };
}

function placeOfFault(step: PlannedLaunch, report: FaultReport, ranges: readonly DeviceRange[]): DeviceFault {
  const cta = coordinatesOf(report.cta, step.grid);
  const thread = report.thread === undefined ? undefined : coordinatesOf(report.thread, step.block);
  const near =
    report.buffer ?? (report.address === undefined ? undefined : nearestBuffer(BigInt(report.address), ranges));
  return {
    functionName: step.functionName,
    cta,
    thread,
    address: report.address,
    accessBytes: report.accessBytes,
    buffer: near && report.space !== 'shared' && report.space !== 'local' ? near : undefined,
    source: report.source,
    instruction: report.instruction,
    ptxLine: report.ptxLine,
  };
}

function faultMessage(report: FaultReport, fault: DeviceFault): string {
  const parts = [`${fault.functionName}: ${report.message}`];
  if (fault.address !== undefined) parts.push(`at address ${fault.address}`);
  if (fault.buffer) {
    const { name, offsetBytes, sizeBytes } = fault.buffer;
    parts.push(`(offset ${offsetBytes} of buffer ${name}, which has ${sizeBytes} bytes)`);
  }
  parts.push(`in CTA (${fault.cta!.join(', ')})`);
  if (fault.thread) parts.push(`thread (${fault.thread.join(', ')})`);
  if (fault.source) parts.push(`at ${fault.source.file}:${fault.source.line}`);
  return parts.join(' ');
}

function nearestBuffer(address: bigint, ranges: readonly DeviceRange[]): DeviceFault['buffer'] {
  if (Number(address >> 32n) !== WINDOW.global) return undefined;
  const offset = Number(address & 0xffffffffn);
  const nearest = nearestRange(offset, ranges);
  return nearest && { name: nearest.name, offsetBytes: offset - nearest.start, sizeBytes: nearest.bytes };
}
