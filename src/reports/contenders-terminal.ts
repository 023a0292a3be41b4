import {
  DETAIL_COLUMNS,
  describeLadder,
  detailCells,
  LADDER_LEGEND,
  ladderCells,
  ladderColumns,
  ladderNotes,
  libraryVersions,
} from './ladder-text.ts';
import type { LadderView } from './ladder-view.ts';
import { type Paint, plainPaint } from './paint.ts';
import { textTable } from './table.ts';

/** Several kernels beside several libraries at several workloads, for a terminal. */
export function contendersTerminal(view: LadderView, paint: Paint = plainPaint): string {
  const title = (text: string): string => paint('dim', text);
  const list = (heading: string, lines: readonly string[]): string =>
    lines.length === 0 ? '' : `${paint('bold', heading)}\n${lines.map((line) => `  ${line}`).join('\n')}`;
  const sections = [
    paint('bold', describeLadder(view)),
    LADDER_LEGEND,
    textTable(ladderColumns(view), view.rows.map(ladderCells), title),
    textTable(DETAIL_COLUMNS, detailCells(view), title),
    list('Notes', ladderNotes(view)),
    list('Versions', libraryVersions(view)),
  ];
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`;
}
