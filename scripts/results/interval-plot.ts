import { chart, chartFile, frameOf, line, mark, text, xAxis } from '../../src/reports/charts/chart.ts';
import { logScale } from '../../src/reports/charts/scale.ts';

/** One figure with its interval: a mark on a line. */
export interface PlotRow {
  label: string;
  /** Right of the plot. */
  note: string;
  low: number;
  median: number;
  high: number;
  style: 'kept' | 'reverted';
}

export interface IntervalPlot {
  title: string;
  axis: string;
  rows: readonly PlotRow[];
  /** Vertical lines across all rows. */
  bounds: readonly { at: number; label: string }[];
  /** What an axis shows at a figure. */
  format: (figure: number) => string;
}

const WIDTH = 860;
const ROW_HEIGHT = 24;
const MARGINS = { left: 230, right: 170, top: 56, bottom: 46 };

/** A plot of figures on a logarithmic axis: discs are kept, diamonds reverted, lines are intervals. */
export function intervalPlot({ title, axis, rows, bounds, format }: IntervalPlot): string {
  const all = [...rows.flatMap(({ low, high }) => [low, high]), ...bounds.map(({ at }) => at)];
  const size = { width: WIDTH, height: MARGINS.top + rows.length * ROW_HEIGHT + MARGINS.bottom, id: 'intervals' };
  const frame = frameOf(size, MARGINS);
  const x = logScale([Math.min(...all) / 1.15, Math.max(...all) * 1.15], [frame.left, frame.right], 8);
  return chartFile(
    chart(size, { title, description: rows.map(({ label, note }) => `${label}: ${note}`).join('; ') }, [
      text(title, [16, 22], { className: 'title' }),
      ...xAxis(x, frame, format),
      ...bounds.flatMap(({ at, label }) => [
        line('attainable', [x.at(at), frame.top - 4], [x.at(at), frame.bottom]),
        text(label, [x.at(at), frame.top - 8], { anchor: 'middle', className: 'attainable-text' }),
      ]),
      ...rows.flatMap(({ label, note, low, median, high, style }, index) => {
        const y = frame.top + (index + 0.5) * ROW_HEIGHT;
        return [
          text(label, [frame.left - 12, y + 4], { anchor: 'end', className: 'label strong' }),
          line(`interval ${style === 'kept' ? 'blue' : 'amber'}`, [x.at(low), y], [x.at(high), y]),
          mark(style, [x.at(median), y], `${label}: ${note}`),
          text(note, [frame.right + 12, y + 4]),
        ];
      }),
      text(axis, [(frame.left + frame.right) / 2, size.height - 10], { anchor: 'middle' }),
    ]),
  );
}
