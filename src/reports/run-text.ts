import type { Finding } from '../core/finding.ts';
import { formatFigure, formatInterval, formatNs, formatParameters, formatRatio } from './format.ts';
import type { ProgressionRow, RunView, TimeFigure } from './run-view.ts';
import type { Column } from './table.ts';

/** Words and tables that the terminal and the Markdown report share. */

export const PROGRESSION_COLUMNS: readonly Column[] = [
  { title: 'Iteration', align: 'right' },
  { title: 'Evaluation' },
  { title: 'Change' },
  { title: 'Why' },
  { title: 'Result' },
  { title: 'Time', align: 'right' },
  { title: 'Interval' },
  { title: '× previous best', align: 'right' },
  { title: '× start', align: 'right' },
  { title: 'Decision' },
];

/** Heading of the time column says the kind, so that no figure in it can be read as the other kind. */
export function progressionColumns(view: RunView): readonly Column[] {
  const kind = (view.best ?? view.start)?.kind;
  if (!kind) return PROGRESSION_COLUMNS;
  return PROGRESSION_COLUMNS.map((column) =>
    column.title === 'Time' ? { ...column, title: `${kind === 'predicted' ? 'Predicted' : 'Measured'} time` } : column,
  );
}

export function progressionCells(row: ProgressionRow): string[] {
  return [
    String(row.iteration),
    row.evaluationId,
    row.change,
    row.why ? `${row.why.finding} of ${row.why.evaluationId}: ${row.why.evidence}` : 'where every run begins',
    row.status,
    row.time ? formatNs(row.time.medianNs) : '–',
    row.time ? formatInterval(row.time.intervalNs) : '–',
    formatRatio(row.ratioToPreviousBest),
    formatRatio(row.ratioToStart),
    row.decision ?? '–',
  ];
}

/** `predicted 870 µs [610 µs … 1.2 ms] (e7)`. */
export const describeTime = (time: TimeFigure): string =>
  `${time.kind} ${formatNs(time.medianNs)} ${formatInterval(time.intervalNs)} (${time.evaluationId})`;

/** The run's result in one sentence. */
export function headline(view: RunView): string {
  const { start, best, speedup } = view;
  if (!start) return 'The start has no valid time, so there is nothing to improve on.';
  if (!best || speedup === null) return `The start: ${describeTime(start)}.`;
  if (best.evaluationId === start.evaluationId)
    return `No change was kept; the start remains the best: ${describeTime(start)}.`;
  return `${best.kind} ${speedup.toFixed(2)}× faster than the start: ${describeTime(start)} → ${describeTime(best)}.`;
}

export function describeBudget(view: RunView): string {
  const { maximumEvaluations, maximumMinutes } = view.budgets;
  const evaluations =
    maximumEvaluations === null
      ? `${view.evaluationsUsed} evaluations`
      : `${view.evaluationsUsed} of ${maximumEvaluations} evaluations`;
  return maximumMinutes === null ? evaluations : `${evaluations}, at most ${maximumMinutes} minutes`;
}

export function describeWorkload(view: RunView): string {
  const { name, dimensions, cache } = view.workload;
  return `${name} (${formatParameters(dimensions)}; ${cache} cache)`;
}

/** The counter evidence of a finding, threshold included. */
export const describeEvidence = (finding: Finding): string =>
  finding.evidence
    .map(({ counter, value, unit, threshold, comparison, where }) => {
      const figure = `${formatFigure(value)}${unit ? ` ${unit}` : ''}`;
      return `${counter} ${figure} (${comparison} ${formatFigure(threshold)})${where ? ` in ${where}` : ''}`;
    })
    .join('; ');

export const describeFinding = (finding: Finding): string =>
  `${finding.title} [${finding.id}], estimated gain ${finding.estimatedSpeedup.toFixed(2)}×: ${describeEvidence(finding)}`;

/** What the best changed against the start, one line each. */
export function changeLines(view: RunView): string[] {
  const { changes } = view;
  if (!changes) return [];
  const lines: string[] = [];
  if (changes.kernel) lines.push(`kernel: ${changes.kernel.from} → ${changes.kernel.to}`);
  for (const { name, from, to } of changes.parameters) lines.push(`${name}: ${from ?? '(none)'} → ${to ?? '(none)'}`);
  return lines.length > 0 ? lines : ['nothing: the start is the best'];
}

export const revertedLine = (row: ProgressionRow): string => {
  const why = row.why ? `tried for ${row.why.finding} (${row.why.evaluationId})` : 'the start';
  return `${row.evaluationId}: ${row.change}: ${why}: ${row.reason}`;
};
