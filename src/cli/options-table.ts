import { names, table, words } from '../reports/document.ts';
import { formatCount, formatMove } from '../reports/format.ts';
import { printTable } from '../reports/print/terminal.ts';
import type { OptionsRankedEvent } from '../store/events.ts';

/** Rows on the screen at each turn; reports list more. */
const SHOWN = 4;

/** The moves that a guided run may try next, with the arithmetic of their value. The best comes first. */
export function optionsTable({ iteration, options, omitted, share }: OptionsRankedEvent): string[] {
  const open = options.filter(({ state }) => state !== 'abandoned');
  if (open.length === 0) return [];
  const count = open.length + omitted;
  const ofShare = share === null ? '' : `, a share of ${share.toFixed(1)} evaluations each`;
  const listed = open.slice(0, SHOWN);
  const shown = table('Options', listed, [
    words('option', ({ move }) => formatMove(move)),
    names('(gain − 1) × confidence ÷ cost', ({ arithmetic }) => arithmetic),
    words('pattern', ({ pattern }) => pattern.id, 2),
    words(
      'kept before',
      ({ evidence }) => (evidence.attempts === 0 ? '–' : `${evidence.kept} of ${evidence.attempts}`),
      1,
    ),
  ]);
  return [
    `[${iteration}] ${formatCount(count, 'open move')}${ofShare}`,
    ...(shown ? printTable(shown, 76) : []).map((line) => `    ${line}`),
    ...(count > listed.length ? [`    and ${count - listed.length} more`] : []),
  ];
}
