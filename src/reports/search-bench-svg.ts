import type { Spread } from '../search/bench.ts';
import { chart, line, polyline, text } from './charts/chart.ts';
import { CHART_STYLE, THEME_STYLE } from './charts/chart-style.ts';
import { type LogScale, logScale } from './charts/scale.ts';
import { formatFigure } from './format.ts';
import { type Markup, markup } from './markup.ts';
import type { SearchBenchView } from './search-bench-view.ts';

/** What the plot shows of a space: any number of strategies, each with its best so far by evaluation. */
export interface SearchPlot {
  readonly title: string;
  /** Percent above the best that counts as found. */
  readonly within: number;
  readonly panels: readonly { readonly name: string; readonly note: string; readonly curve: readonly Spread[] }[];
  /** Drawn in every panel for comparison. */
  readonly reference?: { readonly name: string; readonly curve: readonly Spread[] };
}

const PANEL = { width: 300, height: 220 };
const MARGINS = { left: 56, right: 12, top: 30, bottom: 34 };
const COLUMNS = 3;
const HEADER = 74;
/** Ten times slower than the best and more is cut off. */
const HIGHEST_EXCESS = 10;
/** The axis ends this far below what counts as found; what is nearer to the best, or is the best, lies on its end. */
const BELOW_WITHIN = 10;
const STYLE = `.chart .spread{fill:var(--blue);opacity:.18}
.chart .median{fill:none;stroke:var(--blue);stroke-width:1.75}
.chart .reference{fill:none;stroke:var(--muted);stroke-width:1.25;stroke-dasharray:4 3}
.chart .within{stroke:var(--teal);stroke-width:1;stroke-dasharray:2 2}
.chart .title{fill:var(--ink);font-size:14px;font-weight:600}`;
const BACKGROUND = '<rect width="100%" height="100%" style="fill:var(--paper)"/>';

interface Scales {
  x(evaluation: number): number;
  readonly y: LogScale;
}

/** How far the best so far lies above the best of the space, by evaluation; a panel for each strategy. */
export function searchPlotSvg(plot: SearchPlot): string {
  const columns = Math.min(COLUMNS, Math.max(1, plot.panels.length));
  const width = Math.max(columns * PANEL.width, 2 * PANEL.width);
  const height = HEADER + Math.ceil(plot.panels.length / columns) * PANEL.height;
  const range = excessRange(plot);
  const panels = plot.panels.map((panel, index) => {
    const left = (index % columns) * PANEL.width;
    const top = HEADER + Math.floor(index / columns) * PANEL.height;
    return panelMarkup(panel, plot, scalesFor(left, top, panel.curve.length, range), left, top);
  });
  const { markup: svg } = chart({ width, height, id: 'search' }, { title: plot.title, description: describe(plot) }, [
    text(plot.title, [12, 22], { className: 'title' }),
    ...legend(plot).map((row, index) => text(row, [12, 42 + 17 * index])),
    ...panels,
  ]);
  const [head = '', ...rest] = svg.split('\n');
  return `${[head, `<style>${THEME_STYLE}\n${CHART_STYLE}\n${STYLE}</style>`, BACKGROUND, ...rest].join('\n')}\n`;
}

const legend = ({ within, reference }: SearchPlot): string[] => [
  'time of the best so far above the best of the space, log scale: median and 10–90 % of the seeds',
  `dotted: within ${within} %${reference ? `; dashed: ${reference.name}` : ''}`,
];

const describe = ({ panels }: SearchPlot): string => panels.map(({ name, note }) => `${name}: ${note}.`).join(' ');

/** The best is at 1, so that its excess is 0. */
const excess = (ratio: number | null): number => (ratio === null ? Number.POSITIVE_INFINITY : ratio - 1);

/** Ends of the axis of excess, in all panels the same. */
function excessRange({ panels, within }: SearchPlot): [number, number] {
  const found = within / 100;
  const excesses = panels.flatMap(({ curve }) => curve.map(({ p90 }) => excess(p90))).filter(Number.isFinite);
  const highest = excesses.reduce((most, value) => Math.max(most, value), 2 * found);
  return [found / BELOW_WITHIN, Math.max(2 * found, Math.min(HIGHEST_EXCESS, highest * 1.1))];
}

function scalesFor(left: number, top: number, evaluations: number, range: readonly [number, number]): Scales {
  const from = left + MARGINS.left;
  const plotWidth = PANEL.width - MARGINS.left - MARGINS.right;
  return {
    x: (evaluation) => Math.round(10 * (from + (plotWidth * (evaluation - 1)) / Math.max(evaluations - 1, 1))) / 10,
    y: logScale(range, [top + PANEL.height - MARGINS.bottom, top + MARGINS.top], 4),
  };
}

function panelMarkup(
  { name, note, curve }: SearchPlot['panels'][number],
  { within, reference }: SearchPlot,
  scales: Scales,
  left: number,
  top: number,
): Markup {
  const right = left + PANEL.width - MARGINS.right;
  const bottom = top + PANEL.height - MARGINS.bottom;
  const { x, y } = scales;
  const target = y.at(within / 100);
  return markup`<g>${[
    text(name, [left + MARGINS.left, top + 18], { className: 'value' }),
    text(note, [right, top + 18], { anchor: 'end' }),
    ...y.ticks.map(
      (value) =>
        markup`${line('grid', [left + MARGINS.left, y.at(value)], [right, y.at(value)])}${text(`${formatFigure(value * 100)} %`, [left + MARGINS.left - 6, y.at(value) + 4], { anchor: 'end' })}`,
    ),
    ...evaluationTicks(curve.length).map((evaluation) =>
      text(String(evaluation), [x(evaluation), bottom + 16], { anchor: 'middle' }),
    ),
    line('axis', [left + MARGINS.left, bottom], [right, bottom]),
    line('within', [left + MARGINS.left, target], [right, target]),
    markup`<polygon class="spread" points="${band(curve, scales)
      .map((point) => point.join(','))
      .join(' ')}"/>`,
    reference ? polyline('reference', staircase(reference.curve.slice(0, curve.length), 'median', scales)) : [],
    polyline('median', staircase(curve, 'median', scales)),
    text('evaluation', [right, bottom + 30], { anchor: 'end' }),
  ].flat()}</g>`;
}

const evaluationTicks = (evaluations: number): number[] => {
  const step = [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000].find((size) => evaluations / size <= 6) ?? evaluations;
  return [1, ...Array.from({ length: Math.floor(evaluations / step) }, (_, place) => (place + 1) * step)].filter(
    (tick, place) => place === 0 || tick > 1,
  );
};

const heightOf = (ratio: number | null, { low, high, at }: LogScale): number =>
  at(Math.min(Math.max(excess(ratio), low), high));

/** The best so far changes only at evaluations: steps, not slopes. */
function staircase(curve: readonly Spread[], of: keyof Spread, { x, y }: Scales): [number, number][] {
  const points: [number, number][] = [];
  curve.forEach((spread, place) => {
    const height = heightOf(spread[of], y);
    const before = points.at(-1);
    if (before && before[1] !== height) points.push([x(place + 1), before[1]]);
    if (!before || before[1] !== height || place === curve.length - 1) points.push([x(place + 1), height]);
  });
  return points;
}

const band = (curve: readonly Spread[], scales: Scales): [number, number][] => [
  ...staircase(curve, 'p90', scales),
  ...staircase(curve, 'p10', scales).reverse(),
];

/** The plot of a bench, with random search for comparison. */
export const searchBenchSvg = ({ file, space, strategies, evaluations }: SearchBenchView): string =>
  searchPlotSvg({
    title: `${file}: finding the best of ${space.configurations.toLocaleString('en-US')} configurations`,
    within: space.within,
    panels: strategies.map(({ strategy, evaluations: { median }, curve }) => ({
      name: strategy,
      note: `to ${space.within} %: ${median === null ? `> ${evaluations}` : median}`,
      curve,
    })),
    reference: { name: 'random search, computed exactly', curve: space.randomCurve },
  });
