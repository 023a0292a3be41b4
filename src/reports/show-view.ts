import type { Evaluation } from '../core/evaluation.ts';
import type { ParameterValues } from '../core/kernel.ts';
import type { DecisionEvent, MoveProposedEvent } from '../store/events.ts';
import type { EvaluationRow, MoveRow } from '../store/index/rows.ts';
import type { ListedRun } from './runs-view.ts';

/** A source file of a candidate as the run stored it. */
export interface StoredSource {
  file: string;
  /** SHA-256 of its contents. */
  hash: string;
  path: string;
  state: 'stored' | 'missing' | 'damaged';
}

/** A run in short: what it was about, what came of it, where it lies. */
export interface ShownRun {
  schemaVersion: 1;
  kind: 'run';
  run: ListedRun;
  /** What was kept, in order. */
  kept: MoveRow[];
  /** How many moves were judged and not kept. */
  revertedCount: number;
  files: { log: string; report: string | null; best: string | null };
}

/** One evaluation of a run, with what led to it and what was decided. */
export interface ShownEvaluation {
  schemaVersion: 1;
  kind: 'evaluation';
  run: string;
  evaluation: Evaluation;
  /** Absent for the start. */
  proposal: MoveProposedEvent | null;
  decision: DecisionEvent | null;
  sources: StoredSource[];
}

/** A candidate, wherever it was evaluated. */
export interface ShownCandidate {
  schemaVersion: 1;
  kind: 'candidate';
  id: string;
  kernel: string;
  parameters: ParameterValues;
  evaluations: EvaluationRow[];
  /** As the newest run stored them. */
  sources: StoredSource[];
}

export type Shown = ShownRun | ShownEvaluation | ShownCandidate;
