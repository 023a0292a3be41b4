import type { Finding } from '../core/finding.ts';
import { describeBounds, formatParameters, formatRatio } from './format.ts';
import { escapeMarkup } from './markup.ts';
import {
  ABLATION_COLUMNS,
  ADVICE_NOTE,
  ablationCells,
  ablationNote,
  adviceCells,
  adviceColumns,
  describeBudget,
  describeStrategy,
  diffSummary,
  LEDGER_COLUMNS,
  ledgerCells,
  OPTION_COLUMNS,
  OPTIONS_NOTE,
  optionCells,
  optionsTitle,
  phasesLine,
  rooflineLines,
  shortenOptions,
  unifiedDiff,
  vetoLines,
  WORKLOAD_COLUMNS,
  workloadCells,
} from './parts-text.ts';
import { plainText } from './plain-text.ts';
import {
  changeLines,
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
import type { OptionsTable } from './view/options-tables.ts';
import type { SourceDiff } from './view/source-diffs.ts';

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
    `Search: ${describeStrategy(view.objective)}`,
    `Budget: ${describeBudget(view)}; goal: ${view.goal?.text ?? 'none'}; seed ${view.seed}`,
  ];
  if (view.best)
    lines.push(
      `Best: ${view.best.candidate.kernel} (${formatParameters(view.best.candidate.parameters) || 'no parameters'}), candidate \`${view.best.candidate.id}\`, ${view.best.evaluationId}`,
    );
  if (view.bounds) lines.push(`Bounds: ${describeBounds(view.bounds)} (${view.start?.evaluationId ?? 'start'})`);
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

/** `title` and `body`, or nothing where the body is empty. */
const section = (title: string, body: string): string => (body === '' ? '' : `## ${title}\n\n${body}`);

const paragraphs = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n\n');

const folded = (summary: string, body: string): string =>
  `<details>\n<summary>${summary}</summary>\n\n${body}\n\n</details>`;

const optionsOf = ({ options }: OptionsTable): string => markdownTable(OPTION_COLUMNS, options.map(optionCells));

/** The last turn's table open, earlier ones folded. */
function optionsSection({ options }: RunView): string {
  const last = options.at(-1);
  if (!last) return '';
  const earlier = options
    .slice(0, -1)
    .map(shortenOptions)
    .map((table) => folded(escapeMarkup(optionsTitle(table)), optionsOf(table)));
  return paragraphs([OPTIONS_NOTE, `The last turn, ${optionsTitle(last)}:`, optionsOf(last), ...earlier]);
}

/** Fences longer than any run of backticks in the text, so that a source can't end its own block. */
function codeBlock(language: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

const diffPart = (diff: SourceDiff, title: string): string => {
  const summary = `${title}: ${diffSummary(diff)}`;
  return diff.files.length === 0 ? summary : folded(escapeMarkup(summary), codeBlock('diff', unifiedDiff(diff)));
};

function sourcesSection({ sources }: RunView): string {
  const { startToBest, kept } = sources;
  return paragraphs([
    startToBest ? diffPart(startToBest, 'Start to best') : '',
    ...kept.map((diff) => diffPart(diff, `${diff.to.evaluationId}, ${diff.change}`)),
  ]);
}

function workloadsSection({ objective }: RunView): string {
  if (objective.workloads.length === 1) return '';
  return paragraphs([
    'The objective is the geometric mean of speed-ups, weighted; a workload that gets more than 2 % slower vetoes.',
    markdownTable(WORKLOAD_COLUMNS, objective.workloads.map(workloadCells)),
    bullets(vetoLines(objective), 'No candidate was vetoed.'),
  ]);
}

const adviceSection = ({ workloadAdvice }: RunView): string =>
  paragraphs([
    ...(workloadAdvice.length > 0 ? [ADVICE_NOTE] : []),
    ...workloadAdvice.map((advice) =>
      paragraphs([advice.text, markdownTable(adviceColumns(advice), advice.rows.map(adviceCells))]),
    ),
  ]);

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
      ? `## Confirmation\n\n${bullets(view.confirmations.map(describeConfirmation), '')}`
      : '',
    '## What the best changed',
    bullets(changeLines(view), 'There is no best.'),
    stepsTable(view),
    section(
      'What each change of the best is worth',
      view.ablation.length > 0
        ? paragraphs([ablationNote(view), markdownTable(ABLATION_COLUMNS, view.ablation.map(ablationCells))])
        : '',
    ),
    section('Sources', sourcesSection(view)),
    section('Workloads', workloadsSection(view)),
    section('Roofline', view.roofline ? bullets(rooflineLines(view.roofline), '') : ''),
    section('Options', optionsSection(view)),
    '## What failed or was reverted, and why',
    bullets([...view.reverted, ...view.failed].map(revertedLine), 'Nothing.'),
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
    section('How the best fills the device', adviceSection(view)),
    section(
      'Ledger',
      paragraphs([
        markdownTable(LEDGER_COLUMNS, ledgerCells(view)),
        `Wall time of the evaluations: ${phasesLine(view)}.`,
      ]),
    ),
    '## Environment',
    bullets(
      Object.entries(view.environment).map(([name, value]) => `${name}: ${value}`),
      'Not recorded.',
    ),
    section('How to do it again', codeBlock('sh', view.reproduction)),
    `Run ${view.runId}, ${view.startedAt} to ${view.finishedAt ?? '–'}.`,
  ];
  return plainText(`${sections.filter((section) => section !== '').join('\n\n')}\n`);
}
