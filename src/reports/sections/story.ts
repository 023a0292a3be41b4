import { bestSoFarChart } from '../charts/best-so-far-chart.ts';
import { lineageChart, nodeLine } from '../charts/lineage-chart.ts';
import * as doc from '../document.ts';
import { formatFigure, formatKindAndTime } from '../format.ts';
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
  const total = (name: string): number => view.ledger.lines.find((line) => line.name === name)?.used ?? 0;
  const drawn = (by: string, all: number, of: (point: SpentPoint) => number) =>
    bestSoFarChart({
      ...{ kind, workload: view.workload.name, by, from: 0, mostTicks: 6 },
      remark: `by ${by}`,
      description: `${spent.length} times kept; the table has the same figures.`,
      searches: [
        {
          points: spent.map((point) => ({ spent: of(point), medianNs: point.medianNs })),
          total: all,
          style: 'best-so-far',
        },
      ],
    });
  const hasMoney = spent.some(({ money }) => money !== null && money > 0);
  const table = doc.table('Best so far by what was spent', spent, [
    doc.names('Evaluation', ({ evaluationId }) => evaluationLink(evaluationId)),
    doc.names('Kernel', ({ kernel }) => kernel),
    doc.figures('Time', ({ medianNs }) => formatKindAndTime({ kind, medianNs })),
    doc.figures('Evaluations', ({ evaluations }) => evaluations),
    doc.figures('Minutes', ({ minutes }) => formatFigure(minutes)),
    hasMoney && doc.figures('Money', ({ money }) => (money === null ? '–' : money.toFixed(4))),
  ]);
  const byTime = drawn('wall time in minutes', total('wall time'), ({ minutes }) => minutes);
  return [
    doc.heading('Best so far, by what was spent'),
    doc.figure('best-by-time', 'Best time so far by wall time', byTime),
    hasMoney &&
      doc.figure(
        'best-by-money',
        'Best time so far by money',
        drawn('money, for GPU time and tokens', total('money') + total('money for tokens'), ({ money }) => money ?? 0),
      ),
    table,
  ];
}
