import { readFile } from 'node:fs/promises';
import type { ParameterValues } from '../../src/core/kernel.ts';
import type { Comparison } from '../../src/core/measurement.ts';
import type { LadderView } from '../../src/reports/documents/ladder.ts';
import type { ConfirmationEvent } from '../../src/store/events.ts';
import type { DispatchRecording } from './dispatch-rows.ts';
import type { AgainstLibraries } from './ladder-summary.ts';
import type { LoneAndInARow } from './lone-and-in-a-row.ts';
import type { MeasuredWith } from './measured-with.ts';
import type { OptimisedProblems } from './optimised-problems.ts';
import { ROOT } from './recordings.ts';
import type {
  ExploitRecording,
  FaultRecording,
  FreshRecording,
  HonestAttentionRecording,
  HonestRecording,
  HonestRungsRecording,
  RedTeamRecording,
  ThroughputRecording,
  TwoProcessRecording,
} from './referee-recordings.ts';

/** docs/results/h200-a-a.json, by bench/measuring/a-a.ts: a kernel compared with itself, each time with another seed. */
export interface SelfComparisons extends MeasuredWith {
  schemaVersion: 1;
  kernel: string;
  workload: string;
  comparisons: Comparison[];
  /** Blocks that did not count, over all comparisons. */
  discardedBlockCount: number;
  /** Comparisons that ended without a result, and why. */
  failures: string[];
}

/** How the ratio that a sensitivity recording takes for true came about. Sources: bench/measuring/calibration.ts. */
export interface Calibration {
  /** Steps of the slower kernel ÷ steps of the faster one. */
  stepRatio: number;
  /** Time ratio of the same two kernels at 16 times the steps, where what is fixed about a launch hardly counts. */
  longRatio: number;
  longIntervalRatio: readonly [low: number, high: number];
  /** Times of the faster kernel at STEPS and at twice that: what is left of twice the first is fixed. */
  shortNs: number;
  doubleNs: number;
  fixedNs: number;
  /** 1 + (longRatio − 1) · (1 − fixed ÷ short): what the samples' true ratio is. */
  trueRatio: number;
}

/** docs/results/h200-sensitivity.json, by bench/measuring/sensitivity.ts: kernels whose true ratio is known. */
export interface KnownRatioComparisons extends SelfComparisons {
  calibration: Calibration;
}

/** A candidate of a run with its time. */
interface TimedCandidate {
  evaluation: string;
  kernel: string;
  parameters: ParameterValues;
  medianNs: number;
  intervalNs: readonly [low: number, high: number];
}

/** docs/results/h200-attention-optimize.json, by scripts/replay-recordings.ts: how a recorded run ended. */
export interface OptimizeRecording extends MeasuredWith {
  schemaVersion: 1;
  workload: string;
  evaluationsUsed: number;
  stopReason: string;
  start: TimedCandidate;
  best: TimedCandidate;
  confirmation: ConfirmationEvent;
}

/** docs/results/h200-attention-climbs.json: unattended runs from the plainest kernel; of each what its report's JSON says. */
export interface Climbs extends MeasuredWith {
  schemaVersion: 1;
  runs: readonly {
    startedAt: string;
    finishedAt: string;
    workload: { name: string };
    evaluationsUsed: number;
    start: { medianNs: number; candidate: { kernel: string } };
    confirmations: readonly Pick<
      ConfirmationEvent,
      'candidate' | 'outcome' | 'ratio' | 'intervalRatio' | 'medianNs' | 'sanitizer'
    >[];
    changes: { steps: readonly { change: string; ratio: number }[] };
  }[];
}

/** docs/results/h200-sdpa-by-pytorch.json: PyTorch's attention timed by PyTorch alone, to hold ours against. */
export interface PlainTorchTimes {
  schemaVersion: 1;
  device: string;
  method: string;
  /** By workload and baseline, in µs. */
  times: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** Recordings of measured results; each may be absent until it has been made. */
export interface MeasuredRecordings {
  'h200-a-a'?: SelfComparisons;
  'h200-sensitivity'?: KnownRatioComparisons;
  'h200-attention-ladder'?: LadderView;
  'h200-attention-libraries'?: AgainstLibraries;
  'h200-attention-whole-domain'?: AgainstLibraries;
  'h200-attention-dispatch'?: DispatchRecording;
  'h200-attention-dispatch-domain'?: DispatchRecording;
  'h200-attention-rungs'?: LadderView;
  'h200-attention-optimize'?: OptimizeRecording;
  'h200-attention-climbs'?: Climbs;
  'h200-sdpa-by-pytorch'?: PlainTorchTimes;
  'h200-lone-and-in-a-row'?: LoneAndInARow;
  'problems-virtual-l4'?: OptimisedProblems;
  'problems-virtual-h200'?: OptimisedProblems;
  'h200-problems'?: OptimisedProblems;
  'h200-red-team'?: RedTeamRecording;
  'fresh-wrong-kernels'?: FreshRecording;
  'h200-exploits'?: ExploitRecording;
  'h200-honest'?: HonestRecording;
  'honest-attention'?: HonestAttentionRecording;
  'honest-rungs'?: HonestRungsRecording;
  'h200-faults'?: FaultRecording;
  'h200-throughput'?: ThroughputRecording;
  'h200-two-processes'?: TwoProcessRecording;
}
export type MeasuredRecordingName = keyof MeasuredRecordings;

/** What makes each of them. */
export const HOW_TO_RECORD: Readonly<Record<MeasuredRecordingName, string>> = {
  'h200-a-a': 'node bench/measuring/a-a.ts --output docs/results/h200-a-a.json',
  'h200-sensitivity': 'node bench/measuring/sensitivity.ts --output docs/results/h200-sensitivity.json',
  'h200-attention-ladder':
    'warpsmith measure problems/attention --device cuda:0 --workload all --baseline all --record …, then node scripts/replay-recordings.ts',
  'h200-attention-libraries':
    'warpsmith measure problems/attention --kernel … --set … --baseline all --workload … --json, once for each kernel; each beside its command',
  'h200-attention-whole-domain':
    'as h200-attention-libraries, with 19_whole_domain, 20_few_queries and 21_swapped_operands',
  'h200-attention-dispatch':
    'warpsmith dispatch problems/attention --kernels bench/attention/h200-contenders.json --device cuda:0 --blocks 6 -o table --json',
  'h200-attention-dispatch-domain':
    'as h200-attention-dispatch, with --kernels bench/attention/h200-contenders-domain.json and a --workload for each of its 20',
  'h200-attention-rungs':
    'warpsmith measure problems/attention --device cuda:0 --workload b1h8s512d64 --baseline sdpa --baseline sdpa-cudnn --baseline fa3 --json',
  'h200-attention-optimize':
    'warpsmith optimize problems/attention --device cuda:0 --max-evaluations 45 --record …, then node scripts/replay-recordings.ts',
  'h200-attention-climbs':
    'warpsmith optimize problems/attention/01_minimal --device cuda:0 --workload … --max-minutes … --json, once for each workload; without samples',
  'h200-sdpa-by-pytorch': '20 calls in one CUDA graph of PyTorch, median of 30 replays',
  'h200-lone-and-in-a-row': 'python3 bench/measuring/lone-and-in-a-row.py docs/results/h200-lone-and-in-a-row.json',
  'problems-virtual-l4':
    'node scripts/record-problems.ts --device virtual:l4 --output docs/results/problems-virtual-l4.json',
  'problems-virtual-h200':
    'node scripts/record-problems.ts --device virtual:h200 --output docs/results/problems-virtual-h200.json',
  'h200-problems': 'node scripts/record-problems.ts --device cuda:0 --output docs/results/h200-problems.json',
  'h200-red-team': 'node bench/referee/red-team.ts',
  'fresh-wrong-kernels': 'node bench/referee/fresh-kernels.ts --batch … FOLDER…',
  'h200-exploits': 'node bench/referee/exploits.ts',
  'h200-honest': 'node bench/referee/honest.ts',
  'honest-attention': 'node bench/referee/honest-attention.ts',
  'honest-rungs': 'node bench/referee/honest-rungs.ts',
  'h200-faults': 'node bench/referee/faults.ts',
  'h200-throughput': 'node bench/referee/throughput.ts',
  'h200-two-processes': 'node bench/referee/two-processes.ts',
};

const isAbsent = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

async function read(name: MeasuredRecordingName): Promise<unknown> {
  try {
    return JSON.parse(await readFile(new URL(`docs/results/${name}.json`, ROOT), 'utf8'));
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** Those that are there. */
export async function readMeasuredRecordings(): Promise<MeasuredRecordings> {
  const names = Object.keys(HOW_TO_RECORD) as MeasuredRecordingName[];
  const pairs = await Promise.all(names.map(async (name) => [name, await read(name)] as const));
  return Object.fromEntries(pairs.filter(([, recording]) => recording !== undefined)) as MeasuredRecordings;
}
