import type { Finding } from '../core/finding.ts';
import { formatNs, formatParameters, formatRatio } from './format.ts';
import {
  changeLines,
  describeBudget,
  describeConfirmation,
  describeFinding,
  describeWorkload,
  headline,
  kindNote,
  progressionColumns,
  revertedLine,
} from './run-text.ts';
import type { RunView } from './run-view.ts';
import { markdownTable } from './table.ts';

const bullets = (lines: readonly string[], none: string): string =>
  lines.length === 0 ? none : lines.map((line) => `- ${line}`).join('\n');

function findingsSection(title: string, part: { evaluationId: string; findings: Finding[] } | null): string {
  if (!part) return `**${title}**: nothing was evaluated.`;
  return `**${title}** (${part.evaluationId})\n\n${bullets(part.findings.map(describeFinding), 'No rule fired.')}`;
}

function summary(view: RunView): string {
  const lines = [
    `Problem: ${view.problem.name}, workload ${describeWorkload(view)}`,
    `Device: ${view.device.name} (\`${view.device.id}\`)`,
    `Stopped: ${view.stop ? `${view.stop.reason}: ${view.stop.detail}` : 'the log has no end: the run is still going, or died'}`,
    `Budget: ${describeBudget(view)}; goal: ${view.goal?.text ?? 'none'}; seed ${view.seed}`,
  ];
  if (view.best)
    lines.push(
      `Best: ${view.best.candidate.kernel} (${formatParameters(view.best.candidate.parameters) || 'no parameters'}), candidate \`${view.best.candidate.id}\`, ${view.best.evaluationId}`,
    );
  if (view.bounds)
    lines.push(
      `Bounds: no kernel can be faster than ${formatNs(view.bounds.vetoNs)}; attainable ${formatNs(view.bounds.attainableNs)} (${view.start?.evaluationId ?? 'start'})`,
    );
  if (view.tornLastLine) lines.push('The last line of the event log was cut off; it is left out.');
  return bullets(lines, '');
}

function stepsTable(view: RunView): string {
  const steps = view.changes?.steps ?? [];
  if (steps.length === 0) return 'No change was kept.';
  return markdownTable(
    [{ title: 'Evaluation' }, { title: 'Kept change' }, { title: '× previous best', align: 'right' }],
    steps.map(({ evaluationId, change, ratio }) => [evaluationId, change, formatRatio(ratio)]),
  );
}

/** The Markdown report of a run. `plotFile`, when given, is the SVG beside it. */
export function runMarkdown(view: RunView, plotFile?: string): string {
  const columns = progressionColumns(view);
  const sections = [
    `# ${view.problem.name} on ${view.device.name}`,
    headline(view),
    kindNote(view),
    summary(view),
    plotFile ? `![${view.best?.kind ?? ''} time by evaluation](${plotFile})` : '',
    '## Progression',
    markdownTable(
      columns,
      view.progression.map((row) => columns.map(({ cell }) => cell(row))),
    ),
    view.confirmations.length > 0
      ? `## Confirmation on fresh blocks\n\n${bullets(view.confirmations.map(describeConfirmation), '')}`
      : '',
    '## What the best changed',
    bullets(changeLines(view), 'There is no best.'),
    stepsTable(view),
    '## What failed or was reverted, and why',
    bullets(view.reverted.map(revertedLine), 'Nothing.'),
    view.abandoned.length > 0
      ? `Given up:\n\n${bullets(
          view.abandoned.map(({ moveKey, reason }) => `${moveKey}: ${reason}`),
          '',
        )}`
      : '',
    '## Findings before and after',
    findingsSection('Start', view.findings.before),
    findingsSection('Best', view.findings.after),
    view.advice.length > 0
      ? `## Advice beyond the moves at hand\n\n${bullets(
          view.advice.map(({ text, finding, evaluationId }) => `${finding} (${evaluationId}): ${text}`),
          '',
        )}`
      : '',
    '## Environment',
    bullets(
      Object.entries(view.environment).map(([name, value]) => `${name}: ${value}`),
      'Not recorded.',
    ),
    `Run ${view.runId}, ${view.startedAt} to ${view.finishedAt ?? '–'}.`,
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}
