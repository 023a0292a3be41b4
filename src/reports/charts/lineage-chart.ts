import type { Timing } from '../../core/timing.ts';
import { formatRatio } from '../format.ts';
import type { LineageNode } from '../view/lineage.ts';
import { type Chart, chart, line, mark, type Point, text } from './chart.ts';

const MARGINS = { left: 14, top: 44, bottom: 12 };
const INDENT = 26;
/** Rows stay this far apart where there is room. */
const ROW = 24;

/** The kernels of a run as a tree: a child below its parent, and further right. Undefined where nothing was written. */
export function lineageChart(nodes: readonly LineageNode[], omitted: number, kind: Timing['kind']): Chart | undefined {
  if (nodes.length < 2) return undefined;
  const texts = {
    title: 'kernels and what they were made from',
    description: nodes.map(({ kernel, parent }) => (parent === null ? kernel : `${kernel} from ${parent}`)).join('; '),
  };
  return (size) => {
    const row = Math.min(ROW, (size.height - MARGINS.top - MARGINS.bottom) / nodes.length);
    const at = ({ depth }: LineageNode, index: number): Point => [
      MARGINS.left + depth * INDENT,
      Math.round(MARGINS.top + (index + 0.5) * row),
    ];
    const places = new Map(nodes.map((node, index) => [node.kernel, at(node, index)]));
    const edges = nodes.flatMap((node, index) => {
      const from = node.parent === null ? undefined : places.get(node.parent);
      if (!from) return [];
      const to = at(node, index);
      return [line('grid', [from[0], from[1]], [from[0], to[1]]), line('grid', [from[0], to[1]], to)];
    });
    return chart(size, texts, [
      text(`what was made from what; ${kind} × start`, [4, 16]),
      ...(omitted > 0 ? [text(`${omitted} more that led nowhere`, [4, 34])] : []),
      ...edges,
      ...nodes.map((node, index) => mark(node.outcome, at(node, index), nodeLine(node))),
      ...nodes.map((node, index) => {
        const [x, y] = at(node, index);
        return text(nodeLine(node), [x + 14, y + 4], { className: node.outcome === 'best' ? 'value' : 'label' });
      }),
    ]);
  };
}

/** `warp_row 2.25×, kept`; without a time what it was instead. */
export const nodeLine = ({ kernel, ratioToStart, outcome, status }: LineageNode): string =>
  `${kernel} ${ratioToStart === null ? status : formatRatio(ratioToStart)}${outcome === 'failed' ? '' : `, ${outcome}`}`;
