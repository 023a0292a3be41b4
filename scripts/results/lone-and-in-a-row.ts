import type { Column } from '../../src/reports/document.ts';
import { formatMeasuredNs } from '../../src/reports/format.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';

/** docs/results/h200-lone-and-in-a-row.json: one call of a library, alone and in unbroken rows, and the board beside it. */
export interface LoneAndInARow {
  schemaVersion: 1;
  device: string;
  torch: string;
  rows: {
    workload: string;
    baseline: string;
    callsInARow: number;
    pauseMs: number;
    medianNs: number;
    board: { smClockMhz: number; powerW: number; powerCappedShare: number };
  }[];
}

const COLUMNS: readonly Column[] = [
  { title: 'workload' },
  { title: 'call' },
  { title: 'calls in a row', align: 'right' },
  { title: 'pause', align: 'right' },
  { title: 'time of a call', align: 'right' },
  { title: 'SM clock', align: 'right' },
  { title: 'power', align: 'right' },
  { title: 'at the power limit', align: 'right' },
];

export const loneAndInARow = ({ rows }: LoneAndInARow): string =>
  markdownTable(
    COLUMNS,
    rows.map(({ workload, baseline, callsInARow, pauseMs, medianNs, board }) => [
      workload,
      baseline,
      String(callsInARow),
      pauseMs > 0 ? `${pauseMs} ms` : 'none',
      formatMeasuredNs(medianNs),
      `${board.smClockMhz} MHz`,
      `${board.powerW.toFixed(0)} W`,
      `${(100 * board.powerCappedShare).toFixed(0)} % of the time`,
    ]),
  );
