import type { Timing } from '../core/timing.ts';
import { formatRatio, formatTime } from './format.ts';
import { type Paint, plainPaint } from './paint.ts';
import {
  changeLines,
  describeBudget,
  describeConfirmation,
  describeFinding,
  describeWorkload,
  headline,
  kindOf,
  revertedLine,
  verdictCell,
} from './run-text.ts';
import type { ProgressionRow, RunView } from './run-view.ts';
import { type Column, textTable } from './table.ts';

/** The terminal's table leaves out what the next line's prose says, to stay within a usual window. */
function columns(view: RunView): Column[] {
  const kind = kindOf(view) ?? 'predicted';
  return [
    { title: '#', align: 'right' },
    { title: 'eval' },
    { title: 'change' },
    { title: 'because of' },
    { title: 'result' },
    { title: `${kind} time`, align: 'right' },
    { title: '× best', align: 'right' },
    ...(kind === 'measured' ? [{ title: 'verdict' }] : []),
    { title: '× start', align: 'right' },
    { title: 'decision' },
  ];
}

const cells = (row: ProgressionRow, kind: Timing['kind'] | undefined): string[] => [
  String(row.iteration),
  row.evaluationId,
  row.change,
  row.why ? `${row.why.finding} (${row.why.evaluationId})` : '–',
  row.status,
  row.time ? formatTime(row.time.kind, row.time.medianNs) : '–',
  formatRatio(row.ratioToPreviousBest),
  ...(kind === 'measured' ? [verdictCell(row)] : []),
  formatRatio(row.ratioToStart),
  row.decision ?? '–',
];

const indent = (lines: readonly string[]): string => lines.map((line) => `  ${line}`).join('\n');

function section(paint: Paint, title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${paint('bold', title)}\n${indent(lines)}`;
}

/** The report of a run for a terminal. */
export function runTerminal(view: RunView, paint: Paint = plainPaint): string {
  const sections = [
    paint('bold', `${view.problem.name} on ${view.device.name}, ${describeWorkload(view)}`),
    headline(view),
    `Stopped: ${view.stop ? `${view.stop.reason} (${view.stop.detail})` : 'not yet, or the run died'}. ${describeBudget(view)}; seed ${view.seed}.`,
    textTable(
      columns(view),
      view.progression.map((row) => cells(row, kindOf(view))),
      (text) => paint('dim', text),
    ),
    section(paint, 'Confirmation on fresh blocks', view.confirmations.map(describeConfirmation)),
    section(paint, 'What the best changed', changeLines(view)),
    section(paint, 'Reverted, and why', view.reverted.length > 0 ? view.reverted.map(revertedLine) : ['nothing']),
    section(
      paint,
      'Given up',
      view.abandoned.map(({ moveKey, reason }) => `${moveKey}: ${reason}`),
    ),
    section(
      paint,
      `Findings of the start (${view.findings.before?.evaluationId ?? '–'})`,
      (view.findings.before?.findings ?? []).map(describeFinding),
    ),
    section(
      paint,
      `Findings of the best (${view.findings.after?.evaluationId ?? '–'})`,
      (view.findings.after?.findings ?? []).map(describeFinding),
    ),
    section(
      paint,
      'Advice beyond the moves at hand',
      view.advice.map(({ finding, text }) => `${finding}: ${text}`),
    ),
  ];
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`;
}
