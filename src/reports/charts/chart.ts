import { type Markup, markup } from '../markup.ts';
import { CHART_STYLE, THEME_STYLE } from './chart-style.ts';
import { round, type Scale } from './scale.ts';

/** What all charts are made of: those of reports, of the documentation and of benches. Classes are of {@link CHART_STYLE}. */

/** Size of a chart in its own units, which are pixels where it is shown at its natural width. */
export interface ChartSize {
  readonly width: number;
  readonly height: number;
  /** Prefix of ids within the document, so that a chart can be there twice. */
  readonly id: string;
}

/** A chart that is drawn as large as there is room. */
export type Chart = (size: ChartSize) => Markup;

export type Point = readonly [x: number, y: number];

/** The edges of what is plotted. */
export interface Frame {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export const frameOf = ({ width, height }: Pick<ChartSize, 'width' | 'height'>, margins: Frame): Frame => ({
  left: margins.left,
  right: width - margins.right,
  top: margins.top,
  bottom: height - margins.bottom,
});

/** An SVG with a title and a description for those who don't see it. */
export const chart = (
  { width, height, id }: ChartSize,
  texts: { title: string; description: string },
  body: readonly Markup[],
): Markup => markup`<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-labelledby="${id}-title ${id}-description" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title id="${id}-title">${texts.title}</title>
<desc id="${id}-description">${texts.description}</desc>
${body}
</svg>`;

/** The chart as a file of its own, with the colours of both themes. */
export function chartFile({ markup: svg }: Markup): string {
  const [head = '', ...rest] = svg.split('\n');
  const background = '<rect width="100%" height="100%" style="fill:var(--paper)"/>';
  return `${[head, `<style>${THEME_STYLE}\n${CHART_STYLE}</style>`, background, ...rest].join('\n')}\n`;
}

export const line = (className: string, [x1, y1]: Point, [x2, y2]: Point): Markup =>
  markup`<line class="${className}" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`;

const listed = (points: readonly Point[]): string => points.map((point) => point.join(',')).join(' ');

export const polyline = (className: string, points: readonly Point[]): Markup =>
  markup`<polyline class="${className}" points="${listed(points)}"/>`;

export const polygon = (className: string, points: readonly Point[]): Markup =>
  markup`<polygon class="${className}" points="${listed(points)}"/>`;

export const rectangle = (className: string, [left, top]: Point, [right, bottom]: Point): Markup =>
  markup`<rect class="${className}" x="${left}" y="${top}" width="${Math.max(1, round(right - left))}" height="${Math.max(1, round(bottom - top))}" rx="2"/>`;

export const text = (
  content: string,
  [x, y]: Point,
  { anchor = 'start', className = 'label' }: { anchor?: 'start' | 'middle' | 'end'; className?: string } = {},
): Markup => markup`<text class="${className}" x="${x}" y="${y}" text-anchor="${anchor}">${content}</text>`;

/** What is told when pointed at. */
export const told = (title: string, body: readonly Markup[]): Markup => markup`<g><title>${title}</title>${body}</g>\n`;

/** An interval: a line with ends, upright or level. */
export function whisker(from: Point, to: Point, className = 'whisker'): Markup {
  const [dx, dy] = from[0] === to[0] ? [3, 0] : [0, 4];
  const end = ([x, y]: Point) => line(className, [x - dx, y - dy], [x + dx, y + dy]);
  return markup`${line(className, from, to)}${end(from)}${end(to)}`;
}

/** Labelled lines across the frame at round values. */
export const yAxis = ({ ticks, at }: Scale, { left, right }: Frame, format: (value: number) => string): Markup[] =>
  ticks.map(
    (value) =>
      markup`${line('grid', [left, at(value)], [right, at(value)])}${text(format(value), [left - 8, at(value) + 4], { anchor: 'end' })}`,
  );

export const xAxis = ({ ticks, at }: Scale, { top, bottom }: Frame, format: (value: number) => string): Markup[] =>
  ticks.map(
    (value) =>
      markup`${line('grid', [at(value), top], [at(value), bottom])}${text(format(value), [at(value), bottom + 18], { anchor: 'middle' })}`,
  );

/** What a mark stands for; shapes differ as well as colours. */
export type MarkKind = 'kept' | 'best' | 'start' | 'reverted' | 'tried' | 'confirmed' | 'failed' | 'uncounted';

const SHAPES: Readonly<Record<MarkKind, (x: number, y: number) => Markup>> = {
  kept: (x, y) => markup`<circle class="mark kept" cx="${x}" cy="${y}" r="5"/>`,
  best: (x, y) =>
    markup`<circle class="mark halo" cx="${x}" cy="${y}" r="9"/><circle class="mark kept" cx="${x}" cy="${y}" r="5.5"/>`,
  start: (x, y) => markup`<rect class="mark start" x="${x - 4.5}" y="${y - 4.5}" width="9" height="9"/>`,
  reverted: (x, y) =>
    markup`<path class="mark reverted" d="M${x} ${y - 5.5}L${x + 5.5} ${y}L${x} ${y + 5.5}L${x - 5.5} ${y}Z"/>`,
  tried: (x, y) => markup`<circle class="mark tried" cx="${x}" cy="${y}" r="3.5"/>`,
  uncounted: (x, y) => markup`<path class="mark uncounted" d="M${x - 4} ${y}H${x + 4}"/>`,
  confirmed: (x, y) => markup`<path class="mark confirmed" d="M${x} ${y - 6}L${x + 6} ${y + 5}L${x - 6} ${y + 5}Z"/>`,
  failed: (x, y) =>
    markup`<path class="mark failed" d="M${x - 4} ${y - 4}L${x + 4} ${y + 4}M${x + 4} ${y - 4}L${x - 4} ${y + 4}"/>`,
};

/** A mark that tells what it is when pointed at. */
export const mark = (kind: MarkKind, [x, y]: Point, title: string, interval?: Markup): Markup =>
  markup`<g data-mark="${kind}"><title>${title}</title>${interval}${SHAPES[kind](x, y)}</g>`;

/** Colours of series. */
export const SERIES = ['blue', 'amber', 'teal', 'magenta', 'muted'] as const;

/** A small dot in one of the colours of series. */
export const dot = (className: string, [x, y]: Point, radius = 3.5): Markup =>
  markup`<circle class="dot ${className}" cx="${x}" cy="${y}" r="${radius}"/>`;

type Explained = MarkKind | 'best-so-far' | 'veto' | 'attainable';

/** What marks and lines of charts mean, in the order of legends. */
const MEANINGS: Readonly<Record<Explained, string>> = {
  start: 'start',
  kept: 'kept',
  best: 'best',
  reverted: 'reverted',
  tried: 'tried',
  uncounted: 'tried, bytes not counted: at the least the problem reads',
  confirmed: 'confirmation',
  failed: 'no valid time',
  'best-so-far': 'best so far',
  veto: 'provable bound',
  attainable: 'attainable bound',
};

/** What they mean in one chart, where that is something else. */
export type LegendWords = Readonly<Partial<Record<Explained, string>>>;

const isMark = (kind: string): kind is MarkKind => Object.hasOwn(SHAPES, kind);

/** Explains the marks and lines that the chart really has. */
export function legend(words: LegendWords, { markup: svg }: Markup): Markup {
  const glyph = (kind: string): Markup => {
    const width = isMark(kind) ? 20 : 28;
    const body = isMark(kind) ? SHAPES[kind](10, 10) : line(kind, [1, 10], [27, 10]);
    return markup`<svg class="chart glyph" viewBox="0 0 ${width} 20" width="${width}" height="20" aria-hidden="true">${body}</svg>`;
  };
  return markup`<ul class="legend">${Object.entries({ ...MEANINGS, ...words })
    .filter(([kind]) => svg.includes(`data-mark="${kind}"`) || svg.includes(`class="${kind}"`))
    .map(([kind, meaning]) => markup`<li>${glyph(kind)}${meaning}</li>`)}</ul>`;
}
