import { readFile } from 'node:fs/promises';
import type { LaunchCounters } from '../../src/core/counters.ts';

/** One kernel with one setting on one workload: what a GPU measured, and what the virtual GPU counted. */
export interface TimedKernel {
  /** The problem, or `corpus`. */
  readonly problem: string;
  /** `problem/rung`. */
  readonly kernel: string;
  readonly parameters: Readonly<Record<string, number>>;
  readonly workload: string;
  readonly measuredNs: number;
  /** Of every launch of the sequence, in order. */
  readonly counters: readonly LaunchCounters[];
  /** Of every memset of the sequence; none if absent. */
  readonly memsetBytes?: readonly number[];
}

/** What was recorded of one setting, by bench/time-model/record.ts. */
export interface RecordedTime {
  readonly problem: string;
  readonly kernel: string;
  readonly parameters: Readonly<Record<string, number>>;
  readonly workload: string;
  /** Digest of the PTX. */
  readonly ptx: string;
  /** By function: as the driver's ptxas allocates them. */
  readonly registers: Readonly<Record<string, number>>;
  /** One launch sequence of several in a graph; absent if it failed. */
  readonly measuredNs?: number;
  readonly failure?: string;
  /** Filled in by bench/time-model/count.ts, on any machine. */
  counters?: readonly LaunchCounters[];
  /** The same. */
  memsetBytes?: readonly number[];
}

/** docs/results/h200-times.json */
export interface TimeRecording {
  readonly schemaVersion: 1;
  readonly device: string;
  readonly driver: string;
  readonly compiler: string;
  readonly recordedAt: string;
  readonly entries: Record<string, RecordedTime>;
}

/** The pairs in test/fixtures, from before times were recorded by a program. */
interface OldFixture {
  readonly runs: readonly {
    readonly kernel: string;
    readonly parameters: Readonly<Record<string, number>>;
    readonly workload?: string;
    readonly measuredUs: number;
    readonly counters: LaunchCounters;
  }[];
}

/** Small kernels come in pairs, a defect and its remedy: `bank-conflicts/defect`. */
const problemOfOld = (kernel: string): string => (kernel.split('/').length > 1 ? kernel.split('/')[0]! : 'attention');

/** Reads a recording, or the older fixtures. Entries without a time or without counters are left out. */
export async function readTimes(file: string): Promise<TimedKernel[]> {
  const contents = JSON.parse(await readFile(file, 'utf8')) as TimeRecording | OldFixture;
  if ('runs' in contents)
    return contents.runs.map(({ kernel, parameters, workload = 'fixture', measuredUs, counters }) => ({
      problem: problemOfOld(kernel),
      kernel: kernel.includes('/') ? kernel : `attention/${kernel}`,
      parameters,
      workload,
      measuredNs: measuredUs * 1000,
      counters: [counters],
    }));
  return Object.values(contents.entries).flatMap((entry) =>
    entry.measuredNs !== undefined && entry.counters
      ? [{ ...entry, measuredNs: entry.measuredNs, counters: entry.counters }]
      : [],
  );
}
