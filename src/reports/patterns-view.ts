import type { Timing } from '../core/timing.ts';
import type { MoveWithRun } from '../store/index/run-index.ts';

/** What came of a pattern's moves, all of one kind of time. */
export interface PatternTally {
  attempts: number;
  kept: number;
  /** Geometric mean of old time ÷ new time over the kept ones; `null` when none was. */
  realisedGain: number | null;
  /** The same of what the pattern had expected of them. */
  expectedGain: number | null;
}

/** A pattern with its record. */
export interface PatternRecord {
  id: string;
  /** `null` for one that this version of warpsmith no longer has. */
  title: string | null;
  source: string | null;
  triggers: readonly string[];
  /** Never added up: a model's gain is not a clock's. */
  tallies: Readonly<Record<Timing['kind'], PatternTally>>;
  /** Only when evidence is asked for. */
  moves?: MoveWithRun[];
}

/** What `warpsmith patterns --json` prints. */
export interface PatternsReport {
  schemaVersion: 1;
  kind: 'patterns';
  store: string;
  problem: string | null;
  device: string | null;
  patterns: PatternRecord[];
}
