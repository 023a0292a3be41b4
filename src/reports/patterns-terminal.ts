import type { MoveRecord } from '../store/events.ts';
import type { MoveWithRun } from '../store/index/run-index.ts';
import { formatMove, formatRatio, formatRatioInterval } from './format.ts';
import { type Paint, plainPaint } from './paint.ts';
import type { PatternRecord, PatternsReport, PatternTally } from './patterns-view.ts';
import { NO_FINDING } from './run-text.ts';
import { type Column, textTable } from './table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'pattern' },
  { title: 'for findings' },
  { title: 'measured: tried', align: 'right' },
  { title: 'kept', align: 'right' },
  { title: 'gain', align: 'right' },
  { title: 'predicted: tried', align: 'right' },
  { title: 'kept', align: 'right' },
  { title: 'gain', align: 'right' },
];

const tallyCells = ({ attempts, kept, realisedGain }: PatternTally): string[] =>
  attempts === 0 ? ['–', '–', '–'] : [String(attempts), String(kept), formatRatio(realisedGain)];

const cells = ({ id, triggers, tallies }: PatternRecord): string[] => [
  id,
  triggers.join(', '),
  ...tallyCells(tallies.measured),
  ...tallyCells(tallies.predicted),
];

/** `2025-…/e4: 01_first → 02_second: …: expected 1.40×, predicted 1.62×: keep`. */
function moveLine(move: MoveWithRun): string {
  const interval = move.low === null || move.high === null ? '' : ` ${formatRatioInterval([move.low, move.high])}`;
  const realised =
    move.ratio === null ? `${move.status}, no time` : `${move.kind} ${formatRatio(move.ratio)}${interval}`;
  return [
    `${move.run}/${move.evaluation}: ${formatMove(JSON.parse(move.change) as MoveRecord)}`,
    ...(move.finding === NO_FINDING ? [] : [`${move.finding} of ${move.findingEvaluation}: ${move.evidence}`]),
    `${move.finding === NO_FINDING ? '' : `expected ${formatRatio(move.expectedGain)}, `}${realised}: ${move.decision}`,
  ].join('; ');
}

function evidenceText({ id, title, source, moves = [] }: PatternRecord, paint: Paint): string {
  const lines = [
    `${paint('bold', id)}${title === null ? ' (no pattern of this version)' : `: ${title}`}`,
    ...(source === null ? [] : [`  source: ${source}`]),
    ...(moves.length === 0 ? ['  no moves yet'] : moves.map((move) => `  ${moveLine(move)}`)),
  ];
  return lines.join('\n');
}

const NOTE =
  'Gain: geometric mean of old time ÷ new time over the moves that were kept; failed ones count as tried. ' +
  'Measured and predicted gains are never added up, and only those of its own kind rank a run’s moves.';

/** The patterns and what they realised, for a terminal. */
export function patternsTerminal({ patterns }: PatternsReport, paint: Paint = plainPaint): string {
  const table = textTable(COLUMNS, patterns.map(cells), (text) => paint('dim', text));
  const evidence = patterns.filter(({ moves }) => moves !== undefined).map((pattern) => evidenceText(pattern, paint));
  return `${[table, NOTE, ...evidence].join('\n\n')}\n`;
}
