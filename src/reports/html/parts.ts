import { glyph, lineGlyph, type MarkKind } from '../charts/chart.ts';
import { type Markup, markup } from '../markup.ts';
import type { Column } from '../table.ts';

/** Pieces that sections of the page are made of. */

export interface Section {
  id: string;
  title: string;
  body: readonly (Markup | null | undefined | false)[];
}

export const sectionMarkup = ({ id, title, body }: Section): Markup =>
  markup`<section class="section" id="${id}" aria-labelledby="${id}-heading">
<h2 id="${id}-heading">${title}</h2>
${body}
</section>
`;

export const note = (text: string): Markup => markup`<p class="note">${text}</p>`;

/** Links to the evaluation's row in the table of all of them, which names its candidate and its reason. */
export const evaluationLink = (id: string | null): Markup =>
  id === null ? markup`–` : markup`<a href="#evaluation-${id}">${id}</a>`;

/** A box that scrolls by itself, by keyboard too, so that the page never does. */
export const scrollBox = (label: string, body: Markup): Markup =>
  markup`<div class="scroll" tabindex="0" role="region" aria-label="${label}">${body}</div>`;

/** Cells are text, or markup where there is a link or a meter in them. */
type Cell = string | Markup;

export interface Row {
  cells: readonly Cell[];
  id?: string;
  strong?: boolean;
}

/** From this many characters on a cell may wrap. */
const LONG_CELL = 28;

function cellClass(cell: Cell, { align }: Column): string {
  if (align === 'right') return 'number';
  return typeof cell === 'string' && cell.length > LONG_CELL ? 'words' : 'plain';
}

/** A table in a scrolling box. */
export function table(label: string, columns: readonly Column[], rows: readonly Row[]): Markup {
  const head = columns.map(
    ({ title, align }) => markup`<th scope="col"${align === 'right' && markup` class="number"`}>${title}</th>`,
  );
  const body = rows.map(
    ({ cells, id, strong }) =>
      markup`<tr${id !== undefined && markup` id="${id}"`}${strong && markup` class="strong"`}>${cells.map(
        (cell, index) => markup`<td class="${cellClass(cell, columns[index]!)}">${cell}</td>`,
      )}</tr>\n`,
  );
  return scrollBox(label, markup`<table><thead><tr>${head}</tr></thead><tbody>\n${body}</tbody></table>`);
}

export const textRows = (rows: readonly (readonly string[])[]): Row[] => rows.map((cells) => ({ cells }));

export const details = (summary: string | Markup, body: Markup): Markup =>
  markup`<details><summary>${summary}</summary>${body}</details>\n`;

export const list = (items: readonly (string | Markup)[]): Markup =>
  markup`<ul class="list">${items.map((item) => markup`<li>${item}</li>\n`)}</ul>`;

/** The same chart for a wide and for a narrow page: scaled text would not be read on a phone. */
export const responsive = (wide: Markup, narrow: Markup): Markup =>
  markup`<div class="wide">${wide}</div><div class="narrow">${narrow}</div>`;

export type LegendItem = readonly [mark: MarkKind | 'best-so-far' | 'attainable' | 'veto', words: string];

const LINES: ReadonlySet<string> = new Set(['best-so-far', 'attainable', 'veto']);

/** Explains the marks that the chart really has. */
export const legend = (items: readonly LegendItem[], { markup: svg }: Markup): Markup =>
  markup`<ul class="legend">${items
    .filter(([kind]) => svg.includes(`data-mark="${kind}"`) || svg.includes(`class="${kind}"`))
    .map(
      ([kind, words]) => markup`<li>${LINES.has(kind) ? lineGlyph(kind) : glyph(kind as MarkKind)}${words}</li>`,
    )}</ul>`;
