import type { Timing } from '../../core/timing.ts';
import type { MoveRecord } from '../../store/events.ts';
import type { MoveWithRun } from '../../store/index/run-index.ts';
import * as doc from '../document.ts';
import { formatMove, formatRatio, formatRatioInterval } from '../format.ts';
import { NO_FINDING } from '../sections/findings.ts';

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

/** Tried, kept and gained with one kind of time. */
const tallyColumns = (kind: 'measured' | 'predicted', drop: number): doc.ColumnOf<PatternRecord>[] => [
  doc.figures(`${kind}: tried`, ({ tallies }) => tallies[kind].attempts || '–'),
  doc.figures('kept', ({ tallies: { [kind]: tally } }) => (tally.attempts === 0 ? '–' : tally.kept), drop),
  doc.figures('gain', ({ tallies }) => formatRatio(tallies[kind].realisedGain)),
];

/** `2025-…/e4: 01_first → 02_second; …; expected 1.40×, predicted 1.62×: keep`. */
function moveLine(move: MoveWithRun): string {
  const interval = move.low === null || move.high === null ? '' : ` ${formatRatioInterval([move.low, move.high])}`;
  const realised =
    move.ratio === null ? `${move.status}, no time` : `${move.kind} ${formatRatio(move.ratio)}${interval}`;
  const isExpected = move.finding !== NO_FINDING;
  return [
    `${move.run}/${move.evaluation}: ${formatMove(JSON.parse(move.change) as MoveRecord)}`,
    ...(isExpected ? [`${move.finding} of ${move.findingEvaluation}: ${move.evidence}`] : []),
    `${isExpected ? `expected ${formatRatio(move.expectedGain)}, ` : ''}${realised}: ${move.decision}`,
  ].join('; ');
}

const NOTE =
  'Gain: geometric mean of old time ÷ new time over the moves that were kept; failed ones count as tried. ' +
  'Measured and predicted gains are never added up, and only those of its own kind rank a run’s moves.';

/** The patterns and what they realised. */
export const patternsDocument = ({ patterns, store }: PatternsReport): doc.Document =>
  doc.documentOf(
    `Patterns, as the runs in ${store} found them`,
    [
      doc.table('Patterns', patterns, [
        doc.names('pattern', ({ id }) => id),
        doc.words('for findings', ({ triggers }) => triggers.join(', '), 1),
        ...tallyColumns('measured', 2),
        ...tallyColumns('predicted', 2),
      ]),
      doc.text(NOTE),
    ],
    patterns.map(({ id, title, source, moves }) =>
      doc.section(id, `${id}${title === null ? ' (no pattern of this version)' : `: ${title}`}`, [
        moves && [source !== null && doc.text(`source: ${source}`), doc.list(moves.map(moveLine), 'no moves yet')],
      ]),
    ),
  );
