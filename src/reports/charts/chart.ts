import { type Markup, markup } from '../markup.ts';

/** Size of a chart in its own units, which are pixels where it is shown at its natural width. */
export interface ChartSize {
  readonly width: number;
  readonly height: number;
  /** Prefix of ids within the document, so that a chart can be there twice. */
  readonly id: string;
}

/** An SVG with a title and a description for those who don't see it. Classes are of {@link CHART_STYLE}. */
export const chart = (
  { width, height, id }: ChartSize,
  texts: { title: string; description: string },
  body: readonly Markup[],
): Markup => markup`<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-labelledby="${id}-title ${id}-description" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title id="${id}-title">${texts.title}</title>
<desc id="${id}-description">${texts.description}</desc>
${body}
</svg>`;

export const line = (
  className: string,
  [x1, y1]: readonly [number, number],
  [x2, y2]: readonly [number, number],
): Markup => markup`<line class="${className}" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`;

export const polyline = (className: string, points: readonly (readonly [number, number])[]): Markup =>
  markup`<polyline class="${className}" points="${points.map((point) => point.join(',')).join(' ')}"/>`;

export const text = (
  content: string,
  [x, y]: readonly [number, number],
  { anchor = 'start', className = 'label' }: { anchor?: 'start' | 'middle' | 'end'; className?: string } = {},
): Markup => markup`<text class="${className}" x="${x}" y="${y}" text-anchor="${anchor}">${content}</text>`;

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
export const mark = (kind: MarkKind, [x, y]: readonly [number, number], title: string, interval?: Markup): Markup =>
  markup`<g data-mark="${kind}"><title>${title}</title>${interval}${SHAPES[kind](x, y)}</g>`;

/** A mark alone, for a legend. */
export const glyph = (kind: MarkKind): Markup =>
  markup`<svg class="chart glyph" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">${SHAPES[kind](10, 10)}</svg>`;

/** A piece of a line alone, for a legend. */
export const lineGlyph = (className: string): Markup =>
  markup`<svg class="chart glyph" viewBox="0 0 28 20" width="28" height="20" aria-hidden="true">${line(className, [1, 10], [27, 10])}</svg>`;
