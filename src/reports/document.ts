import type { Chart, LegendWords } from './charts/chart.ts';
import { formatFigure } from './format.ts';

/**
 * A report as blocks. The printers in print/ turn it into terminal text, Markdown or HTML, and escape names and messages for
 * their format. Texts in a document are never escaped.
 */
export interface Document {
  readonly title: Inline;
  /** The result, before the first section. */
  readonly lead: readonly Block[];
  readonly sections: readonly Section[];
  readonly footer?: string;
}

export interface Section {
  /** Unique in the document; links may lead to it. */
  readonly id: string;
  readonly title: string;
  readonly blocks: readonly Block[];
  /** A terminal prints it only when asked for more. */
  readonly isDetail?: boolean;
}

export type SpanStyle = 'strong' | 'code' | 'good' | 'bad' | 'warn' | 'dim';

export interface StyledSpan {
  readonly text: string;
  readonly style?: SpanStyle;
  /** The id of a section or a row that the text leads to, where the format can lead anywhere. */
  readonly to?: string;
}

/** Text within a line. Lists are joined without a separator. */
export type Inline = string | StyledSpan | readonly Inline[];

/** `term: text`, where there is a term. */
export interface Item {
  readonly term?: string;
  readonly text: Inline;
}

export interface Column {
  readonly title: string;
  readonly align?: 'right';
  /** Whether a narrow terminal may shorten the cells. True for words, never for figures and names. */
  readonly isShortened?: boolean;
  /** If a table is too wide, columns with the largest number are omitted first. Columns without one always stay. */
  readonly drop?: number;
}

export interface Row {
  readonly cells: readonly Inline[];
  /** Unique in the document; links may lead to it. */
  readonly id?: string;
  readonly isStrong?: boolean;
}

export type Block =
  | { readonly kind: 'heading'; readonly text: Inline }
  /** `large`: a figure in large type before the text, where there is large type. */
  | { readonly kind: 'text'; readonly text: Inline; readonly isNote?: boolean; readonly large?: string }
  | { readonly kind: 'list'; readonly items: readonly Item[] }
  | {
      readonly kind: 'table';
      readonly label: string;
      readonly columns: readonly Column[];
      readonly rows: readonly Row[];
    }
  /** `legend`: marks that mean something else than usual; absent: no legend. `data`: the same in words, for formats that can't draw. */
  | {
      readonly kind: 'figure';
      readonly id: string;
      readonly alt: string;
      readonly chart: Chart;
      readonly legend: LegendWords | undefined;
      readonly data?: Block;
    }
  /** Lines that printers do not wrap. */
  | { readonly kind: 'code'; readonly language: 'sh' | 'diff' | 'text'; readonly text: string }
  /** A collapsible part. A terminal prints it only with `--verbose`. */
  | { readonly kind: 'fold'; readonly summary: Inline; readonly blocks: readonly Block[] };

export type BlockOf<K extends Block['kind']> = Extract<Block, { kind: K }>;

/** A block, several blocks, or nothing. Empty parts are left out of documents. */
export type Part = Block | null | undefined | false | readonly Part[];

/** One function per style: `good('passed')`. */
const styled =
  (style: SpanStyle) =>
  (text: string): StyledSpan => ({ text, style });
export const strong = styled('strong');
export const code = styled('code');
export const good = styled('good');
export const bad = styled('bad');
export const warn = styled('warn');
export const dim = styled('dim');

export const link = (text: string, to: string): StyledSpan => ({ text, to });

/** The spans of a text, in order. */
export function spansOf(inline: Inline): StyledSpan[] {
  if (typeof inline === 'string') return inline === '' ? [] : [{ text: inline }];
  return 'text' in inline ? [inline] : inline.flatMap(spansOf);
}

export const plainOf = (inline: Inline): string =>
  spansOf(inline)
    .map(({ text }) => text)
    .join('');

export const flattened = (parts: readonly Part[]): Block[] =>
  parts.flatMap((part) => {
    if (!part) return [];
    return 'kind' in part ? [part] : flattened(part);
  });

/** One section, or none if it has no blocks. */
export function section(id: string, title: string, parts: readonly Part[], isDetail?: boolean): Section[] {
  const blocks = flattened(parts);
  return blocks.length === 0 ? [] : [{ id, title, blocks, isDetail }];
}

/** A section that a terminal prints only when asked for more. */
export const detail = (id: string, title: string, parts: readonly Part[]): Section[] => section(id, title, parts, true);

/** Builds a document without its empty parts and sections. */
export const documentOf = (
  title: Inline,
  lead: readonly Part[],
  sections: readonly (readonly Section[])[] = [],
  footer?: string,
): Document => ({
  title,
  lead: flattened(lead),
  sections: sections.flat(),
  footer,
});

export const text = (content: Inline): Block => ({ kind: 'text', text: content });

/** A paragraph that explains how to read the next blocks. */
export const note = (content: Inline): Block => ({ kind: 'text', text: content, isNote: true });

export const heading = (content: Inline): Block => ({ kind: 'heading', text: content });

/** An item of a list, or nothing if there is no text. */
export const fact = (term: string, content: Inline | null | undefined | false): Item | null =>
  content ? { term, text: content } : null;

/** Empty items are left out. */
type Listed = Inline | Item | null | undefined | false;

const itemOf = (item: Inline | Item): Item =>
  typeof item === 'object' && 'term' in item ? item : { text: item as Inline };

/** A list, or the text `none` if there are no items; nothing if `none` is absent, too. */
export function list(items: readonly Listed[], none?: string): Block | null {
  const given = items.flatMap((item) => (item ? itemOf(item) : []));
  if (given.length > 0) return { kind: 'list', items: given };
  return none === undefined ? null : text(none);
}

/** A list with a heading; nothing if there are no items. */
export const titledList = (title: Inline, items: readonly Listed[]): Part =>
  items.length > 0 && [heading(title), list(items)];

/** Numbers are printed by {@link formatFigure}; null and undefined as `–`. */
type Cell = Inline | number | null | undefined;

export interface ColumnOf<R> extends Column {
  readonly cell: (row: R, index: number) => Cell;
}

const column =
  (options: Omit<Column, 'title' | 'drop'>) =>
  <R>(title: string, cell: ColumnOf<R>['cell'], drop = 0): ColumnOf<R> => ({ title, cell, drop, ...options });

/** A column of words, which a narrow terminal may shorten. For `drop` see {@link Column}. */
export const words = column({ isShortened: true });
/** A column of names, which users copy and which are never shortened. */
export const names = column({});
export const figures = column({ align: 'right' });

const cellText = (cell: Cell): Inline => (typeof cell === 'number' ? formatFigure(cell) : (cell ?? '–'));

/** A table, or nothing if there are no rows. Absent columns are left out. */
export function table<R>(
  label: string,
  rows: readonly R[],
  columns: readonly (ColumnOf<R> | false | undefined)[],
  rowOf: (row: R) => Omit<Row, 'cells'> = () => ({}),
): BlockOf<'table'> | null {
  if (rows.length === 0) return null;
  const shown = columns.filter((one) => one !== false && one !== undefined);
  return {
    kind: 'table',
    label,
    columns: shown.map(({ cell: _, ...column }) => column),
    rows: rows.map((row, index) => ({ ...rowOf(row), cells: shown.map(({ cell }) => cellText(cell(row, index))) })),
  };
}

/** A chart; nothing if there is none. `legend` and `data`: see {@link Block}. */
export const figure = (
  id: string,
  alt: string,
  chart: Chart | undefined,
  { legend, data }: { legend?: LegendWords; data?: Block | null } = {},
): Block | null => (chart ? { kind: 'figure', id, alt, chart, legend, data: data ?? undefined } : null);

export const codeBlock = (language: BlockOf<'code'>['language'], lines: string): Block => ({
  kind: 'code',
  language,
  text: lines,
});

/** A fold, or nothing if it has no blocks. */
export function fold(summary: Inline, parts: readonly Part[]): Block | null {
  const blocks = flattened(parts);
  return blocks.length === 0 ? null : { kind: 'fold', summary, blocks };
}
