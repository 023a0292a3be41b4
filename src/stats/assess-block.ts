import type { GpuState } from '../core/measurement.ts';
import type { ThrottleReason } from '../core/vocabulary.ts';

export interface BlockAssessment {
  /** Why the block does not count; absent when it does. */
  discarded?: string;
  powerCapped: boolean;
  /** Other disturbances, in words. */
  disturbances: string[];
}

/** Kinds of throttling that make a time depend on cooling or power supply more than on the kernel. */
const DISCARDING: Partial<Record<ThrottleReason, string>> = {
  'sw-thermal-slowdown': 'thermal-slowdown',
  'hw-thermal-slowdown': 'thermal-slowdown',
  'hw-power-brake': 'power-brake',
  'hw-slowdown': 'hardware-slowdown',
};

function describeOthers(states: readonly GpuState[]): string[] {
  const most = Math.max(0, ...states.map(({ otherProcessCount }) => otherProcessCount ?? 0));
  if (most === 0) return [];
  return [
    most === 1 ? 'another process held a context on this GPU' : `${most} other processes held contexts on this GPU`,
  ];
}

/** The effect of the GPU states before and after a block on its validity. */
export function assessBlock(before: GpuState, after: GpuState): BlockAssessment {
  const reasons = new Set([...(before.throttleReasons ?? []), ...(after.throttleReasons ?? [])]);
  const discarding = new Set([...reasons].flatMap((reason) => DISCARDING[reason] ?? []));
  return {
    discarded: discarding.size > 0 ? [...discarding].join(', ') : undefined,
    powerCapped: reasons.has('sw-power-cap'),
    disturbances: describeOthers([before, after]),
  };
}
