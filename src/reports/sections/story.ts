import { sum } from '../../core/values.ts';
import { bestSoFarChart } from '../charts/best-so-far-chart.ts';
import { lineageChart, nodeLine } from '../charts/lineage-chart.ts';
import * as doc from '../document.ts';
import { formatFigure, formatKindAndTime, formatMoney } from '../format.ts';
import type { RunView } from '../run-view.ts';
import type { AuthoredView } from '../view/authored.ts';
import type { LineageNode, SpentPoint } from '../view/lineage.ts';
import { evaluationLink, kindOf } from './run-words.ts';

/** What was made from what, and how fast the best was after what had been spent. */
export function storyParts(view: RunView, { lineage, spent }: AuthoredView): doc.Part {
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
