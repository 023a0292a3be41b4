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
import { markdownTable } from './table.ts';

/** Several kernels beside several libraries at several workloads, as Markdown. */
export function contendersMarkdown(view: LadderView): string {
  const list = (heading: string, lines: readonly string[]): string =>
    lines.length === 0 ? '' : `## ${heading}\n\n${lines.map((line) => `- ${line}`).join('\n')}`;
  const sections = [
    `# ${describeLadder(view)}`,
    LADDER_LEGEND,
    markdownTable(ladderColumns(view), view.rows.map(ladderCells)),
    '## In detail',
    markdownTable(DETAIL_COLUMNS, detailCells(view)),
    list('Notes', ladderNotes(view)),
    list('Versions', libraryVersions(view)),
    `Recorded ${view.recordedAt}.`,
  ];
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`;
}
