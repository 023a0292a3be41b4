import type { DeviceIdentity } from '../core/device.ts';
import type {
  Comparison,
  MeasuredBlock,
  Measurement,
  MeasurementConditions,
  SampleSummary,
} from '../core/measurement.ts';
import type { Dimensions } from '../core/problem.ts';
import type { FailureStatus } from '../core/status.ts';
import { compareContenders } from '../stats/compare-contenders.ts';

/** A column of the ladder: what was measured beside what. */
export interface LadderContender {
  name: string;
  /** `library`: by the Python worker. */
  kind: 'kernel' | 'library';
  /** Libraries: e.g. torch and cuDNN versions. */
  versions?: Readonly<Record<string, string>>;
}

/** One contender at one workload: measured, or why it was not. */
export type LadderCell = { contender: string } & (
  | {
      outcome: 'measured';
      summary: SampleSummary;
      conditions: MeasurementConditions;
      /** FLOP of the problem, not of the kernel, ÷ median time. */
      flopPerSecond: number;
      /** Against the row's peer; absent for the peer itself. */
      comparison?: Comparison;
      /** Libraries: the GPU kernels that really ran. */
      gpuKernels?: string[];
      discardedBlockCount: number;
      powerCapped: boolean;
      disturbances: string[];
    }
  | { outcome: 'failed'; status: FailureStatus; reason: string }
  /** The contender does not take this workload. */
  | { outcome: 'not-applicable'; reason: string }
);

export interface LadderRow {
  workload: string;
  dimensions: Dimensions;
  cache: 'hot' | 'cold';
  /** FLOP of the problem, as problem.json counts them: half of a square where causal. */
  flop: number;
  vetoNs: number;
  attainableNs: number;
  /** What every other contender is compared with: the fastest library, or the first contender where there is none. */
  peer: string | null;
  cells: LadderCell[];
}

/** Several kernels beside several library baselines at several workloads, all measured. `measure --json` prints it. */
export interface LadderView {
  schemaVersion: 1;
  kind: 'ladder';
  problem: string;
  device: DeviceIdentity;
  tier: 'screen' | 'accept';
  seed: number;
  /** ISO 8601, UTC. */
  recordedAt: string;
  /** e.g. warpsmith, driver, compiler. */
  versions: Readonly<Record<string, string>>;
  contenders: LadderContender[];
  rows: LadderRow[];
}

export interface LadderRowInput {
  workload: string;
  dimensions: Dimensions;
  cache: 'hot' | 'cold';
  flop: number;
  vetoNs: number;
  attainableNs: number;
  contenders: readonly LadderContender[];
  /** All contenders' samples, from the same blocks. */
  blocks: readonly MeasuredBlock[];
  measurements: ReadonlyMap<string, Measurement>;
  failed: readonly { contender: string; status: FailureStatus; reason: string }[];
  /** Contenders that do not take this workload, and why. */
  notApplicable: ReadonlyMap<string, string>;
  gpuKernels: ReadonlyMap<string, string[]>;
  seed: number;
}

function peerOf({ contenders, measurements }: LadderRowInput): string | null {
  const timed = contenders.filter(({ name }) => measurements.has(name));
  const medianNs = ({ name }: LadderContender): number => measurements.get(name)!.summary.medianNs;
  const libraries = timed.filter(({ kind }) => kind === 'library').sort((a, b) => medianNs(a) - medianNs(b));
  return (libraries[0] ?? timed[0])?.name ?? null;
}

function cellOf(input: LadderRowInput, name: string, peer: string | null): LadderCell {
  const measurement = input.measurements.get(name);
  if (!measurement) {
    const failure = input.failed.find(({ contender }) => contender === name);
    if (failure) return { contender: name, outcome: 'failed', status: failure.status, reason: failure.reason };
    const reason = input.notApplicable.get(name) ?? 'not measured at this workload';
    return { contender: name, outcome: 'not-applicable', reason };
  }
  const { summary, conditions, discardedBlockCount, powerCapped, disturbances } = measurement;
  const names = peer !== null && peer !== name ? { candidate: name, baseline: peer } : undefined;
  const gpuKernels = input.gpuKernels.get(name);
  return {
    contender: name,
    outcome: 'measured',
    summary,
    conditions,
    flopPerSecond: (input.flop / summary.medianNs) * 1e9,
    comparison: names ? compareContenders(input.blocks, names, input.seed) : undefined,
    gpuKernels,
    discardedBlockCount,
    powerCapped,
    disturbances,
  };
}

/** One workload's row, from what was measured in the same blocks. */
export function buildLadderRow(input: LadderRowInput): LadderRow {
  const { workload, dimensions, cache, flop, vetoNs, attainableNs } = input;
  const peer = peerOf(input);
  const cells = input.contenders.map(({ name }) => cellOf(input, name, peer));
  return { workload, dimensions, cache, flop, vetoNs, attainableNs, peer, cells };
}
