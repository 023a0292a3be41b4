import type { OptionsRankedEvent, RankedOption, RecordedEvent } from '../../store/events.ts';
import { formatMove } from '../format.ts';
import { ofType } from './run-events.ts';

/** One line of an options table. Gains are expectations, not results. */
export interface OptionRow extends Omit<RankedOption, 'move'> {
  /** The change its next candidate would make, in words. */
  change: string;
}

/** What a guided run could have tried at one turn, best expected return first. */
export interface OptionsTable {
  iteration: number;
  /** Remaining evaluations ÷ open moves; `null` where evaluations are not limited. */
  share: number | null;
  options: OptionRow[];
  /** Open moves behind the last one listed. */
  omitted: number;
}

const tableOf = ({ iteration, share, options, omitted }: OptionsRankedEvent): OptionsTable => ({
  iteration,
  share,
  options: options.map(({ move, ...rest }) => ({ ...rest, change: formatMove(move) })),
  omitted,
});

/** Every turn's table, in the order of the turns. */
export const optionsTables = (events: readonly RecordedEvent[]): OptionsTable[] =>
  ofType(events, 'options-ranked').map(tableOf);
