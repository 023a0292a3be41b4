import type { HarnessFunction, PackedJobs } from '../harness/harness.ts';

export type CopyFunction = Extract<HarnessFunction, `copy${string}`>;

/** The parts of a GPU that measuring the peaks needs: memory, the harness, one stream and the event clock. */
export interface PeakMachine {
  readonly l2Bytes: number;
  /** Handle of the stream that `enqueue` and `timedNs` use. */
  readonly stream: bigint;
  /** Device memory, aligned to at least 256 bytes. @throws if it does not fit. */
  allocate(bytes: number): bigint;
  free(address: bigint): void;
  /** Runs the jobs to their end. */
  apply(name: 'draw' | 'fill', jobs: PackedJobs): void;
  /** Puts one launch of a copy into the stream. */
  enqueue(name: CopyFunction, grid: number, values: readonly bigint[]): void;
  /** Waits for all that is in the stream. */
  synchronize(): void;
  /** Device time in ns between events around the work that `enqueue` puts into the stream. */
  timedNs(enqueue: () => void): number;
}

export const WARM_UP_COUNT = 2;
export const SAMPLE_COUNT = 11;
