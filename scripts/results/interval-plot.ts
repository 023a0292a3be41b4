import { chart, chartFile, frameOf, line, mark, text, xAxis } from '../../src/reports/charts/chart.ts';
import { logScale } from '../../src/reports/charts/scale.ts';
import { formatNs } from '../../src/reports/format.ts';

/** One time with its interval: a mark on a line. */
export interface PlotRow {
  label: string;
  /** Right of the plot. */
  note: string;
  lowNs: number;
  medianNs: number;
  highNs: number;
  style: 'kept' | 'reverted';
}

export interface IntervalPlot {
  title: string;
  axis: string;
  rows: readonly PlotRow[];
  /** Vertical lines across all rows. */
  bounds: readonly { ns: number; label: string }[];
}

const WIDTH = 860;
const ROW_HEIGHT = 24;
const MARGINS = { left: 230, right: 170, top: 56, bottom: 46 };

/** A plot of times on a logarithmic axis: discs are kept, diamonds reverted, lines are intervals. */
export function intervalPlot({ title, axis, rows, bounds }: IntervalPlot): string {
  const all = [...rows.flatMap(({ lowNs, highNs }) => [lowNs, highNs]), ...bounds.map(({ ns }) => ns)];
  const size = { width: WIDTH, height: MARGINS.top + rows.length * ROW_HEIGHT + MARGINS.bottom, id: 'intervals' };
  const frame = frameOf(size, MARGINS);
  const x = logScale([Math.min(...all) / 1.15, Math.max(...all) * 1.15], [frame.left, frame.right], 8);
  return chartFile(
    chart(size, { title, description: rows.map(({ label, note }) => `${label}: ${note}`).join('; ') }, [
      text(title, [16, 22], { className: 'title' }),
      ...xAxis(x, frame, formatNs),
      ...bounds.flatMap(({ ns, label }) => [
        line('attainable', [x.at(ns), frame.top - 4], [x.at(ns), frame.bottom]),
        text(label, [x.at(ns), frame.top - 8], { anchor: 'middle', className: 'attainable-text' }),
      ]),
      ...rows.flatMap(({ label, note, lowNs, medianNs, highNs, style }, index) => {
        const y = frame.top + (index + 0.5) * ROW_HEIGHT;
        return [
          text(label, [frame.left - 12, y + 4], { anchor: 'end', className: 'label strong' }),
          line(`interval ${style === 'kept' ? 'blue' : 'amber'}`, [x.at(lowNs), y], [x.at(highNs), y]),
          mark(style, [x.at(medianNs), y], `${label}: ${note}`),
          text(note, [frame.right + 12, y + 4]),
        ];
      }),
      text(axis, [(frame.left + frame.right) / 2, size.height - 10], { anchor: 'middle' }),
    ]),
  );
}
