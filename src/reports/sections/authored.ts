import { sum } from '../../core/values.ts';
import type { Said } from '../../store/events.ts';
import { bestSoFarChart } from '../charts/best-so-far-chart.ts';
import { lineageChart, nodeLine } from '../charts/lineage-chart.ts';
import * as doc from '../document.ts';
import { describeWriter } from '../documents/evaluation.ts';
import { describePrediction } from '../feedback.ts';
import { formatCount, formatFigure, formatKindAndTime, formatMoney, formatRatio } from '../format.ts';
import type { RunView } from '../run-view.ts';
import type { AuthoredView, WrittenRow } from '../view/authored.ts';
import type { LineageNode, SpentPoint } from '../view/lineage.ts';
import { armsParts } from './arms.ts';
import { unifiedDiff } from './changes.ts';
import { describeEvidence } from './findings.ts';
import { evaluationLink, kindOf } from './run-words.ts';

/** `12,345 tokens in 3 requests, 0.0123`; `about` where an endpoint did not count. Of an agent process, its time. */
function describeTokens(cost: Pick<AuthoredView, 'tokens' | 'money' | 'requests' | 'seconds'>): string {
  const { tokens, money, requests, seconds } = cost;
  if (seconds !== undefined && tokens.input === 0) {
    const times = requests === 1 ? 'once' : `${requests} times`;
    return `${formatFigure(seconds)} s of wall time, handed in ${times}; its tokens are not known`;
  }
  const about = tokens.isEstimate ? 'about ' : '';
  const cached = tokens.cacheRead > 0 ? `, ${formatFigure(tokens.cacheRead)} of them from a cache` : '';
  const price = money === null ? '' : `, ${formatMoney(money)} in money`;
  const agents =
    seconds === undefined ? '' : `; agents worked ${formatFigure(seconds)} s, and their tokens are not known`;
  return `${about}${formatFigure(tokens.input)} tokens sent${cached}, ${formatFigure(tokens.output)} answered, in ${formatCount(requests, 'request')}${price}${agents}`;
}

/** `step 2 of command: my-agent: from 3f9a…, on bank-conflicts; bubblewrap, network open; at most 10 evaluations, 20 min`. */
export function describeStepBegan(began: Said<'author-step-began'>): string {
  const { step, author, parent, finding, containment, network, evaluations, minutes, rungs } = began;
  const seen = rungs.length > 0 ? `; sees ${rungs.length} rungs` : '';
  const about = finding === 'none' ? '' : `, on ${finding}`;
  return `step ${step} of ${author}: from ${parent}${about}; ${containment}, network ${network}${seen}; at most ${evaluations} evaluations, ${formatFigure(minutes)} min`;
}

/** `step 2 ended: exited, exit code 0, after 4 submissions and 312 s`. */
export function describeStepEnded({
  step,
  end,
  detail,
  seconds,
  submissions,
  survivors,
}: Said<'author-step-ended'>): string {
  const left = survivors > 0 ? `; ended ${survivors} processes that it left` : '';
  return `step ${step} ended: ${end}, ${detail}, after ${formatCount(submissions, 'submission')} and ${formatFigure(seconds)} s${left}`;
}

/** What an author wrote, hoped and got; nothing where nobody wrote. */
export function authoredSection(view: RunView): doc.Section[] {
  const { authored } = view;
  if (!authored) return [];
  const { author, written, refused, redirections } = authored;
  return doc.section('authored', 'What the author wrote', [
    doc.note(
      `${author}: ${describeTokens(authored)}. Hypotheses and hoped ratios are the author's; the other columns are not.`,
    ),
    storyParts(view, authored),
    authored.arms && armsParts(authored.arms),
    written.length > 0 && doc.heading('The attempts, one after the other'),
    written.map(attemptParts),
    doc.titledList(
      'Steps',
      authored.steps.map(({ began, ended }) =>
        [describeStepBegan(began), ended ? describeStepEnded(ended) : 'it was cut off'].join('; '),
      ),
    ),
    doc.titledList('Refused without an evaluation', refusedLines(refused)),
    doc.titledList(
      'No further',
      redirections.map(({ step, reason }) => `${reason}: ${step}`),
    ),
  ]);
}

/** A line for each reason: `no-answer, 3 requests (5, 6, 7): …`, as the first of them was told. */
function refusedLines(refused: AuthoredView['refused']): string[] {
  return [...Map.groupBy(refused, ({ code }) => code)].map(([code, of]) => {
    const numbers = of.map(({ request }) => request);
    const shown = numbers.slice(0, MOST_NUMBERS).join(', ');
    const which = numbers.length > MOST_NUMBERS ? `${shown}, …` : shown;
    const count = numbers.length === 1 ? `request ${which}` : `${numbers.length} requests (${which})`;
    return `${code}, ${count}: ${of[0]!.reason.split('\n')[0]}`;
  });
}

const MOST_NUMBERS = 6;

function diffOf({ evaluationId, kernel, parent, diff }: WrittenRow): doc.Part {
  if (!diff || diff.files.length === 0) return null;
  return doc.fold(`${evaluationId}: ${parent} → ${kernel}`, [
    doc.codeBlock('diff', unifiedDiff(parent, kernel, diff.files)),
  ]);
}

/** What it was, hoped, got, rests on and cost. */
function attemptParts(row: WrittenRow): doc.Part {
  const { iteration, kernel, parent, decision, status, author } = row;
  const gain = row.ratioToParent === null ? status : `${formatRatio(row.ratioToParent)} the speed of ${parent}`;
  return [
    doc.heading([
      `${iteration}. ${kernel}, from ${parent}: ${gain}, ${decision ?? 'no decision'} (`,
      evaluationLink(row.evaluationId),
      ')',
    ]),
    doc.list([{ term: 'by', text: `${author}, ${row.mode}` }, ...attemptItems(row)]),
    diffOf(row),
  ];
}

/** Parts that nobody said are left out. */
export function attemptItems(row: WrittenRow): doc.Item[] {
  const { finding, evidence, hypothesis, levers, reason, writer, settings, cost, status, counters } = row;
  const after = status === 'passed' ? `; after it: ${afterwards(row)}` : '';
  const { count, best } = settings;
  const kept: doc.Inline = best === null ? ', none was kept' : [', kept: ', evaluationLink(best)];
  return [
    doc.fact('worked on', finding !== 'none' && `${finding}: ${evidence}${after}`),
    doc.fact('hypothesis', hypothesis || 'none'),
    doc.fact('changes', levers.join('; ')),
    doc.fact('prediction', scored(row)),
    doc.fact('outcome', reason),
    doc.fact('evidence', status === 'passed' && counters.length > 0 && `against ${row.parent}: ${counters.join('; ')}`),
    doc.fact('who wrote it', writer && describeWriter(writer)),
    doc.fact('settings', count > 0 && [`${count} tried then`, kept]),
    doc.fact('cost', describeTokens(cost)),
  ].filter((item) => item !== null);
}

/** What is left of the finding, and what limits the kernel then: `CTAs ÷ SMs 0.55 (below 1); largest now: narrow-loads`. */
function afterwards({ evidenceAfter, findingsAfter }: WrittenRow): string {
  const left = evidenceAfter === null ? 'gone' : describeEvidence({ evidence: evidenceAfter });
  return `${left}; largest now: ${findingsAfter.slice(0, 3).join(', ') || 'none'}`;
}

function scored({ predictedRatio: hoped, ratioToParent: got, status }: WrittenRow): string {
  if (hoped !== null && got !== null) return describePrediction(hoped, got);
  return `hoped ${formatRatio(hoped)}, got ${got === null ? status : formatRatio(got)}`;
}

/** The same of one evaluation, for `show`. */
export const writtenParts = (row: WrittenRow): doc.Part => [doc.list(attemptItems(row)), diffOf(row)];

/** What was made from what, and how fast the best was after what had been spent. */
function storyParts(view: RunView, { lineage, spent }: AuthoredView): doc.Part {
  const { nodes, omitted } = lineage;
  const kind = kindOf(view);
  return [
    nodes.length > 1 && doc.heading('Lineage'),
    kind &&
      doc.figure('lineage', `Kernels and what they were made from, ${kind}`, lineageChart(nodes, omitted, kind), {
        legend: {},
        data: doc.codeBlock('text', treeText(nodes, omitted)),
      }),
    spentParts(view, spent),
  ];
}

/** Two spaces for each generation. */
const treeText = (nodes: readonly LineageNode[], omitted: number): string =>
  [
    ...nodes.map((node) => `${'  '.repeat(node.depth)}${nodeLine(node)}`),
    ...(omitted > 0 ? [`${omitted} more that led nowhere`] : []),
  ].join('\n');

function spentParts(view: RunView, spent: readonly SpentPoint[]): doc.Part {
  const kind = kindOf(view);
  if (!kind || spent.length === 0) return null;
  const drawn = (by: string, budgets: readonly string[], of: (point: SpentPoint) => number) => {
    const points = spent.map((point) => ({ spent: of(point), medianNs: point.medianNs }));
    const total = sum(view.ledger.lines.flatMap(({ name, used }) => (budgets.includes(name) ? used : [])));
    return bestSoFarChart({
      ...{ kind, workload: view.workload.name, by, from: 0, mostTicks: 6 },
      remark: `by ${by}`,
      description: `${spent.length} times kept; the table has the same figures.`,
      searches: [{ points, total, style: 'best-so-far' }],
    });
  };
  const hasMoney = spent.some(({ money }) => money !== null && money > 0);
  const table = doc.table('Best so far by what was spent', spent, [
    doc.names('Evaluation', ({ evaluationId }) => evaluationLink(evaluationId)),
    doc.names('Kernel', ({ kernel }) => kernel),
    doc.figures('Time', ({ medianNs }) => formatKindAndTime({ kind, medianNs })),
    doc.figures('Evaluations', ({ evaluations }) => evaluations),
    doc.figures('Minutes', ({ minutes }) => formatFigure(minutes)),
    hasMoney && doc.figures('Money', ({ money }) => formatMoney(money)),
  ]);
  const byTime = drawn('wall time in minutes', ['wall time'], ({ minutes }) => minutes);
  const byMoney = drawn('money, for GPU time and tokens', ['money', 'money for tokens'], ({ money }) => money ?? 0);
  return [
    doc.heading('Best so far, by what was spent'),
    doc.figure('best-by-time', 'Best time so far by wall time', byTime),
    hasMoney && doc.figure('best-by-money', 'Best time so far by money', byMoney),
    table,
  ];
}
