import { median } from '../../../stats/quantile.ts';
import { copyGrid, packDrawJobs } from '../harness/harness.ts';
import { type CopyFunction, type PeakMachine, SAMPLE_COUNT, WARM_UP_COUNT } from './peak-machine.ts';

/** Buffer sizes as multiples of L2, so that no copy finds data of the previous one in the cache. */
const SIZES_IN_L2 = [8, 16] as const;
/** Buffers end at multiples of the widest vector. */
const ALIGNMENT_BYTES = 4096;
/** Least buffer size, for a small L2 or one of unknown size: long enough for the event clock. */
const LEAST_L2_BYTES = 16 * 2 ** 20;
const COPIES: readonly { name: CopyFunction; vectorBytes: number }[] = [
  { name: 'copy4', vectorBytes: 4 },
  { name: 'copy8', vectorBytes: 8 },
  { name: 'copy16', vectorBytes: 16 },
];

export interface CopyPeak {
  readonly bytesPerSecond: number;
  readonly method: string;
}

/** Device-to-device copies of random data: the best median over sizes and vector widths. */
export function measureCopyPeak(machine: PeakMachine): CopyPeak {
  const peaks = SIZES_IN_L2.flatMap((multiple) => copiesOf(machine, multiple));
  return peaks.reduce((best, peak) => (peak.bytesPerSecond > best.bytesPerSecond ? peak : best));
}

function copiesOf(machine: PeakMachine, multiple: number): CopyPeak[] {
  const l2Bytes = Math.max(machine.l2Bytes, LEAST_L2_BYTES);
  const bytes = Math.ceil((multiple * l2Bytes) / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
  const [from, to] = [machine.allocate(bytes), machine.allocate(bytes)];
  try {
    // Never zeros: memory and buses may be kinder to them.
    const rule = { kind: 'integers', low: 0, high: 2 ** 32 - 1 } as const;
    const draw = (address: bigint, stream: number) =>
      ({ address, elementCount: bytes / 4, dtype: 'u32', rule, key: [0x9e3779b9, stream] }) as const;
    machine.apply('draw', packDrawJobs([draw(from, 1), draw(to, 2)]));
    return COPIES.map(({ name, vectorBytes }) => {
      const vectorCount = bytes / vectorBytes;
      const copy = () => machine.enqueue(name, copyGrid(vectorCount), [to, from, BigInt(vectorCount)]);
      for (let i = 0; i < WARM_UP_COUNT; i++) machine.timedNs(copy);
      const ns = median(Array.from({ length: SAMPLE_COUNT }, () => machine.timedNs(copy)));
      const megabytes = Math.round(bytes / 1e6);
      return {
        bytesPerSecond: ((2 * bytes) / ns) * 1e9,
        method: `${name}, ${megabytes} MB to ${megabytes} MB, median of ${SAMPLE_COUNT}`,
      };
    });
  } finally {
    machine.free(from);
    machine.free(to);
  }
}
