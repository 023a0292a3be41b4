import type { Comparison, Verdict } from '../../src/core/measurement.ts';
import { EQUIVALENCE_MARGIN } from '../../src/stats/verdict.ts';
import { escapeXml, round, SVG_COLOURS, svgText } from './svg.ts';

const WIDTH = 860;
const HEIGHT = 360;
const PLOT = { left: 70, right: 840, top: 64, bottom: 310 };

const VERDICT_COLOURS: Readonly<Record<Verdict, string>> = {
  faster: '#cf222e',
  slower: '#0969da',
  same: '#1a7f37',
  ambiguous: '#9a6700',
};

/** Steps of the axis, in ratio, of which the first that gives at most this many lines is taken. */
const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
const MOST_LINES = 12;

function linesBetween(low: number, high: number): number[] {
  const step = STEPS.find((one) => (high - low) / one <= MOST_LINES) ?? 1;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, i) => (first + i) * step);
}

/** How many comparisons got each verdict, most frequent first. */
export function countVerdicts(comparisons: readonly Comparison[]): [Verdict, number][] {
  const counts = new Map<Verdict, number>();
  for (const { verdict } of comparisons) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/**
 * Every comparison's ratio with its 95 % interval, ascending; the margin of ±1 % is shaded, and where the true ratio is
 * known, it is a line. Reads what docs/results/h200-a-a.json and h200-sensitivity.json hold: the types SelfComparisons
 * and KnownRatioComparisons of measuring-recordings.ts, `{ schemaVersion: 1, device, driver, versions, recordedAt,
 * kernel, workload, comparisons: Comparison[], … }`.
 */
export function comparisonPlot(request: {
  title: string;
  comparisons: readonly Comparison[];
  /** Baseline ÷ candidate. */
  trueRatio: number;
}): string {
  const { title, trueRatio } = request;
  const rows = request.comparisons.toSorted((a, b) => a.ratio - b.ratio);
  const margin = [1 / (1 + EQUIVALENCE_MARGIN), 1 + EQUIVALENCE_MARGIN] as const;
  const values = [...rows.flatMap(({ intervalRatio }) => intervalRatio), ...margin, trueRatio];
  const low = Math.min(...values) - 0.002;
  const high = Math.max(...values) + 0.002;
  const x = (index: number): number => round(PLOT.left + ((PLOT.right - PLOT.left) * (index + 0.5)) / rows.length);
  const y = (ratio: number): number => round(PLOT.bottom - ((PLOT.bottom - PLOT.top) * (ratio - low)) / (high - low));
  const grid = linesBetween(low, high).map(
    (ratio) =>
      `<line x1="${PLOT.left}" x2="${PLOT.right}" y1="${y(ratio)}" y2="${y(ratio)}" stroke="${SVG_COLOURS.grid}"/>` +
      svgText(PLOT.left - 8, y(ratio) + 4, ratio.toFixed(3), ` text-anchor="end" fill="${SVG_COLOURS.faint}"`),
  );
  const marks = rows.map(({ verdict, ratio, intervalRatio: [from, to] }, index) => {
    const colour = VERDICT_COLOURS[verdict];
    const hover = `${verdict}: measured ratio ${ratio.toFixed(4)} [${from.toFixed(4)}, ${to.toFixed(4)}]`;
    return (
      `<g><title>${escapeXml(hover)}</title>` +
      `<line x1="${x(index)}" x2="${x(index)}" y1="${y(from)}" y2="${y(to)}" stroke="${colour}" stroke-opacity="0.5"/>` +
      `<circle cx="${x(index)}" cy="${y(ratio)}" r="1.8" fill="${colour}"/></g>`
    );
  });
  const legend = countVerdicts(rows).map(
    ([verdict, count], index) =>
      `<circle cx="${PLOT.left + index * 130}" cy="44" r="4" fill="${VERDICT_COLOURS[verdict]}"/>` +
      svgText(PLOT.left + 10 + index * 130, 48, `${count} ${verdict}`),
  );
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="12" fill="${SVG_COLOURS.text}">`,
    `<title>${escapeXml(title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    svgText(16, 22, title, ' font-size="14" font-weight="600"'),
    ...legend,
    `<rect x="${PLOT.left}" y="${y(margin[1])}" width="${PLOT.right - PLOT.left}" height="${round(y(margin[0]) - y(margin[1]))}" fill="${SVG_COLOURS.grid}" fill-opacity="0.5"/>`,
    ...grid,
    `<line x1="${PLOT.left}" x2="${PLOT.right}" y1="${y(trueRatio)}" y2="${y(trueRatio)}" stroke="${SVG_COLOURS.text}" stroke-dasharray="4 3"/>`,
    ...marks,
    svgText(
      (PLOT.left + PLOT.right) / 2,
      HEIGHT - 14,
      'measured comparisons, by ratio (baseline ÷ candidate) with its 95 % interval; shaded: ±1 %; dashed: the true ratio',
      ` text-anchor="middle" fill="${SVG_COLOURS.faint}"`,
    ),
    '</svg>',
  ].join('\n')}\n`;
}
