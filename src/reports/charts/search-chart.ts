import type { Spread } from '../../search/bench.ts';
import { formatFigure } from '../format.ts';
import type { Markup } from '../markup.ts';
import { chart, chartFile, type Frame, line, type Point, polygon, polyline, text, yAxis } from './chart.ts';
import { linearScale, logScale, type Scale } from './scale.ts';

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

interface Plot {
  readonly frame: Frame;
  readonly x: Scale;
  readonly y: Scale;
}

/** How far the best so far lies above the best of the space, by evaluation; a panel for each strategy. */
export function searchPlotSvg(plot: SearchPlot): string {
  const columns = Math.min(COLUMNS, Math.max(1, plot.panels.length));
  const width = Math.max(columns * PANEL.width, 2 * PANEL.width);
  const height = HEADER + Math.ceil(plot.panels.length / columns) * PANEL.height;
  const range = excessRange(plot);
  const panels = plot.panels.flatMap((panel, index) => {
    const left = (index % columns) * PANEL.width;
    const top = HEADER + Math.floor(index / columns) * PANEL.height;
    return panelMarkup(panel, plot, plotOf([left, top], panel.curve.length, range));
  });
  const texts = { title: plot.title, description: describe(plot) };
  return chartFile(
    chart({ width, height, id: 'search' }, texts, [
      text(plot.title, [12, 22], { className: 'title' }),
      ...legend(plot).map((row, index) => text(row, [12, 42 + 17 * index])),
      ...panels,
    ]),
  );
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

function plotOf([left, top]: Point, evaluations: number, range: readonly [number, number]): Plot {
  const frame = {
    left: left + MARGINS.left,
    right: left + PANEL.width - MARGINS.right,
    top: top + MARGINS.top,
    bottom: top + PANEL.height - MARGINS.bottom,
  };
  const x = linearScale([1, Math.max(evaluations, 2)], [frame.left, frame.right], 6);
  return { frame, x, y: logScale(range, [frame.bottom, frame.top], 4) };
}

function panelMarkup(
  { name, note, curve }: SearchPlot['panels'][number],
  { within, reference }: SearchPlot,
  plot: Plot,
): Markup[] {
  const { x, y, frame } = plot;
  const { left, right, top, bottom } = frame;
  const target = y.at(within / 100);
  return [
    text(name, [left, top - 12], { className: 'value' }),
    text(note, [right, top - 12], { anchor: 'end' }),
    ...yAxis(y, frame, (value) => `${formatFigure(value * 100)} %`),
    ...[1, ...x.ticks.filter((tick) => tick > 1)].map((tick) =>
      text(String(tick), [x.at(tick), bottom + 16], { anchor: 'middle' }),
    ),
    line('axis', [left, bottom], [right, bottom]),
    line('within', [left, target], [right, target]),
    polygon('spread', [...staircase(curve, 'p90', plot), ...staircase(curve, 'p10', plot).reverse()]),
    ...(reference ? [polyline('reference', staircase(reference.curve.slice(0, curve.length), 'median', plot))] : []),
    polyline('median', staircase(curve, 'median', plot)),
    text('evaluation', [right, bottom + 30], { anchor: 'end' }),
  ];
}

const heightOf = (ratio: number | null, { low, high, at }: Scale): number =>
  at(Math.min(Math.max(excess(ratio), low), high));

/** The best so far changes only at evaluations: steps, not slopes. */
function staircase(curve: readonly Spread[], of: keyof Spread, { x, y }: Plot): Point[] {
  const points: Point[] = [];
  curve.forEach((spread, place) => {
    const height = heightOf(spread[of], y);
    const before = points.at(-1);
    if (before && before[1] !== height) points.push([x.at(place + 1), before[1]]);
    if (!before || before[1] !== height || place === curve.length - 1) points.push([x.at(place + 1), height]);
  });
  return points;
}
