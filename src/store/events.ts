import type { DType } from '../core/dtype.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { ParameterValues } from '../core/kernel.ts';
import type { Dimensions } from '../core/problem.ts';
import type { SanitizerReport } from '../core/profile.ts';
import type { LoggedOf } from '../core/requests/request.ts';
import type { Roofline } from '../core/roofline.ts';
import type { Verdict } from '../core/vocabulary.ts';

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
 * The change of an iteration. `parameter` and `rung` change one thing of the best candidate so far. `configuration` is the
 * request of a blind strategy: any setting of any rung.
 */
export type MoveRecord =
  | { kind: 'parameter'; kernel: string; parameter: string; from: number; to: number }
  | { kind: 'parameters'; kernel: string; changes: { parameter: string; from: number; to: number }[] }
  | { kind: 'rung'; from: string; to: string }
  | { kind: 'configuration'; kernel: string; parameters: ParameterValues };

/** What a run may spend. `null` means no limit. */
export interface Budgets {
  /** Of the whole run, advice included. */
  maximumEvaluations: number | null;
  /** Evaluations reserved for the time after the search; `null`: the optimizer decides. */
  allowance: Allowance | null;
  /** Wall time. */
  maximumMinutes: number | null;
  /** Time during which the run's evaluations held the GPU: everything except compiling, host work included. */
  maximumGpuMinutes: number | null;
  /** In the currency of `gpuPricePerHour`. */
  maximumMoney: number | null;
  /** Price of an hour of the GPU. `null`: no price was given, so money is neither counted nor limited. */
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

/** A workload of the run, with its weight in the objective. */
export interface WeightedWorkload {
  name: string;
  dimensions: Dimensions;
  cache: 'hot' | 'cold';
  /** Positive; weights need not sum to 1. */
  weight: number;
}

/** The results of a pattern in earlier runs of the same store: the prior for this run's ranking. */
export interface PatternPrior {
  pattern: string;
  /** Evaluated moves of this pattern, and how many of them were kept. */
  attempts: number;
  kept: number;
  /** Geometric mean of old time ÷ new time over the kept moves; 1 if none was kept. */
  realisedGain: number;
  /** The narrowest scope with evidence: same problem and device, same device, or anywhere. */
  scope: 'problem-and-device' | 'device' | 'all';
}

/** Cost of evaluating a kernel's candidates in earlier runs on this device: medians, in ms. */
export interface KernelCost {
  kernel: string;
  compileMs: number;
  /** Verifying and timing. */
  runMs: number;
}

/** What a run read from earlier runs at its start. Logged, so that a resumed run ranks like the first part. */
export interface Priors {
  patterns: PatternPrior[];
  costs: KernelCost[];
}

/** Options that `resume` needs and that `run-started` does not hold elsewhere. */
export type RunRequest = LoggedOf<'optimize'> & {
  /** Absolute path of the problem or kernel folder. */
  target: string;
  /** The seed was drawn, not given. Confirmations draw theirs, too. */
  seedDrawn?: boolean;
  /** SHA-256 of the files in the problem folder that decide what is right, by name. */
  problemFiles?: Readonly<Record<string, string>>;
};

/** What git says of the folder that a run's files come from, when it begins. */
export interface RepositoryState {
  /** HEAD. */
  commit: string;
  /** The folder's files are not those of `commit`. */
  isDirty: boolean;
}

export interface RunStartedEvent {
  type: 'run-started';
  /** `dtype` where the problem takes several. */
  problem: { name: string; folder: string; dtype?: DType };
  /** Of the problem's folder. Absent where no repository holds it, and from logs of versions that did not look. */
  repository?: RepositoryState;
  start: CandidateReference;
  /** The first of `workloads`, on which candidates are screened. */
  workload: { name: string; dimensions: Dimensions; cache: 'hot' | 'cold' };
  /** All workloads of the objective (a weighted geometric mean of speed-ups); at least one. */
  workloads: WeightedWorkload[];
  device: { id: string; kind: 'virtual' | 'cuda'; name: string };
  seed: number;
  /** `guided`, or a strategy of search/. */
  strategy: string;
  budgets: Budgets;
  goal: Goal | null;
  priors: Priors;
  request: RunRequest;
  /** For the first workload: its work and the device's rates, for reports. Absent if they are unknown. */
  roofline?: Roofline;
  environment: Readonly<Record<string, string>>;
}

/** One line of the options table: an open move, or one that was given up, with the arithmetic of its rank. */
export interface RankedOption {
  moveKey: string;
  pattern: { id: string; title: string };
  finding: { id: string; evaluationId: string };
  /** The change its next candidate would make. */
  move: MoveRecord;
  /** Old time ÷ new time, ≥ 1: the pattern's expectation, combined with its results so far. */
  expectedGain: number;
  /** 0…1, weighed likewise. */
  confidence: number;
  /** Earlier moves of this pattern, in this run and in the prior. */
  evidence: { attempts: number; kept: number };
  /** Expected evaluations until the decision, and compile time in units of an evaluation. */
  cost: { evaluations: number; compile: number };
  /** (expectedGain − 1) × confidence ÷ (cost.evaluations + cost.compile); the table is sorted by it. */
  value: number;
  /** The arithmetic of `value` in numbers: `(1.40 − 1) × 0.50 ÷ (1 + 0.2) = 0.167`. */
  arithmetic: string;
  /** Evaluations that the move has used, and its failures since it last helped. */
  used: number;
  failures: number;
  state: 'next' | 'open' | 'abandoned';
}

/** The options at one turn of a guided run. */
export interface OptionsRankedEvent {
  type: 'options-ranked';
  iteration: number;
  /** Remaining evaluations ÷ open moves; `null` if evaluations are not limited. */
  share: number | null;
  /** Open moves by descending value. `omitted` counts those that are not listed. */
  options: RankedOption[];
  omitted: number;
}

/** A pattern proposed this move because of a finding of the current best. */
export interface MoveProposedEvent {
  type: 'move-proposed';
  iteration: number;
  /** Key under which failures are counted: pattern × parameter or rung. */
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
 * `ratio` is the time of the best so far ÷ the time of this candidate; `null` if it has no valid time. Measured times come
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
  /** With several workloads, `ratio` is the weighted geometric mean of these. */
  perWorkload?: WorkloadRatio[];
  reason: string;
}

/** One workload's part of a decision. */
export interface WorkloadRatio {
  workload: string;
  weight: number;
  /** Evaluation of the candidate on this workload. */
  evaluationId: string;
  /** Time of the best so far ÷ time of this candidate; `null` if it has no valid time. */
  ratio: number | null;
  intervalRatio?: readonly [low: number, high: number];
  /** More than 2 % slower, or not passed. The whole candidate is reverted because of this. */
  vetoes: boolean;
}

/**
 * Measured runs: the winner against the start, on a fixed number of fresh blocks, and the sanitizer's result. If the winner
 * is refused, the previous best takes its place and is confirmed in turn.
 */
export interface ConfirmationEvent {
  type: 'confirmation';
  evaluationId: string;
  candidate: CandidateReference;
  /** Start's time ÷ winner's time; `null` if times are predicted, or if the winner could not be measured again. */
  ratio: number | null;
  /** The winner's time in the confirmation; with several workloads, the weighted geometric mean. */
  medianNs: number | null;
  verdict: Verdict | null;
  intervalRatio: readonly [low: number, high: number] | null;
  sanitizer: SanitizerReport['outcome'] | null;
  /** With several workloads, `ratio` is the weighted geometric mean of these. */
  perWorkload?: WorkloadRatio[];
  outcome: 'accepted' | 'accepted, unsanitized' | 'refused';
  reason: string;
}

export interface MoveAbandonedEvent {
  type: 'move-abandoned';
  iteration: number;
  moveKey: string;
  failureCount: number;
  /** The move failed three times since it last helped, or used twice its share of the evaluations. */
  why: 'failed' | 'overspent';
  reason: string;
}

/**
 * The best candidate with one of its changes undone. It shows what that change is worth. Logged once the winner is known,
 * as far as the budget allows. `evaluationId` may be an earlier evaluation of the same candidate.
 */
export interface AblationEvent {
  type: 'ablation';
  /** The best candidate's evaluation. */
  best: string;
  /** The undone change: the setting of the best, and the setting of the ablated candidate. */
  undone:
    | { kind: 'parameter'; parameter: string; from: number; to: number }
    | { kind: 'rung'; from: string; to: string };
  candidate: CandidateReference;
  evaluationId: string | null;
  /** Time without the change ÷ time of the best: the gain of the change together with the others. `null` without a time. */
  ratio: number | null;
  intervalRatio?: readonly [low: number, high: number];
  /** Why there is no ratio: not evaluated, or judged invalid. */
  reason?: string;
}

/** How a kernel fills the device as a dimension grows. The work differs from row to row, so this is never a speed-up. */
export interface WorkloadAdviceEvent {
  type: 'workload-advice';
  /** The best candidate's id. */
  candidate: string;
  /** The dimensions that grow, e.g. `['B', 'H']`; rows hold their product. */
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
  /** Smallest product at which the attained ratio is within 5 % of the last row's; `null` if it still grows. */
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
  /** Includes the reserve for the time after the search. */
  evaluationsLeft: number | null;
  minutesUsed: number;
  minutesLeft: number | null;
  ledger: Ledger;
}

/** A run's expenses so far, by purpose. Wall times of the phases, in ms. */
export interface Ledger {
  compileMs: number;
  verifyMs: number;
  timeMs: number;
  /** Time during which evaluations held the GPU: everything except compiling, host work included; 0 on a virtual device. */
  gpuMs: number;
  /** gpuMs × price; `null` without a price. */
  money: number | null;
}

/**
 * Why the search ended. Confirmation, ablation and advice follow. The search continues, and ends again, if the confirmation
 * revokes the reason, or if the best is faster without one of its changes.
 */
export interface SearchEndedEvent {
  type: 'search-ended';
  iteration: number;
  reason: StopReason;
  detail: string;
}

/**
 * A run whose budget was spent continues with a larger one. Stands where the search had ended; the events after that point
 * move to a file beside the log.
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
  /** Start's time ÷ best's time; of measured runs, the confirmed ratio. */
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
