import type { MoveAbandonedEvent, RecordedEvent } from '../../store/events.ts';
import type { ProgressionRow } from './progression.ts';
import { ofType } from './run-events.ts';

/** What did not work, which is half of what a run found out. */
export interface NegativeResults {
  /** Decided against: not faster, or not valid. */
  reverted: ProgressionRow[];
  /** Not valid, where nothing was to be decided: a winner that could not be measured again, an undone change. */
  failed: ProgressionRow[];
  /** Moves that were given up. */
  abandoned: { moveKey: string; failureCount: number; why: MoveAbandonedEvent['why']; reason: string }[];
}

export function negativeResults(events: readonly RecordedEvent[], rows: readonly ProgressionRow[]): NegativeResults {
  return {
    reverted: rows.filter(({ decision }) => decision === 'revert'),
    failed: rows.filter(({ decision, status }) => decision === null && status !== 'passed'),
    abandoned: ofType(events, 'move-abandoned').map(({ moveKey, failureCount, why, reason }) => ({
      moveKey,
      failureCount,
      why,
      reason,
    })),
  };
}
