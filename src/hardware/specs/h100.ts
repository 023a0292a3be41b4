import type { DeviceSpec, Sourced } from '../../core/device-spec.ts';
import { H200 } from './h200.ts';
import * as sources from './sources.ts';

/** A figure of the H200, whose chip (GH100) and SM count the H100 SXM shares. */
const sameChip = ({ value, source }: Sourced): Sourced => ({
  value,
  source: `as on the H200, the same chip: ${source}`,
});

/** NVIDIA H100 SXM5 with 80 GB: GH100 with 132 SMs, compute capability 9.0a, HBM3. */
export const H100: DeviceSpec = {
  ...H200,
  id: 'h100',
  name: 'NVIDIA H100 SXM5 80 GB',
  smCount: { value: 132, source: `${sources.hopperWhitepaper}: H100 SXM5` },
  boostClockHz: sameChip(H200.boostClockHz),
  sustainedClockHz: sameChip(H200.sustainedClockHz),
  l2BytesPerClock: sameChip(H200.l2BytesPerClock),
  l2Bytes: { value: 50 * 1024 * 1024, source: `${sources.hopperWhitepaper}; ${sources.hopperTuningGuide}` },
  dramBytesPerSecond: { value: 3.35e12, source: sources.h100Datasheet },
  dramAttainableRatio: sameChip(H200.dramAttainableRatio),
  dramBytes: { value: 80e9, source: sources.h100Datasheet },
  latencyClocks: Object.fromEntries(
    Object.entries(H200.latencyClocks).map(([name, figure]) => [name, sameChip(figure)]),
  ) as DeviceSpec['latencyClocks'],
  launchOverheadNs: sameChip(H200.launchOverheadNs),
  memsetNs: sameChip(H200.memsetNs!),
  calibration: {
    basis: 'same-chip',
    note: 'No H100 was measured. The chip is the H200’s, so its rates and latencies are carried over; L2 capacity and DRAM are the datasheet’s.',
  },
};
