import type { Evaluation } from '../core/evaluation.ts';
import type { ParameterValues } from '../core/kernel.ts';
import type { Verdict } from '../core/measurement.ts';
import type { Dimensions } from '../core/problem.ts';
import type { LoggedOf } from '../core/requests/request.ts';
import type { Roofline } from '../core/roofline.ts';
import type { SanitizerReport } from '../core/sanitizer-report.ts';

/** Version of the event records; a reader refuses a newer one. */
export const EVENT_SCHEMA_VERSION = 2;

/** Why a run ended. */
export const STOP_REASONS = [
  'goal-reached',
  'near-attainable',
  'no-gain',
  'evaluations-spent',
  'time-spent',
  'gpu-time-spent',
  'money-spent',
  'no-moves-left',
  'space-exhausted',
  'interrupted',
  'start-failed',
  'device-failed',
  'goal-refused',
  'failed',
] as const;
export type StopReason = (typeof STOP_REASONS)[number];

/** A kernel with parameter values, as events name it. */
export interface CandidateReference {
  /** Content hash of the candidate. */
  id: string;
  /** Name of the kernel, e.g. `03_rows`. */
  kernel: string;
  parameters: ParameterValues;
}

/** What a run was asked to reach. */
export type Goal = { kind: 'speed-up'; ratio: number; text: string } | { kind: 'time'; ns: number; text: string };

/**
 * What an iteration changes. `parameter` and `rung` change one thing of the best candidate so far; `configuration` is
 * what a strategy that knows nothing of findings asks for: any setting of any rung.
 */
export type MoveRecord =
  | { kind: 'parameter'; kernel: string; parameter: string; from: number; to: number }
  | { kind: 'parameters'; kernel: string; changes: { parameter: string; from: number; to: number }[] }
  | { kind: 'rung'; from: string; to: string }
  | { kind: 'configuration'; kernel: string; parameters: ParameterValues };

/** What a run may spend. `null` means no limit. */
export interface Budgets {
  /** Of the whole run, from the start to the last row of advice. */
  maximumEvaluations: number | null;
  /** What of them is kept for the time after the search; `null`: as the optimizer thinks fit. */
  allowance: Allowance | null;
  /** Wall time. */
  maximumMinutes: number | null;
  /** Time the run's evaluations held the GPU: all but compiling, the host's own work on them included. */
  maximumGpuMinutes: number | null;
  /** In the currency of `gpuPricePerHour`. */
  maximumMoney: number | null;
  /** Price of an hour of the GPU; `null` when none was given: money is then neither counted nor limited. */
  gpuPricePerHour: number | null;
}

/** Evaluations of what follows a search. */
export interface Allowance {
  confirmation: number;
  ablation: number;
  advice: number;
}

/** The search may use all there is. */
export const NOTHING_KEPT: Allowance = { confirmation: 0, ablation: 0, advice: 0 };

/** No limit and no price. */
export const UNLIMITED: Budgets = {
  maximumEvaluations: null,
  allowance: null,
  maximumMinutes: null,
  maximumGpuMinutes: null,
  maximumMoney: null,
  gpuPricePerHour: null,
};

/** One of the workloads a run is about, with its weight in the objective. */
export interface WeightedWorkload {
  name: string;
  dimensions: Dimensions;
  cache: 'hot' | 'cold';
  /** Positive; weights need not sum to 1. */
  weight: number;
}

/** What earlier runs in the same store realised with a pattern. The prior of this run's ranking. */
export interface PatternPrior {
  pattern: string;
  /** Moves of this pattern that were evaluated, and those of them that were kept. */
  attempts: number;
  kept: number;
  /** Geometric mean of old time ÷ new time over the kept ones; 1 when none was. */
  realisedGain: number;
  /** The narrowest scope with evidence: same problem and device, same device, or anywhere. */
  scope: 'problem-and-device' | 'device' | 'all';
}

/** What evaluating a kernel's candidates cost in earlier runs on this device: medians, in ms. */
export interface KernelCost {
  kernel: string;
  compileMs: number;
  /** Verifying and timing. */
  runMs: number;
}

/** What a run knew from earlier runs when it started; logged, so that a resumed run ranks as the first part did. */
export interface Priors {
  patterns: PatternPrior[];
  costs: KernelCost[];
}

/** What `resume` needs to go on: options that decide what the run does and are not told elsewhere in `run-started`. */
export type RunRequest = LoggedOf<'optimize'> & {
  /** Absolute path of the problem or kernel folder. */
  target: string;
  /** The seed was drawn, not given: confirmations draw theirs, too. */
  seedDrawn?: boolean;
  /** Problem folder's files that decide what is right: name → SHA-256. */
  problemFiles?: Readonly<Record<string, string>>;
};

export interface RunStartedEvent {
  type: 'run-started';
  problem: { name: string; folder: string };
  start: CandidateReference;
  /** The first of `workloads`: the one candidates are screened on. */
  workload: { name: string; dimensions: Dimensions; cache: 'hot' | 'cold' };
  /** Everything the objective is about, the geometric mean of speed-ups weighted; at least one. */
  workloads: WeightedWorkload[];
  device: { id: string; kind: 'virtual' | 'cuda'; name: string };
  seed: number;
  /** `guided`, or a strategy of search/. */
  strategy: string;
  budgets: Budgets;
  goal: Goal | null;
  priors: Priors;
  request: RunRequest;
  /** Of the first workload: its work and the device's rates, for reports. Absent where they are not known. */
  roofline?: Roofline;
  environment: Readonly<Record<string, string>>;
}

/** One line of the options table: an open or abandoned move, with the arithmetic of its rank. */
export interface RankedOption {
  moveKey: string;
  pattern: { id: string; title: string };
  finding: { id: string; evaluationId: string };
  /** The change its next candidate would make. */
  move: MoveRecord;
  /** Old time ÷ new time, ≥ 1: the pattern's expectation, weighed with what the pattern realised before. */
  expectedGain: number;
  /** 0…1, weighed likewise. */
  confidence: number;
  /** Moves of this pattern seen before, in this run and in the prior. */
  evidence: { attempts: number; kept: number };
  /** Expected evaluations until the move is decided, and the same with compile time, in evaluations' worth. */
  cost: { evaluations: number; compile: number };
  /** (expectedGain − 1) × confidence ÷ (cost.evaluations + cost.compile); the table is sorted by it. */
  value: number;
  /** The arithmetic of `value` in numbers: `(1.40 − 1) × 0.50 ÷ (1 + 0.2) = 0.167`. */
  arithmetic: string;
  /** Evaluations the move has used; failures since it last helped. */
  used: number;
  failures: number;
  state: 'next' | 'open' | 'abandoned';
}

/** The options at one turn of a guided run. */
export interface OptionsRankedEvent {
  type: 'options-ranked';
  iteration: number;
  /** Remaining evaluations ÷ open moves; `null` where evaluations are not limited. */
  share: number | null;
  /** Best value first; open moves in full, `omitted` counts what lies behind the last one listed. */
  options: RankedOption[];
  omitted: number;
}

/** A finding of the current best set off a pattern, which proposed this move. */
export interface MoveProposedEvent {
  type: 'move-proposed';
  iteration: number;
  /** Identity under which failures are counted: pattern × parameter or rung. */
  moveKey: string;
  pattern: { id: string; title: string };
  finding: { id: string; evaluationId: string; estimatedSpeedup: number; evidence: string };
  move: MoveRecord;
  candidate: CandidateReference;
  /** Old time ÷ new time the pattern expects. An estimate. */
  expectedGain: number;
  /** 0…1. */
  confidence: number;
  reason: string;
}

export interface EvaluationFinishedEvent {
  type: 'evaluation-finished';
  iteration: number;
  evaluation: Evaluation;
  /** Source file → SHA-256 of its text in the run's `objects/`. */
  sources: Readonly<Record<string, string>>;
}

/**
 * `ratio` is time of the best so far ÷ time of this candidate; `null` when it has no valid time. Measured times come
 * with the verdict and the ratio's 95 % interval.
 */
export interface DecisionEvent {
  type: 'decision';
  iteration: number;
  evaluationId: string;
  decision: 'keep' | 'revert';
  comparedWith: string | null;
  ratio: number | null;
  verdict?: Verdict;
  intervalRatio?: readonly [low: number, high: number];
  /** Runs over several workloads: `ratio` is the weighted geometric mean of these. */
  perWorkload?: WorkloadRatio[];
  reason: string;
}

/** One workload's part of a decision. */
export interface WorkloadRatio {
  workload: string;
  weight: number;
  /** Evaluation of the candidate on this workload. */
  evaluationId: string;
  /** Time of the best so far ÷ time of this candidate; `null` when it has no valid time. */
  ratio: number | null;
  intervalRatio?: readonly [low: number, high: number];
  /** More than 2 % slower, or not passed: the whole candidate is reverted for it. */
  vetoes: boolean;
}

/**
 * Measured runs: the winner against the start, on fresh blocks of a number fixed beforehand, and through the sanitizer.
 * A winner that is refused gives way to the best before it, which is confirmed in its turn.
 */
export interface ConfirmationEvent {
  type: 'confirmation';
  evaluationId: string;
  candidate: CandidateReference;
  /** Start's time ÷ winner's time; `null` where times are predicted, or the winner could not be measured again. */
  ratio: number | null;
  /** The winner's time as measured again; over several workloads the weighted geometric mean. */
  medianNs: number | null;
  verdict: Verdict | null;
  intervalRatio: readonly [low: number, high: number] | null;
  sanitizer: SanitizerReport['outcome'] | null;
  /** Runs over several workloads: `ratio` is the weighted geometric mean of these. */
  perWorkload?: WorkloadRatio[];
  outcome: 'accepted' | 'accepted, unsanitized' | 'refused';
  reason: string;
}

export interface MoveAbandonedEvent {
  type: 'move-abandoned';
  iteration: number;
  moveKey: string;
  failureCount: number;
  /** Three failures in a row, or twice its share of the evaluations used. */
  why: 'failed' | 'overspent';
  reason: string;
}

/**
 * The best candidate with one of its changes undone: what that change is worth. Logged once the winner is known, as far
 * as the budget goes. `evaluationId` may be an earlier evaluation of the same candidate.
 */
export interface AblationEvent {
  type: 'ablation';
  /** The best candidate's evaluation. */
  best: string;
  /** The change that is undone: what the best has, and what the ablated candidate has instead. */
  undone:
    | { kind: 'parameter'; parameter: string; from: number; to: number }
    | { kind: 'rung'; from: string; to: string };
  candidate: CandidateReference;
  evaluationId: string | null;
  /** Time without the change ÷ time of the best: what the change gives on top of the others. `null` without a time. */
  ratio: number | null;
  intervalRatio?: readonly [low: number, high: number];
  /** Why there is no ratio: not evaluated, or judged invalid. */
  reason?: string;
}

/** How a kernel fills the device as a dimension grows. Never a speed-up: the work differs from row to row. */
export interface WorkloadAdviceEvent {
  type: 'workload-advice';
  /** The best candidate's id. */
  candidate: string;
  /** Dimensions that were grown, e.g. `['B', 'H']`; rows say their product. */
  dimensions: string[];
  rows: {
    /** Product of the grown dimensions. */
    product: number;
    workload: string;
    evaluationId: string | null;
    kind: 'measured' | 'predicted';
    medianNs: number | null;
    attainableNs: number | null;
    /** attainableNs ÷ medianNs. */
    attainedRatio: number | null;
  }[];
  /** Smallest product at which the attained ratio is within 5 % of the last row's; `null` when it still grows. */
  saturatedAt: number | null;
  /** `the workload under-fills the device: at B·H = 8 it reaches 12 % of attainable; at B·H ≥ 128 it reaches 61 %`. */
  text: string;
}

/** A pattern's recommendation that no listed move can carry out. */
export interface AdviceEvent {
  type: 'advice';
  iteration: number;
  pattern: { id: string; title: string };
  finding: { id: string; evaluationId: string };
  text: string;
}

export interface BudgetEvent {
  type: 'budget';
  iteration: number;
  evaluationsUsed: number;
  /** What is kept for the time after the search included. */
  evaluationsLeft: number | null;
  minutesUsed: number;
  minutesLeft: number | null;
  ledger: Ledger;
}

/** What a run has spent so far, by what it was spent on. Wall times of the phases, in ms. */
export interface Ledger {
  compileMs: number;
  verifyMs: number;
  timeMs: number;
  /** Time evaluations held the GPU: all but compiling, the host's own work on them included; 0 on a virtual device. */
  gpuMs: number;
  /** gpuMs × price; `null` without a price. */
  money: number | null;
}

/**
 * Why no more candidates are looked for. Confirmation, ablation and advice follow; where the confirmation takes back what
 * the search stopped for, or the best is faster without one of its changes, it goes on and ends anew.
 */
export interface SearchEndedEvent {
  type: 'search-ended';
  iteration: number;
  reason: StopReason;
  detail: string;
}

/**
 * A run whose budget was spent goes on with a larger one. Stands where its search had ended; what followed there is cut
 * off the log and kept beside it.
 */
export interface BudgetsExtendedEvent {
  type: 'budgets-extended';
  iteration: number;
  /** From here on, in place of `run-started`'s. */
  budgets: Budgets;
}

export interface RunFinishedEvent {
  type: 'run-finished';
  stopReason: StopReason;
  detail: string;
  /** Evaluation id of the best candidate; `null` when nothing passed. */
  best: string | null;
  /** Start's time ÷ best's time; of measured runs, as the confirmation measured it. */
  speedup: number | null;
}

export type RunEvent =
  | RunStartedEvent
  | MoveProposedEvent
  | EvaluationFinishedEvent
  | DecisionEvent
  | ConfirmationEvent
  | MoveAbandonedEvent
  | AdviceEvent
  | OptionsRankedEvent
  | AblationEvent
  | WorkloadAdviceEvent
  | BudgetEvent
  | SearchEndedEvent
  | BudgetsExtendedEvent
  | RunFinishedEvent;

/** An event as it lies in the log. */
export type RecordedEvent = RunEvent & {
  schemaVersion: typeof EVENT_SCHEMA_VERSION;
  /** Counts from 1 without gaps. */
  sequence: number;
  /** ISO 8601, UTC. */
  time: string;
};

/** Where the loop sends what happens. */
export type EventSink = (event: RunEvent) => void;
