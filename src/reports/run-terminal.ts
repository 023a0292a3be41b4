import type { Timing } from '../core/timing.ts';
import { formatRatio, formatTime } from './format.ts';
import { type Paint, plainPaint } from './paint.ts';
import {
  ABLATION_COLUMNS,
  ADVICE_NOTE,
  ablatedWorkload,
  ablationCells,
  adviceCells,
  adviceColumns,
  describeBudget,
  describeStrategy,
  diffSummary,
  phasesLine,
  vetoLines,
  WORKLOAD_COLUMNS,
  workloadCells,
} from './parts-text.ts';
import {
  changeLines,
  describeConfirmation,
  describeFinding,
  describeWorkload,
  headline,
  kindOf,
  NO_FINDING,
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

const becauseOf = ({ why }: ProgressionRow): string => {
  if (!why) return '–';
  return why.finding === NO_FINDING ? why.pattern : `${why.finding} (${why.evaluationId})`;
};

const cells = (row: ProgressionRow, kind: Timing['kind'] | undefined): string[] => [
  String(row.iteration),
  row.evaluationId,
  row.change,
  becauseOf(row),
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

const tableLines = (columns: readonly Column[], rows: readonly (readonly string[])[]): string[] =>
  rows.length === 0 ? [] : textTable(columns, rows).split('\n');

const sourceLines = ({ sources: { startToBest } }: RunView): string[] =>
  startToBest ? [`sources: ${diffSummary(startToBest)}`] : [];

const workloadLines = ({ objective }: RunView): string[] =>
  objective.workloads.length === 1
    ? []
    : [...tableLines(WORKLOAD_COLUMNS, objective.workloads.map(workloadCells)), ...vetoLines(objective)];

function negativeLines({ reverted, failed }: RunView): string[] {
  const lines = [...reverted, ...failed].map(revertedLine);
  return lines.length > 0 ? lines : ['nothing'];
}

const workloadAdviceLines = ({ workloadAdvice }: RunView): string[] => [
  ...(workloadAdvice.length > 0 ? [ADVICE_NOTE] : []),
  ...workloadAdvice.flatMap((advice) => [
    advice.text,
    ...tableLines(adviceColumns(advice), advice.rows.map(adviceCells)),
  ]),
];

/** The report of a run for a terminal. */
export function runTerminal(view: RunView, paint: Paint = plainPaint): string {
  const sections = [
    paint('bold', `${view.problem.name} on ${view.device.name}, ${describeWorkload(view)}`),
    headline(view),
    `Stopped: ${view.stop ? `${view.stop.reason} (${view.stop.detail})` : 'not yet, or the run died'}. Search: ${describeStrategy(view.objective)}. ${describeBudget(view)}; seed ${view.seed}.`,
    textTable(
      columns(view),
      view.progression.map((row) => cells(row, kindOf(view))),
      (text) => paint('dim', text),
    ),
    section(paint, 'Confirmation', view.confirmations.map(describeConfirmation)),
    section(paint, 'Workloads', workloadLines(view)),
    section(paint, 'What the best changed', [...changeLines(view), ...sourceLines(view)]),
    section(
      paint,
      'What each change of the best is worth: time without it ÷ time of the best',
      view.ablation.length === 0
        ? []
        : [
            ...tableLines(ABLATION_COLUMNS, view.ablation.map(ablationCells)),
            ...[ablatedWorkload(view)].filter((line) => line !== ''),
          ],
    ),
    section(paint, 'Reverted or failed, and why', negativeLines(view)),
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
    section(paint, 'How the best fills the device', workloadAdviceLines(view)),
    section(paint, 'Wall time of the evaluations', [phasesLine(view)]),
    section(paint, 'How to do it again', [view.reproduction]),
  ];
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`;
}
