import type { Finding } from '../../core/finding.ts';
import { formatRatio } from '../format.ts';
import { type Markup, markup } from '../markup.ts';
import { diffSummary, LEDGER_COLUMNS, ledgerCells, phasesLine } from '../parts-text.ts';
import { changeLines, describeEvidence, describeGain } from '../run-text.ts';
import type { FindingsPart, RunView } from '../run-view.ts';
import type { FileDiff, SourceDiff } from '../view/source-diffs.ts';
import { details, evaluationLink, list, note, type Row, type Section, scrollBox, table } from './parts.ts';

/** Sections about what the result rests on. */

const findingMarkup = (finding: Finding): Markup => markup`<div class="finding">
<h4>${finding.title}</h4>
<p class="muted"><code>${finding.id}</code>, ${describeGain(finding)}</p>
<dl><dt>Evidence</dt><dd>${describeEvidence(finding)}</dd><dt>Arithmetic</dt><dd>${finding.arithmetic}</dd><dt>Advice</dt><dd>${finding.advice}</dd></dl>
</div>
`;

function findingsPart(title: string, part: FindingsPart | null): Markup {
  if (!part) return markup`<div><h3>${title}</h3>${note('Nothing was evaluated.')}</div>`;
  const { evaluationId, findings } = part;
  return markup`<div><h3>${title}, ${evaluationLink(evaluationId)}</h3>${
    findings.length === 0 ? note('No rule fired.') : findings.map(findingMarkup)
  }</div>`;
}

export const findingsSection = ({ findings }: RunView): Section => ({
  id: 'findings',
  title: 'Findings before and after',
  body: [
    note('What limits the kernel, with the counters that say so. Gains are estimates and don’t multiply.'),
    markup`<div class="pair">${findingsPart('Start', findings.before)}${findingsPart('Best', findings.after)}</div>`,
  ],
});

const CLASSES: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed', '\\': 'place' };

const diffLine = (line: string): Markup => {
  const className = CLASSES[line[0] ?? ' '];
  return markup`<span${className && markup` class="${className}"`}>${line === '' ? ' ' : line}</span>`;
};

const fileMarkup = ({ file, hunks }: FileDiff): Markup =>
  markup`<span class="file">${file}</span>${hunks.map(
    ({ oldStart, oldLines, newStart, newLines, lines }) =>
      markup`<span class="place">@@ -${oldStart},${oldLines} +${newStart},${newLines} @@</span>${lines.map(diffLine)}`,
  )}`;

function diffMarkup(diff: SourceDiff, title: string | Markup): Markup {
  const summary = markup`${title}: <span class="muted">${diffSummary(diff)}</span>`;
  if (diff.files.length === 0) return markup`<p class="wrap">${summary}</p>`;
  const label = `Sources of ${diff.from.evaluationId} and ${diff.to.evaluationId} compared`;
  return details(summary, scrollBox(label, markup`<pre class="diff">${diff.files.map(fileMarkup)}</pre>`));
}

export function changesSection(view: RunView): Section {
  const { startToBest, kept } = view.sources;
  const lines = changeLines(view);
  return {
    id: 'changes',
    title: 'What changed in the code',
    body: [
      lines.length > 0 ? list(lines) : note('There is no best.'),
      startToBest && diffMarkup(startToBest, 'Start to best'),
      kept.length > 0 && markup`<h3>Kept changes, in order</h3>`,
      kept.length > 0 &&
        markup`<div>${kept.map((diff) => diffMarkup(diff, markup`${evaluationLink(diff.to.evaluationId)} ${diff.change}`))}</div>`,
    ],
  };
}

const OUTCOME_COLUMNS = [
  { title: 'Evaluation' },
  { title: 'Change' },
  { title: 'Result' },
  { title: '× previous best', align: 'right' as const },
  { title: 'Why it was tried' },
  { title: 'Why it was not kept' },
];

export function negativeSection({ reverted, failed, abandoned }: RunView): Section {
  const rows = [...reverted, ...failed].map(
    (row): Row => ({
      cells: [
        evaluationLink(row.evaluationId),
        row.change,
        row.status,
        formatRatio(row.ratioToPreviousBest),
        row.why ? `${row.why.finding}: ${row.why.evidence}` : '–',
        row.reason,
      ],
    }),
  );
  const givenUp = abandoned.map(({ moveKey, why, reason }) => `${moveKey} (${why}): ${reason}`);
  return {
    id: 'negative',
    title: 'What did not work',
    body: [
      rows.length > 0
        ? table('What did not work', OUTCOME_COLUMNS, rows)
        : note('Nothing was reverted and nothing failed.'),
      givenUp.length > 0 && markup`<h3>Given up</h3>${list(givenUp)}`,
    ],
  };
}

export function ledgerSection(view: RunView): Section {
  const rows = ledgerCells(view).map((cells, index): Row => {
    const { used, limit } = view.ledger.lines[index]!;
    const share = limit === null ? null : Math.min(100, Math.round((100 * used) / limit));
    const meter = share === null ? '–' : markup`<span class="meter"><i style="width:${share}%"></i></span>`;
    return { cells: [...cells, meter] };
  });
  return {
    id: 'ledger',
    title: 'Ledger',
    body: [
      table('Budgets and what was used of them', [...LEDGER_COLUMNS, { title: 'Share' }], rows),
      note(`Wall time of the evaluations: ${phasesLine(view)}.`),
      view.stop && markup`<p>Stopped: <strong>${view.stop.reason}</strong>: ${view.stop.detail}.</p>`,
    ],
  };
}

export const environmentSection = ({ environment, device, seed }: RunView): Section => ({
  id: 'environment',
  title: 'Environment',
  body: [
    table(
      'Environment',
      [{ title: 'What' }, { title: 'Which' }],
      [
        { cells: ['device', `${device.name} (${device.id})`] },
        { cells: ['seed', String(seed)] },
        ...Object.entries(environment).map((entry): Row => ({ cells: entry })),
      ],
    ),
  ],
});

export const reproductionSection = ({ reproduction }: RunView): Section => ({
  id: 'reproduce',
  title: 'How to do it again',
  body: [
    scrollBox('Command', markup`<pre class="command"><code>${reproduction}</code></pre>`),
    note(
      'Predictions repeat bit by bit; measured times vary within their intervals, and may lead the search elsewhere.',
    ),
  ],
});
