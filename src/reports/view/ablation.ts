import type { AblationEvent, CandidateReference, RecordedEvent } from '../../store/events.ts';
import { describeUndone } from './progression.ts';
import { ofType } from './run-events.ts';

/** One change of the best candidate, undone. */
export interface AblationRow {
  /** What the best has → what the ablated candidate has instead. */
  change: string;
  candidate: CandidateReference;
  evaluationId: string | null;
  /** Time without the change ÷ time of the best: above 1 the change helps. */
  ratio: number | null;
  intervalRatio: readonly [low: number, high: number] | null;
  /** Why there is no ratio. */
  reason: string | null;
}

const rowOf = ({ undone, candidate, evaluationId, ratio, intervalRatio, reason }: AblationEvent): AblationRow => ({
  change: describeUndone(undone),
  candidate,
  evaluationId,
  ratio,
  intervalRatio: intervalRatio ?? null,
  reason: reason ?? null,
});

/** What each change of `best`, an evaluation's id, is worth on top of the others, the most valuable first. */
export const ablationRows = (events: readonly RecordedEvent[], best: string | undefined): AblationRow[] =>
  ofType(events, 'ablation')
    .filter((event) => event.best === best)
    .map(rowOf)
    .toSorted((a, b) => (b.ratio ?? 0) - (a.ratio ?? 0));
