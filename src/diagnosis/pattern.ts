import type { DeviceSpec } from '../core/device-spec.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Finding, FindingId } from '../core/finding.ts';
import type { Candidate, Kernel } from '../core/kernel.ts';
import type { Dimensions } from '../core/problem.ts';

/** What a pattern sees: the best candidate so far, the finding that set the pattern off, and the ladder above. */
export interface PatternContext {
  readonly finding: Finding;
  /** Evaluation of `candidate`; its counters and timing are there, since it passed. */
  readonly evaluation: Evaluation;
  readonly candidate: Candidate;
  /** Rungs after the candidate's own, in ladder order; each lists the findings it answers under `file.remedies`. */
  readonly laterRungs: readonly Kernel[];
  readonly dimensions: Dimensions;
  readonly spec: DeviceSpec;
}

interface Expectation {
  /** Old time ÷ new time if it works; ≥ 1. An estimate. */
  readonly expectedGain: number;
  /** 0…1: how often this helps when its finding fires. */
  readonly confidence: number;
  /** Why this move, in a sentence that cites the evidence. */
  readonly reason: string;
}

/** One change to the best candidate, or advice that no change at hand can carry out. */
export type PatternMove =
  | ({ readonly kind: 'parameter'; readonly parameter: string; readonly value: number } & Expectation)
  /** `rung` is the name in the rung's kernel.json. */
  | ({ readonly kind: 'rung'; readonly rung: string } & Expectation)
  | { readonly kind: 'advice'; readonly text: string };

/** A known remedy: finding → action. */
export interface Pattern {
  /** Kebab-case. */
  readonly id: string;
  readonly title: string;
  /** Where the remedy comes from. */
  readonly source: string;
  readonly triggers: readonly FindingId[];
  propose(context: PatternContext): readonly PatternMove[];
}
