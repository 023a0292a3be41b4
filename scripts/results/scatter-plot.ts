import { formatNs } from '../../src/reports/format.ts';
import type { ModelPair } from './recordings.ts';
import { escapeXml, logTicks, round, SVG_COLOURS, svgText } from './svg.ts';

const SIZE = 460;
const PLOT = { left: 78, right: 440, top: 50, bottom: 380 };
const LEGEND_TOP = 430;
const LEGEND_COLUMNS = 4;
const SERIES_COLOURS = ['#0969da', '#9a6700', '#1a7f37', '#8250df', '#57606a'];

export interface ScatterSeries {
  name: string;
  pairs: readonly ModelPair[];
}

/** Measured (x) against predicted (y) times on logarithmic axes; the diagonal is where they are equal. */
export const scatterPlot = ({ title, series }: { title: string; series: readonly ScatterSeries[] }): string => {
  const pairs = series.flatMap((one) => one.pairs);
  const all = pairs.flatMap(({ measuredNs, intervalNs }) => [measuredNs, ...intervalNs]);
  const [low, high] = [Math.min(...all) / 1.1, Math.max(...all) * 1.1];
  const share = (ns: number): number => Math.log(ns / low) / Math.log(high / low);
  const x = (ns: number): number => round(PLOT.left + (PLOT.right - PLOT.left) * share(ns));
  const y = (ns: number): number => round(PLOT.bottom - (PLOT.bottom - PLOT.top) * share(ns));
  const colourOf = (index: number): string => SERIES_COLOURS[index % SERIES_COLOURS.length]!;
  const grid = logTicks(low, high).flatMap((ns) => [
    `<line x1="${x(ns)}" x2="${x(ns)}" y1="${PLOT.top}" y2="${PLOT.bottom}" stroke="${SVG_COLOURS.grid}"/>`,
    `<line x1="${PLOT.left}" x2="${PLOT.right}" y1="${y(ns)}" y2="${y(ns)}" stroke="${SVG_COLOURS.grid}"/>`,
    svgText(x(ns), PLOT.bottom + 16, formatNs(ns), ` text-anchor="middle" fill="${SVG_COLOURS.faint}"`),
    svgText(PLOT.left - 8, y(ns) + 4, formatNs(ns), ` text-anchor="end" fill="${SVG_COLOURS.faint}"`),
  ]);
  const mark = ({ kernel, parameters, measuredNs, predictedNs, intervalNs: [from, to] }: ModelPair, colour: string) => {
    const values = Object.entries(parameters).map(([name, value]) => `${name}=${value}`);
    const hover = `${[kernel, ...values].join(' ')}: measured ${formatNs(measuredNs)}, predicted ${formatNs(predictedNs)}`;
    return (
      `<g><title>${escapeXml(hover)}</title>` +
      `<line x1="${x(measuredNs)}" x2="${x(measuredNs)}" y1="${y(from)}" y2="${y(to)}" stroke="${colour}" stroke-width="2" stroke-opacity="0.25"/>` +
      `<circle cx="${x(measuredNs)}" cy="${y(predictedNs)}" r="3.5" fill="${colour}"/></g>`
    );
  };
  const marks = series.flatMap((one, index) => one.pairs.map((pair) => mark(pair, colourOf(index))));
  const legend = series.map(({ name }, index) => {
    const [column, row] = [index % LEGEND_COLUMNS, Math.floor(index / LEGEND_COLUMNS)];
    const [left, top] = [PLOT.left + column * 95, LEGEND_TOP + row * 20];
    return `<circle cx="${left}" cy="${top - 4}" r="3.5" fill="${colourOf(index)}"/>${svgText(left + 8, top, name)}`;
  });
  const height = LEGEND_TOP + Math.ceil(series.length / LEGEND_COLUMNS) * 20;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${SIZE} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="${SVG_COLOURS.text}">`,
    `<title>${escapeXml(title)}</title>`,
    `<rect width="${SIZE}" height="${height}" fill="white"/>`,
    svgText(16, 22, title, ' font-size="14" font-weight="600"'),
    svgText(
      16,
      40,
      'predicted (vertical, with interval) against measured (horizontal)',
      ` fill="${SVG_COLOURS.faint}"`,
    ),
    ...grid,
    `<line x1="${x(low)}" y1="${y(low)}" x2="${x(high)}" y2="${y(high)}" stroke="${SVG_COLOURS.faint}" stroke-dasharray="3 3"/>`,
    ...marks,
    ...legend,
    '</svg>',
  ].join('\n')}\n`;
};
