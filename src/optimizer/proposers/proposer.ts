import type { MoveAbandonedEvent, OptionsRankedEvent } from '../../store/events.ts';
import type { Advice, ProposedMove } from '../propose-moves.ts';

/** What a proposer has to say at one turn, to be logged in this order: advice, what is given up, the options. */
export interface Turn {
  readonly advice?: readonly Advice[];
  readonly abandoned?: readonly Omit<MoveAbandonedEvent, 'type' | 'iteration'>[];
  readonly ranked?: Pick<OptionsRankedEvent, 'share' | 'options' | 'omitted'>;
  /** What to try next; absent when there is nothing left. */
  readonly move?: ProposedMove;
  /** Candidates that may be asked for soon, to be compiled ahead. */
  readonly upcoming?: readonly ProposedMove[];
  /** Why there is no move. */
  readonly exhausted?: { readonly reason: 'no-moves-left' | 'space-exhausted'; readonly detail: string };
}

/** How a move's candidate did. */
export interface Judged {
  /** Start's time ÷ its time; undefined when it has none. */
  readonly ratio: number | undefined;
  /** Only the screen measured it, and found it too slow to be measured longer. */
  readonly isScreenedOut: boolean;
}

/** Chooses the next change to the best candidate, from what it sees of a run: `R`. */
export interface Proposer<R> {
  next(run: R): Turn;
  /** Told of every move that was judged, its own and others'. */
  note(move: ProposedMove, judged: Judged): void;
}
