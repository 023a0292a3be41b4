import { formatMove } from '../reports/format.ts';
import { type Column, textTable } from '../reports/table.ts';
import type { OptionsRankedEvent } from '../store/events.ts';

/** Rows on the screen at each turn; reports list more. */
const SHOWN = 4;

const COLUMNS: readonly Column[] = [
  { title: 'option' },
  { title: '(gain − 1) × confidence ÷ (evaluations + compiling)' },
  { title: 'pattern' },
  { title: 'kept before' },
];

/** What a guided run may try next, best expected return first, with the arithmetic. */
export function optionsTable({ iteration, options, omitted, share }: OptionsRankedEvent): string[] {
  const open = options.filter(({ state }) => state !== 'abandoned');
  if (open.length === 0) return [];
  const count = open.length + omitted;
  const ofShare = share === null ? '' : `, a share of ${share.toFixed(1)} evaluations each`;
  const rows = open
    .slice(0, SHOWN)
    .map(({ move, arithmetic, pattern, evidence }) => [
      formatMove(move),
      arithmetic,
      pattern.id,
      evidence.attempts === 0 ? '–' : `${evidence.kept} of ${evidence.attempts}`,
    ]);
  return [
    `[${iteration}] ${count} open ${count === 1 ? 'move' : 'moves'}${ofShare}`,
    ...textTable(COLUMNS, rows)
      .split('\n')
      .map((line) => `    ${line}`),
    ...(count > rows.length ? [`    and ${count - rows.length} more`] : []),
  ];
}
