import { formatNs } from '../../src/reports/format.ts';
import { escapeXml, logTicks, round, SVG_COLOURS, svgText } from './svg.ts';

/** One time with its interval: a dot on a line. */
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
const TOP = 56;
const BOTTOM = 46;
const PLOT = { left: 230, right: 690 };

/** A plot of times on a logarithmic axis: filled dots are kept, hollow ones reverted, lines are intervals. */
export const intervalPlot = ({ title, axis, rows, bounds }: IntervalPlot): string => {
  const all = [...rows.flatMap(({ lowNs, highNs }) => [lowNs, highNs]), ...bounds.map(({ ns }) => ns)];
  const [low, high] = [Math.min(...all) / 1.15, Math.max(...all) * 1.15];
  const x = (ns: number): number =>
    round(PLOT.left + (PLOT.right - PLOT.left) * (Math.log(ns / low) / Math.log(high / low)));
  const bottom = TOP + rows.length * ROW_HEIGHT;
  const height = bottom + BOTTOM;
  const grid = logTicks(low, high).map(
    (ns) =>
      `<line x1="${x(ns)}" x2="${x(ns)}" y1="${TOP}" y2="${bottom}" stroke="${SVG_COLOURS.grid}"/>` +
      svgText(x(ns), bottom + 16, formatNs(ns), ` text-anchor="middle" fill="${SVG_COLOURS.faint}"`),
  );
  const boundLines = bounds.map(
    ({ ns, label }) =>
      `<line x1="${x(ns)}" x2="${x(ns)}" y1="${TOP - 4}" y2="${bottom}" stroke="${SVG_COLOURS.faint}" stroke-dasharray="3 3"/>` +
      svgText(x(ns), TOP - 8, label, ` text-anchor="middle" fill="${SVG_COLOURS.faint}"`),
  );
  const marks = rows.map((row, index) => {
    const y = TOP + (index + 0.5) * ROW_HEIGHT;
    const colour = SVG_COLOURS[row.style];
    return [
      svgText(PLOT.left - 12, y + 4, row.label, ' text-anchor="end"'),
      `<line x1="${x(row.lowNs)}" x2="${x(row.highNs)}" y1="${y}" y2="${y}" stroke="${colour}" stroke-width="3" stroke-opacity="0.3"/>`,
      `<circle cx="${x(row.medianNs)}" cy="${y}" r="4.5" fill="${row.style === 'kept' ? colour : 'white'}" stroke="${colour}" stroke-width="2"/>`,
      svgText(
        PLOT.right + 12,
        y + 4,
        row.note,
        ` fill="${row.style === 'kept' ? SVG_COLOURS.text : SVG_COLOURS.faint}"`,
      ),
    ].join('');
  });
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="${SVG_COLOURS.text}">`,
    `<title>${escapeXml(title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="white"/>`,
    svgText(16, 22, title, ' font-size="14" font-weight="600"'),
    ...grid,
    ...boundLines,
    ...marks,
    svgText((PLOT.left + PLOT.right) / 2, height - 10, axis, ` text-anchor="middle" fill="${SVG_COLOURS.faint}"`),
    '</svg>',
  ].join('\n')}\n`;
};
