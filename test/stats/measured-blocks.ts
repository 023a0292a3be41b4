import type { GpuState, MeasuredBlock } from '../../src/core/measurement.ts';

const IDLE: GpuState = {};

/** A block from its contenders' samples in ns. */
export const blockOf = (samples: Record<string, number[]>, more: Partial<MeasuredBlock> = {}): MeasuredBlock => ({
  samples: Object.entries(samples).map(([contender, samplesNs]) => ({ contender, samplesNs })),
  before: IDLE,
  after: IDLE,
  ...more,
});
