import { byKind } from '../../core/by-kind.ts';
import {
  type Block,
  type BlockOf,
  type Column,
  type Document,
  type Inline,
  type Row,
  type SpanStyle,
  spansOf,
} from '../document.ts';
import { plainText } from '../plain-text.ts';
import { GAP, layoutTable, type TableLayout } from './table-layout.ts';
import { cutLength, TERMINAL_WIDTH, wrapRanges, wrapText } from './wrap.ts';

/** Styles of terminal text. */
type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow';

/** Applies a style, or leaves the text as it is where colours are off. */
export type Paint = (style: Style, text: string) => string;

/** For files, pipes and NO_COLOR. */
const plainPaint: Paint = (_style, text) => text;

export interface TerminalOptions {
  readonly paint?: Paint;
  /** Columns; prose stays narrower where there are many. Absent for files, which are as wide as a usual terminal, but for code. */
  readonly width?: number;
  /** Prints folded parts, too. */
  readonly isVerbose?: boolean;
}

/** Further right than code that begins a line of its own. */
const CODE_HANG = 8;
/** Longer lines of prose are hard to read. */
const WIDEST_PROSE = 100;

/** Parts that were not printed: sections, folds of the current section, columns and ends of cells. */
interface Missing {
  readonly titles: Set<string>;
  isFolded: boolean;
  isCut: boolean;
}

interface Terminal {
  readonly paint: Paint;
  readonly width: number;
  readonly isVerbose: boolean;
  /** Code stays as it is, however wide. */
  readonly isFile: boolean;
  readonly missing: Missing;
}

const STYLES: Readonly<Partial<Record<SpanStyle, Style>>> = {
  strong: 'bold',
  good: 'green',
  bad: 'red',
  warn: 'yellow',
  dim: 'dim',
};

interface Piece {
  readonly text: string;
  readonly style: Style | undefined;
}

const piecesOf = (inline: Inline, style?: Style): Piece[] =>
  spansOf(inline).map((span) => ({ text: plainText(span.text), style: (span.style && STYLES[span.style]) ?? style }));

const plainOf = (pieces: readonly Piece[]): string => pieces.map(({ text }) => text).join('');

const lengthOf = (text: string): number => [...text].length;

/** A piece of a text without line breaks, each part in its style. */
function painted(pieces: readonly Piece[], [start, end]: readonly [number, number], paint: Paint): string {
  let at = 0;
  return pieces
    .map(({ text, style }) => {
      const part = text.slice(Math.max(0, start - at), Math.max(0, end - at));
      at += text.length;
      return style === undefined || part === '' ? part : paint(style, part);
    })
    .join('');
}

/** The pieces of each line of a text that has line breaks of its own. */
function linesOf(pieces: readonly Piece[]): Piece[][] {
  const lines: Piece[][] = [[]];
  for (const { text, style } of pieces) {
    text.split('\n').forEach((part, index) => {
      if (index > 0) lines.push([]);
      lines.at(-1)!.push({ text: part, style });
    });
  }
  return lines;
}

/** Prose: wrapped, all but its first line indented by `hang`. */
function prose(inline: Inline, { width, paint }: Terminal, { hang = 0, style }: { hang?: number; style?: Style } = {}) {
  return linesOf(piecesOf(inline, style)).flatMap((pieces, index) => {
    const ranges = wrapRanges(plainOf(pieces), Math.min(width, WIDEST_PROSE) - (index > 0 ? hang : 0), hang);
    return ranges.map((range, line) => ' '.repeat(index + line > 0 ? hang : 0) + painted(pieces, range, paint));
  });
}

const indented = (lines: readonly string[]): string[] => lines.map((line) => (line === '' ? '' : `  ${line}`));

const within = (terminal: Terminal): Terminal => ({ ...terminal, width: terminal.width - 2 });

const cellPieces = (cell: Inline, style?: Style): Piece[] =>
  piecesOf(cell, style).map((piece) => ({ ...piece, text: piece.text.replaceAll(/\s*\n\s*/g, ' ') }));

function cellText(pieces: readonly Piece[], width: number, align: Column['align'], paint: Paint): string {
  const plain = plainOf(pieces);
  const space = width - lengthOf(plain);
  if (space < 0) {
    const end = cutLength(plain, width);
    return `${painted(pieces, [0, end], paint)}…${' '.repeat(width - 1 - lengthOf(plain.slice(0, end)))}`;
  }
  const whole = painted(pieces, [0, plain.length], paint);
  return align === 'right' ? ' '.repeat(space) + whole : whole + ' '.repeat(space);
}

function tableLine(cells: readonly Piece[][], columns: readonly Column[], layout: TableLayout, paint: Paint): string {
  return layout.columns
    .map(({ index, width }) => cellText(cells[index]!, width, columns[index]!.align, paint))
    .join(' '.repeat(GAP))
    .trimEnd();
}

/** A table that fits no layout: a paragraph for each row, a line for each cell. */
function records({ columns, rows }: BlockOf<'table'>, terminal: Terminal): string[] {
  return rows.flatMap(({ cells: [first = '', ...rest], isStrong }, row) => [
    ...(row > 0 ? [''] : []),
    ...prose(first, terminal, isStrong ? { style: 'bold' } : {}),
    ...indented(
      rest.flatMap((cell, index) => prose([`${columns[index + 1]!.title}: `, cell], within(terminal), { hang: 2 })),
    ),
  ]);
}

function tableLines(block: BlockOf<'table'>, terminal: Terminal): string[] {
  const { columns, rows } = block;
  const head = columns.map(({ title }) => cellPieces(title, 'dim'));
  const body = rows.map(({ cells, isStrong }: Row) =>
    cells.map((cell) => cellPieces(cell, isStrong ? 'bold' : undefined)),
  );
  const sizes = columns.map((_, index) => {
    const texts = [head, ...body].map((cells) => plainOf(cells[index] ?? []));
    const widest = (parts: readonly string[]): number => Math.max(...parts.map(lengthOf));
    return { natural: widest(texts), firstWord: widest(texts.map((text) => /^\S*/u.exec(text)![0])) };
  });
  const layout = layoutTable(columns, sizes, terminal.width);
  if (!layout) return records(block, terminal);
  if (layout.isCut) terminal.missing.isCut = true;
  return [head, ...body].map((cells) => tableLine(cells, columns, layout, terminal.paint));
}

/** A word of a shell command, quoted parts in one, after the option that it is the value of. */
const SHELL_WORDS = /(--[\w-]+ )?((?:'[^']*'|\\'|[^\s'])+)/g;
const COMMAND_HANG = 4;

/** A shell command in lines that a shell joins again; an option and its value are parted where a line is too short for both. */
export function commandLines(command: string, width: number): string[] {
  const units = [...command.matchAll(SHELL_WORDS)].flatMap(([both, option = '', word = '']) =>
    option !== '' && (word.startsWith('-') || COMMAND_HANG + lengthOf(`${both} \\`) > width)
      ? [option.trimEnd(), word]
      : [both],
  );
  const lines: string[] = [];
  let line = '';
  for (const unit of units) {
    if (line !== '' && lengthOf(`${line} ${unit} \\`) > width) {
      lines.push(`${line} \\`);
      line = ' '.repeat(COMMAND_HANG) + unit;
    } else line = line === '' ? unit : `${line} ${unit}`;
  }
  return [...lines, line];
}

/** A line of code that goes on further right: a terminal would break it anywhere. */
const wrappedCode = (line: string, width: number): string[] => wrapText(line, width, CODE_HANG);

function foldLines({ summary, blocks }: BlockOf<'fold'>, terminal: Terminal): string[] {
  if (!terminal.isVerbose) {
    terminal.missing.isFolded = true;
    return [];
  }
  return [...prose(summary, terminal, { style: 'bold' }), ...indented(blockLines(blocks, within(terminal)))];
}

const linesOfBlock: (block: Block, terminal: Terminal) => string[] = byKind<Block, string[], [terminal: Terminal]>({
  heading: ({ text }, terminal) => prose(text, terminal, { style: 'bold' }),
  text: ({ text }, terminal) => prose(text, terminal),
  list: ({ items }, terminal) =>
    items.flatMap(({ term, text }) => prose(term === undefined ? text : [`${term}: `, text], terminal, { hang: 2 })),
  table: tableLines,
  figure: ({ data }, terminal) => (data ? linesOfBlock(data, terminal) : []),
  code: ({ language, text }, { width, isFile }) => {
    if (language === 'sh') return commandLines(plainText(text), width);
    const lines = plainText(text).split('\n');
    return isFile ? lines : lines.flatMap((line) => wrappedCode(line, width));
  },
  fold: foldLines,
});

/** Blocks with an empty line between them; none after a heading, and no heading without anything below it. */
function blockLines(blocks: readonly Block[], terminal: Terminal): string[] {
  const lines: string[] = [];
  let heading: string[] = [];
  for (const block of blocks) {
    const printed = linesOfBlock(block, terminal);
    if (block.kind === 'heading') heading = printed;
    else if (printed.length > 0) {
      lines.push(...(lines.length > 0 ? [''] : []), ...heading, ...printed);
      heading = [];
    }
  }
  return lines;
}

/** Titles that say what was not printed. */
const MOST_TITLES = 7;

/** Lines that name the omitted parts and how to see them. */
function leftOut({ missing: { titles, isCut }, width }: Terminal): string[] {
  const named = [...titles];
  const more = named.length > MOST_TITLES ? `; and of ${named.length - MOST_TITLES + 1} more` : '';
  const shown = more === '' ? named : named.slice(0, MOST_TITLES - 1);
  return [
    ...(titles.size > 0 ? [`--verbose prints more of: ${shown.join('; ')}${more}.`] : []),
    ...(isCut ? [`Tables are cut to ${width} columns; --json has all of it.`] : []),
  ];
}

const terminalOf = ({ paint = plainPaint, width, isVerbose = false }: TerminalOptions): Terminal => ({
  ...{ paint, width: width ?? TERMINAL_WIDTH, isVerbose, isFile: width === undefined },
  missing: { titles: new Set(), isFolded: false, isCut: false },
});

/** A document as a terminal shows it. */
export function printTerminal(document: Document, options: TerminalOptions = {}): string {
  const terminal = terminalOf(options);
  const parts = [prose(document.title, terminal, { style: 'bold' }), blockLines(document.lead, terminal)];
  // What the lead folds is named by its own summary, where that is wanted.
  terminal.missing.isFolded = false;
  for (const { title, blocks, isDetail } of document.sections) {
    const isShown = terminal.isVerbose || !isDetail;
    const lines = isShown ? blockLines(blocks, within(terminal)) : [];
    if (!isShown || terminal.missing.isFolded) terminal.missing.titles.add(plainText(title));
    terminal.missing.isFolded = false;
    if (lines.length > 0) parts.push([...prose(title, terminal, { style: 'bold' }), ...indented(lines)]);
  }
  parts.push(leftOut(terminal).flatMap((line) => prose(line, terminal, { style: 'dim' })));
  return `${parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

/** A table alone, without colours, in lines of at most `width`. */
export const printTable = (block: BlockOf<'table'>, width: number): string[] =>
  tableLines(block, terminalOf({ width }));
