import { byKind } from '../../core/by-kind.ts';
import { type Block, type BlockOf, type Document, type Inline, plainOf, type Section, spansOf } from '../document.ts';
import { escapeMarkup } from '../markup.ts';
import { plainText } from '../plain-text.ts';

export interface MarkdownOptions {
  /** Image files of figures, by the figures' ids; the others are left to their words. */
  readonly images?: Readonly<Record<string, string>>;
}

/** Characters that would begin something within a line; an underscore does so only at the edge of a word. */
const MARKS = /[\\`*~]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|<(?=[a-z/!?])|&(?=#?\w+;)|\](?=[[(:])/giu;
/** What would make a line a heading, a quotation, a list or a rule. */
const BEGINNING = /^(\s*)([#>+=-]|\d+(?=[.)]))/;

/** A text in a line of Markdown as it is: nothing in it is markup, and no line breaks. */
export const escapeMarkdown = (text: string): string =>
  plainText(text)
    .replaceAll(/\s*\n\s*/g, ' ')
    .replaceAll(MARKS, String.raw`\$&`);

/** Code between backticks, more of them than the code holds in a row. */
function codeSpan(text: string): string {
  const plain = plainText(text).replaceAll('\n', ' ');
  const ticks = '`'.repeat(1 + longestRun(plain));
  return ticks.length === 1 ? `\`${plain}\`` : `${ticks} ${plain} ${ticks}`;
}

const longestRun = (text: string): number => Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));

const inlineText = (inline: Inline): string =>
  spansOf(inline)
    .map(({ text, style }) => {
      if (style === 'code') return codeSpan(text);
      return style === 'strong' ? `**${escapeMarkdown(text)}**` : escapeMarkdown(text);
    })
    .join('');

/** At the beginning of a line. */
const lineText = (inline: Inline): string =>
  inlineText(inline).replace(BEGINNING, (_, space: string, mark: string) =>
    /\d/.test(mark) ? `${space}${mark}\\` : `${space}\\${mark}`,
  );

/** A Markdown table; cells are Markdown already, but for bars and line breaks. */
export function markdownTable(
  columns: readonly { readonly title: string; readonly align?: 'right' }[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  const rule = columns.map(({ align }) => (align === 'right' ? '---:' : '---'));
  return [line(columns.map(({ title }) => cell(title))), line(rule), ...rows.map((row) => line(row.map(cell)))].join(
    '\n',
  );
}

/** Fences longer than any run of backticks in the text, so that it can't end its own block. */
function fenced({ language, text }: BlockOf<'code'>): string {
  const plain = plainText(text);
  const fence = '`'.repeat(Math.max(3, 1 + longestRun(plain)));
  return `${fence}${language === 'text' ? '' : language}\n${plain}\n${fence}`;
}

const markdownBlock: (block: Block, options: MarkdownOptions) => string = byKind<Block, string, [MarkdownOptions]>({
  heading: ({ text }) => `### ${inlineText(text)}`,
  text: ({ text }) => lineText(text),
  list: ({ items }) =>
    items
      .map(({ term, text }) => `- ${term === undefined ? lineText(text) : inlineText([`${term}: `, text])}`)
      .join('\n'),
  table: ({ columns, rows }) =>
    markdownTable(
      columns.map(({ title, ...column }) => ({ ...column, title: escapeMarkdown(title) })),
      rows.map(({ cells }) => cells.map(inlineText)),
    ),
  figure: ({ id, alt, data }, options) => {
    const image = options.images?.[id];
    if (image !== undefined) return `![${escapeMarkdown(alt)}](${image})`;
    return data ? markdownBlock(data, options) : '';
  },
  code: fenced,
  fold: ({ summary, blocks }, options) =>
    `<details>\n<summary>${escapeMarkup(plainOf(summary))}</summary>\n\n${markdownBlocks(blocks, options)}\n\n</details>`,
});

/** Blocks without a document around them. */
export const markdownBlocks = (blocks: readonly Block[], options: MarkdownOptions = {}): string =>
  blocks
    .map((block) => markdownBlock(block, options))
    .filter((text) => text !== '')
    .join('\n\n');

const sectionText = ({ title, blocks }: Section, options: MarkdownOptions): string =>
  `## ${escapeMarkdown(title)}\n\n${markdownBlocks(blocks, options)}`;

/** A document as Markdown, of GitHub's flavour. */
export function printMarkdown({ title, lead, sections, footer }: Document, options: MarkdownOptions = {}): string {
  const parts = [
    `# ${inlineText(title)}`,
    markdownBlocks(lead, options),
    ...sections.map((section) => sectionText(section, options)),
    ...(footer === undefined ? [] : [escapeMarkdown(footer)]),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}
