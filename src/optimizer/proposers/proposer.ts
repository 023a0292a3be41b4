import type { Evaluator } from '../../core/evaluation.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { MoveAbandonedEvent, OptionsRankedEvent, StopReason } from '../../store/events.ts';
import type { Advice, ProposedMove } from '../propose-moves.ts';

/** Most next candidates that compile while one is judged, for each GPU. An H200 judged 72 a minute with six (docs/measuring.md). */
export const PREPARED_AHEAD = 6;

/** The same for all GPUs of an evaluator. */
export const preparedAheadOf = ({ capacity = 1 }: Pick<Evaluator, 'capacity'>): number => PREPARED_AHEAD * capacity;

/** Events of one turn, logged in this order: advice, moves given up, options. */
export interface Turn {
  readonly advice?: readonly Advice[];
  readonly abandoned?: readonly Omit<MoveAbandonedEvent, 'type' | 'iteration'>[];
  readonly ranked?: Pick<OptionsRankedEvent, 'share' | 'options' | 'omitted'>;
  /** What to try next. Without it and `exhausted` the proposer is asked again, unless a budget is spent or the user stops. */
  readonly move?: ProposedMove;
  /** Candidates that may be asked for soon, to compile ahead. */
  readonly upcoming?: readonly ProposedMove[];
  /** Nothing is on its way: another proposer may be asked. */
  readonly isTurnOver?: true;
  /** Why there is no move. */
  readonly exhausted?: { readonly reason: StopReason; readonly detail: string };
}

/** How a move's candidate did. */
export interface Judged {
  /** Start's time ÷ its time; undefined when it has none. */
  readonly ratio: number | undefined;
  /** Only a screen measured it, and found it too slow to measure longer. */
  readonly isScreenedOut: boolean;
}

/** Chooses the next change to the best candidate. `R` is the part of a run that it sees. */
export interface Proposer<R> {
  next(run: R): Turn | Promise<Turn>;
  /** What it will ask for first, whatever becomes of the start; absent where that depends on it. */
  first?(): readonly Candidate[];
  /** It never looks at findings: only the winner is profiled, with its confirmation. */
  readonly asksNoFindings?: true;
  /** Called for every judged move, also those of other proposers. */
  note(move: ProposedMove, judged: Judged): void;
  /** The search has ended, if only for now: ends what still runs. */
  rest?(run: R): Promise<void>;
}

/** A proposer that is made when it is first asked, and then told what was judged before. */
export function madeWhenAsked<R>(create: () => Proposer<R>): Pick<Proposer<R>, 'next' | 'note' | 'rest'> {
  const judgements: [ProposedMove, Judged][] = [];
  let made: Proposer<R> | undefined;
  return {
    next(run) {
      if (!made) {
        made = create();
        for (const [move, judged] of judgements.splice(0)) made.note(move, judged);
      }
      return made.next(run);
    },
    note(move, judged) {
      if (made) made.note(move, judged);
      else judgements.push([move, judged]);
    },
    rest: async (run) => made?.rest?.(run),
  };
}
