import type { Timing } from '../../core/timing.ts';
import { formatFigure, formatNs } from '../format.ts';
import * as svg from './chart.ts';
import { linearScale, logScale } from './scale.ts';

const MARGINS = { left: 62, right: 18, top: 52, bottom: 40 };

/** How a search came to its best, as steps. */
export interface Steps {
  /** How much was spent when each time became the best, and the time on the first workload. */
  readonly points: readonly { readonly spent: number; readonly medianNs: number }[];
  /** All that was spent in the end. */
  readonly total: number;
  /** A style of lines. */
  readonly style: 'best-so-far' | 'reference';
}

interface BestSoFar {
  readonly kind: Timing['kind'];
  readonly workload: string;
  /** What was spent, in words, and where the axis of it begins. */
  readonly by: string;
  readonly from: number;
  readonly mostTicks: number;
  /** The second line above the plot. */
  readonly remark: string;
  readonly description: string;
  /** In the order in which they are drawn. */
  readonly searches: readonly Steps[];
}

/** Best times so far by what was spent. Undefined before anything was. */
export function bestSoFarChart(plotted: BestSoFar): svg.Chart | undefined {
  const { kind, workload, by, from, mostTicks, remark, description, searches } = plotted;
  const times = searches.flatMap(({ points }) => points.map(({ medianNs }) => medianNs));
  // One evaluation alone has an axis, too.
  const most = Math.max(2 * from, ...searches.map(({ total }) => total));
  if (times.length === 0 || !(most > from)) return undefined;
  return (size) => {
    const frame = svg.frameOf(size, MARGINS);
    const x = linearScale([from, most], [frame.left, frame.right], mostTicks);
    const y = logScale([Math.min(...times) / 1.1, Math.max(...times) * 1.1], [frame.bottom, frame.top], 7);
    const line = ({ points, total, style }: Steps) => {
      const corners = points.flatMap(({ spent, medianNs }, index) =>
        [spent, points[index + 1]?.spent ?? total].map((at): svg.Point => [x.at(at), y.at(medianNs)]),
      );
      return svg.polyline(style, corners);
    };
    return svg.chart(size, { title: `${kind} best time so far by ${by}`, description }, [
      svg.text(`${kind} best time so far on ${workload}, log scale`, [4, 16]),
      svg.text(remark, [4, 34]),
      ...svg.yAxis(y, frame, formatNs),
      ...svg.xAxis(x, frame, formatFigure),
      ...searches.map(line),
    ]);
  };
}
