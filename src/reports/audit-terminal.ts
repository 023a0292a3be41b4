import type { AuditReport, MutantReport } from '../evaluation/audit.ts';
import { formatFigure } from './format.ts';
import { type Paint, plainPaint } from './paint.ts';
import { textTable } from './table.ts';

const VERDICT_STYLES = { caught: 'green', slipped: 'red', 'not-applicable': 'dim' } as const;

/** How clearly the check that caught it best did so: the larger error ratio of its checks. */
function clearest({ results }: MutantReport): string {
  const ratios = results
    .filter(({ outcome }) => outcome === 'caught')
    .map(({ worstErrorRatio, rmsErrorRatio }) =>
      worstErrorRatio === null || rmsErrorRatio === null
        ? Number.POSITIVE_INFINITY
        : Math.max(worstErrorRatio, rmsErrorRatio),
    );
  if (ratios.length === 0) return '–';
  const largest = Math.max(...ratios);
  return Number.isFinite(largest) ? `${formatFigure(largest)} tolerances` : 'not finite';
}

function countOf({ results }: MutantReport, outcome: MutantReport['results'][number]['outcome']): string {
  return String(results.filter((result) => result.outcome === outcome).length);
}

/** What a problem's checks would catch, for a terminal. */
export function auditTerminal(report: AuditReport, paint: Paint = plainPaint): string {
  const rows = report.mutants.map((mutant) => [
    mutant.verdict,
    mutant.id,
    mutant.title,
    countOf(mutant, 'caught'),
    countOf(mutant, 'slipped'),
    clearest(mutant),
  ]);
  const columns = [
    { title: 'verdict' },
    { title: 'wrong kernel' },
    { title: 'what it does' },
    { title: 'caught by', align: 'right' as const },
    { title: 'let through by', align: 'right' as const },
    { title: 'largest error' },
  ];
  const table = textTable(columns, rows, (text) => paint('bold', text))
    .split('\n')
    .map((line, index) => {
      const mutant = report.mutants[index - 1];
      return mutant ? paint(VERDICT_STYLES[mutant.verdict], mutant.verdict) + line.slice(mutant.verdict.length) : line;
    });
  const lines = [
    `${paint('bold', report.problem)}: ${report.checks.length} checks, seed ${report.seed}`,
    '',
    ...table,
    '',
  ];
  if (report.falseAlarms.length > 0)
    lines.push(`False alarms, where even the right output is refused: ${report.falseAlarms.join('; ')}`);
  lines.push(
    report.letThrough.length === 0
      ? paint('green', 'No wrong kernel would slip through.')
      : paint(
          'red',
          `Would slip through: ${report.letThrough.join(', ')}. Add check shapes or generators that tell them apart.`,
        ),
  );
  return `${lines.join('\n')}\n`;
}
