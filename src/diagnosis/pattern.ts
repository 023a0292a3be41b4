import type { DeviceSpec } from '../core/device-spec.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Finding } from '../core/finding.ts';
import type { Candidate, Kernel } from '../core/kernel.ts';
import type { Dimensions } from '../core/problem.ts';
import type { FindingId } from '../core/vocabulary.ts';

/** Input of a pattern: one finding of the best candidate, and the kernels and parameters that could change. */
export interface PatternContext {
  readonly finding: Finding;
  readonly evaluation: Evaluation;
  readonly candidate: Candidate;
  /** Rungs after the candidate's own, in ladder order. */
  readonly laterRungs: readonly Kernel[];
  readonly dimensions: Dimensions;
  readonly spec: DeviceSpec;
}

/** Reason and expected gain of a move. */
export interface Expectation {
  /** Old time ÷ new time; an estimate, at least 1. */
  readonly expectedGain: number;
  /** 0…1: how often the pattern is expected to hold. */
  readonly confidence: number;
  readonly reason: string;
}

/** One parameter of a setting that differs from the candidate's. */
export interface SettingChange {
  readonly parameter: string;
  readonly from: number;
  readonly value: number;
}

/** One change a pattern suggests. */
export type PatternMove =
  | ({ readonly kind: 'parameter' } & SettingChange & Expectation)
  /** Several parameters at once, where a constraint lets no single one change; what the move is about comes first. */
  | ({ readonly kind: 'parameters'; readonly changes: readonly SettingChange[] } & Expectation)
  /** `rung` is the name in kernel.json. */
  | ({ readonly kind: 'rung'; readonly rung: string } & Expectation)
  | { readonly kind: 'advice'; readonly text: string };

/** A known remedy: finding → action. */
export interface Pattern {
  /** Kebab-case, stable. */
  readonly id: string;
  readonly title: string;
  /** Publication or report from which the remedy is known. */
  readonly source: string;
  readonly triggers: readonly FindingId[];
  /** Moves for one of its findings, the most promising first; empty if its conditions do not hold. */
  propose(context: PatternContext): PatternMove[];
}
