import type { AuditReport, CheckReport, MutantReport } from '../evaluation/audit.ts';
import { formatFigure } from './format.ts';
import { type Paint, plainPaint } from './paint.ts';
import { wrap } from './print/wrap.ts';
import { textTable } from './table.ts';

const VERDICT_STYLES = { caught: 'green', slipped: 'red', equivalent: 'dim', 'not-applicable': 'dim' } as const;

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
  return Number.isFinite(largest) ? formatFigure(largest) : 'not finite';
}

function countOf({ results }: MutantReport, outcome: MutantReport['results'][number]['outcome']): string {
  return String(results.filter((result) => result.outcome === outcome).length);
}

const right = (title: string) => ({ title, align: 'right' as const });

function mutantTable(mutants: readonly MutantReport[], paint: Paint): string[] {
  const rows = mutants.map((mutant) => [
    mutant.verdict,
    mutant.id,
    countOf(mutant, 'caught'),
    countOf(mutant, 'slipped'),
    countOf(mutant, 'same'),
    clearest(mutant),
  ]);
  const columns = [
    { title: 'verdict' },
    { title: 'wrong kernel' },
    right('caught by'),
    right('passes'),
    right('same'),
    right('error ÷ tolerance'),
  ];
  return textTable(columns, rows, (text) => paint('bold', text))
    .split('\n')
    .map((line, index) => {
      const mutant = mutants[index - 1];
      return mutant ? paint(VERDICT_STYLES[mutant.verdict], mutant.verdict) + line.slice(mutant.verdict.length) : line;
    });
}

/** `B=2, H=3 · normal inputs` as `B=2,H=3 normal`: with three columns of figures it fits a terminal. */
const shortName = (check: string): string => check.replaceAll(', ', ',').replace(/ · (.*) inputs$/, ' $1');

/** The largest share of its outputs. */
function shareOf({ outputs }: CheckReport): string {
  const shares = outputs.map(({ share }) => share).filter((share) => share !== null);
  return shares.length === 0 ? '–' : formatShare(Math.max(...shares));
}

const formatShare = (share: number): string =>
  share === 0 ? '0' : share < 0.001 ? share.toExponential(0) : formatFigure(share);

function checkTable(checks: readonly CheckReport[], paint: Paint): string[] {
  const rows = checks.map((check) => [
    shortName(check.check),
    String(check.caught),
    String(check.accepted.length),
    shareOf(check),
    check.blind === null ? '' : 'blind',
  ]);
  const columns = [{ title: 'check' }, right('catches'), right('passes'), right('tolerance ÷ spread'), { title: '' }];
  return textTable(columns, rows, (text) => paint('bold', text)).split('\n');
}

/** What a problem's checks would catch, for a terminal. */
export function auditTerminal(report: AuditReport, paint: Paint = plainPaint): string {
  const { checks, sight, mutants, letThrough, falseAlarms, blindChecks } = report;
  const lines = [
    `${paint('bold', report.problem)}: ${checks.length} checks, seed ${report.seed}`,
    '',
    ...mutantTable(mutants, paint),
    '',
    ...checkTable(sight, paint),
    '',
  ];
  for (const { id, title, verdict } of mutants) {
    if (verdict === 'slipped') lines.push(...wrap(`${id}: ${title}.`));
    if (verdict === 'equivalent') lines.push(...wrap(`${id}: ${title}; on every check these are the right results.`));
  }
  for (const { check, blind } of sight) {
    if (blind !== null) lines.push(...wrap(`Blind, ${shortName(check)}: ${blind}.`));
  }
  if (falseAlarms.length > 0) lines.push('False alarms, where even the right output is refused:');
  for (const check of falseAlarms) lines.push(`  ${shortName(check)}`);
  if (letThrough.length > 0) {
    lines.push(...wrap(`Would slip through: ${letThrough.join(', ')}.`).map((line) => paint('red', line)));
    lines.push('Add check shapes or generators that tell them apart.');
  }
  if (blindChecks.length > 0) {
    lines.push(paint('red', `Blind checks: ${blindChecks.length} of ${checks.length}; nothing is judged by them.`));
    lines.push('Tighten the comparison, or give them inputs whose results differ more.');
  }
  if (report.ok) lines.push(paint('green', 'No wrong kernel would slip through.'));
  return `${lines.join('\n')}\n`;
}
