import { table, words } from '../reports/document.ts';
import { formatMove } from '../reports/format.ts';
import { printTable } from '../reports/print/terminal.ts';
import type { OptionsRankedEvent } from '../store/events.ts';

/** Rows on the screen at each turn; reports list more. */
const SHOWN = 4;

/** What a guided run may try next, best expected return first, with the arithmetic. */
export function optionsTable({ iteration, options, omitted, share }: OptionsRankedEvent): string[] {
  const open = options.filter(({ state }) => state !== 'abandoned');
  if (open.length === 0) return [];
  const count = open.length + omitted;
  const ofShare = share === null ? '' : `, a share of ${share.toFixed(1)} evaluations each`;
  const shown = table('Options', open.slice(0, SHOWN), [
    words('option', ({ move }) => formatMove(move)),
    words('(gain − 1) × confidence ÷ (evaluations + compiling)', ({ arithmetic }) => arithmetic),
    words('pattern', ({ pattern }) => pattern.id, 1),
    words(
      'kept before',
      ({ evidence }) => (evidence.attempts === 0 ? '–' : `${evidence.kept} of ${evidence.attempts}`),
      2,
    ),
  ]);
  return [
    `[${iteration}] ${count} open ${count === 1 ? 'move' : 'moves'}${ofShare}`,
    ...(shown ? printTable(shown, 76) : []).map((line) => `    ${line}`),
    ...(count > SHOWN ? [`    and ${count - Math.min(SHOWN, open.length)} more`] : []),
  ];
}
