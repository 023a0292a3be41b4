import type { Evaluation } from '../core/evaluation.ts';
import type { ParameterValues } from '../core/kernel.ts';
import type { Verdict } from '../core/measurement.ts';
import type { Dimensions } from '../core/problem.ts';
import type { SanitizerReport } from '../core/sanitizer-report.ts';

/** Version of the event records; a reader refuses a newer one. */
export const EVENT_SCHEMA_VERSION = 1;

/** Why a run ended. */
export const STOP_REASONS = [
  'goal-reached',
  'near-attainable',
  'evaluations-spent',
  'time-spent',
  'no-moves-left',
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

/** The one change an iteration makes to the best candidate so far. */
export type MoveRecord =
  | { kind: 'parameter'; kernel: string; parameter: string; from: number; to: number }
  | { kind: 'parameters'; kernel: string; changes: { parameter: string; from: number; to: number }[] }
  | { kind: 'rung'; from: string; to: string };

/** Evaluation and wall-time budgets of a run. `null` means no limit. */
export interface Budgets {
  maximumEvaluations: number | null;
  maximumMinutes: number | null;
}

export interface RunStartedEvent {
  type: 'run-started';
  problem: { name: string; folder: string };
  start: CandidateReference;
  workload: { name: string; dimensions: Dimensions; cache: 'hot' | 'cold' };
  device: { id: string; kind: 'virtual' | 'cuda'; name: string };
  seed: number;
  budgets: Budgets;
  goal: Goal | null;
  environment: Readonly<Record<string, string>>;
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
  reason: string;
}

/**
 * Measured runs: the winner against the start, on fresh blocks of a number fixed beforehand, and through the sanitizer.
 * A winner that is refused gives way to the best before it, which is confirmed in its turn.
 */
export interface ConfirmationEvent {
  type: 'confirmation';
  evaluationId: string;
  candidate: CandidateReference;
  /** Start's time ÷ winner's time; `null` when the winner could not be measured again. */
  ratio: number | null;
  /** The winner's time as measured again. */
  medianNs: number | null;
  verdict: Verdict | null;
  intervalRatio: readonly [low: number, high: number] | null;
  sanitizer: SanitizerReport['outcome'] | null;
  outcome: 'accepted' | 'accepted, unsanitized' | 'refused';
  reason: string;
}

export interface MoveAbandonedEvent {
  type: 'move-abandoned';
  iteration: number;
  moveKey: string;
  failureCount: number;
  reason: string;
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
  evaluationsLeft: number | null;
  minutesUsed: number;
  minutesLeft: number | null;
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
  | BudgetEvent
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
