import type { DeviceTally } from '../../src/core/device-tally.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import type { ParameterValues } from '../../src/core/kernel.ts';
import type { Comparison, Measurement, Tier } from '../../src/core/measurement.ts';
import type { CountersSource, SanitizerReport } from '../../src/core/profile.ts';
import type { EvaluationStatus } from '../../src/core/status.ts';
import type { Verdict } from '../../src/core/vocabulary.ts';
import type { MeasuredWith } from './measured-with.ts';

/** How an evaluation ended, without its samples. */
export type RecordedVerdict = Pick<Evaluation, 'status' | 'reason' | 'failedCheck'>;

/** A kernel of test/red-team as it was judged. */
export interface RedTeamEntry extends RecordedVerdict {
  name: string;
  /** What it does, as its kernel.json says. */
  lie: string;
  expected: { statuses: readonly EvaluationStatus[]; reason: string; caughtBy: readonly string[] };
  /** `verification`, `measurement` or `sanitizer`; absent when nothing saw through it. */
  caughtBy?: string;
  /** Tools of compute-sanitizer that found something, with what they found first. */
  sanitizerErrors?: readonly string[];
  asExpected: boolean;
  /** What is not as expected. */
  disagreements: readonly string[];
  elapsedMs: Evaluation['elapsedMs'];
}

/** docs/results/h200-red-team.json, by bench/referee/red-team.ts. */
export interface RedTeamRecording extends MeasuredWith {
  schemaVersion: 1;
  kernels: RedTeamEntry[];
}

/** docs/results/honest-rungs.json, by bench/referee/honest-rungs.ts. */
export interface HonestRungsRecording extends MeasuredWith {
  schemaVersion: 1;
  /** `kernel`: problem/rung. `totalMs`: wall time on a machine that others used as well. */
  evaluations: (RecordedVerdict & { kernel: string; seed: number; totalMs: number })[];
}

/** Checks of attention as honest kernels compute it that are named by these. */
export interface HonestRefusal {
  seed: number;
  shape: Readonly<Record<string, number>>;
  generatorSet: string;
  arithmetic: string;
}

/** docs/results/honest-attention.json, by bench/referee/honest-attention.ts. */
export interface HonestAttentionRecording {
  schemaVersion: 1;
  shapes: readonly Readonly<Record<string, number>>[];
  /** All of them have been judged from 1 to this one. */
  seeds: number;
  checks: number;
  /** Refused with the tolerances of few runs on changed inputs. */
  atFirst: HonestRefusal[];
  /** Refused with those of more runs, too: false alarms. */
  inTheEnd: HonestRefusal[];
}

/** A wrong kernel whose author did not know the referee, as it was judged. */
export interface FreshEntry extends RecordedVerdict {
  name: string;
  problem: string;
  kind: 'bug' | 'gaming' | 'sabotage';
  /** By its author. */
  wrongWhen: string;
  seed: number;
  /**
   * Of one that passed, what its verdict says itself: `sizes`: it is not about those at which the kernel is wrong; `condition`: one on loaded values went one way in every check, which
   * is refused of an author. From batch k on, when judged again.
   */
  reservation?: 'sizes' | 'condition' | undefined;
  /** Wall time of the evaluation, on a machine that others used as well. */
  totalMs: number;
}

/** docs/results/fresh-wrong-kernels.json, by bench/referee/fresh-kernels.ts. */
export interface FreshRecording extends MeasuredWith {
  schemaVersion: 1;
  batches: {
    name: string;
    /** Before anybody looked at them. */
    first: FreshEntry[];
    /** Those that passed, after the referee learned from them. */
    again: FreshEntry[];
  }[];
}

/** An evaluation of a candidate that no stage may suspect. */
export interface HonestEntry extends RecordedVerdict {
  title: string;
  seed: number;
  elapsedMs: Evaluation['elapsedMs'];
}

/** docs/results/h200-honest.json, by bench/referee/honest.ts. */
export interface HonestRecording extends MeasuredWith {
  schemaVersion: 1;
  workload: string;
  evaluations: HonestEntry[];
}

/** An evaluation whose duration is what matters. */
export interface TimedEvaluation extends RecordedVerdict {
  kernel: string;
  parameters: ParameterValues;
  /** The candidate's time as it was measured. */
  medianNs?: number;
  elapsedMs: Evaluation['elapsedMs'];
}

/** Screens of distinct candidates of one kernel, one after the other. */
export interface ScreenRun {
  kernel: string;
  /** Wall time from the first request to the last answer. */
  wallMs: number;
  evaluationsPerMinute: number;
  evaluations: TimedEvaluation[];
  /** What all of them asked the GPU's process for, and it the driver; times in ms. */
  tally?: DeviceTally;
}

/** docs/results/h200-throughput.json, by bench/referee/throughput.ts. */
export interface ThroughputRecording extends MeasuredWith {
  schemaVersion: 1;
  workload: string;
  preparedAhead: number;
  /** The first evaluation of the session, with everything that is done only once. The screens are measured beside it. */
  start?: TimedEvaluation;
  screens: ScreenRun[];
  /** Single evaluations with a light profile, by tier. */
  lightProfile: Partial<Record<'screen' | 'accept', TimedEvaluation & { countersSource: CountersSource | 'none' }>>;
}

/** A faulty kernel as it was judged, and the honest one that was judged before and after. */
export interface FaultEntry extends RecordedVerdict {
  name: string;
  /** What it does, as its kernel.json says. */
  mistake: string;
  expected: { statuses: readonly EvaluationStatus[]; reason: string };
  /** From the request to the answer. */
  reportedAfterMs: number;
  runTimeoutMs: number;
  before: HonestRun;
  after: HonestRun;
  asExpected: boolean;
  disagreements: readonly string[];
}

export interface HonestRun extends RecordedVerdict {
  medianNs?: number;
  elapsedMs: number;
}

/** docs/results/h200-faults.json, by bench/referee/faults.ts. */
export interface FaultRecording extends MeasuredWith {
  schemaVersion: 1;
  workload: string;
  faults: FaultEntry[];
}

/** One compiled kernel, timed through two processes in the same blocks. */
export interface TwoProcessEntry {
  kernel: string;
  workload: string;
  parameters: ParameterValues;
  /** `warpsmith` against `python`: the ratio is Python's time ÷ ours. */
  comparison?: Comparison;
  withinOnePercent: boolean;
  measurements: Readonly<Record<string, Pick<Measurement, 'conditions' | 'summary' | 'eagerNs'>>>;
  discardedBlockCount: number;
  /** Why there is no comparison. */
  failure?: string;
}

/** docs/results/h200-two-processes.json, by bench/referee/two-processes.ts. */
export interface TwoProcessRecording extends MeasuredWith {
  schemaVersion: 1;
  kernels: TwoProcessEntry[];
}

/** A kernel of the red team beside the honest one that it is made from. */
export interface ExploitEntry extends RecordedVerdict {
  name: string;
  parameters: ParameterValues;
  workload: string;
  tier: Tier;
  /** Where it passed: its time and the honest kernel's, in the same blocks, and what the verdict was. */
  medianNs?: number;
  honestNs?: number;
  slotCount?: number;
  ratio?: number;
  verdict?: Verdict;
  sanitizer?: SanitizerReport['outcome'];
}

/** What a kernel finds of what the one before it wrote into memory on the chip. */
export interface Leftovers {
  memory: 'shared' | 'local';
  /** Words found as they had been written, without and with the scrub between the two. */
  leftWords: number;
  scrubbedWords: number;
  words: number;
}

/** docs/results/h200-exploits.json, by bench/referee/exploits.ts: `before` by the version before these were defended against. */
export interface ExploitRecording extends MeasuredWith {
  schemaVersion: 1;
  before: ExploitEntry[];
  after: ExploitEntry[];
  leftovers: Leftovers[];
}
