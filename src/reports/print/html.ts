import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { byKind } from '../../core/by-kind.ts';
import { legend } from '../charts/chart.ts';
import { CHART_STYLE, THEME_STYLE } from '../charts/chart-style.ts';
import {
  type Block,
  type BlockOf,
  type Document,
  type Inline,
  plainOf,
  type Row,
  type Section,
  spansOf,
} from '../document.ts';
import { type Markup, markup } from '../markup.ts';

const asset = (file: string): string => readFileSync(new URL(`./${file}`, import.meta.url), 'utf8').trimEnd();

/** Everything a page looks like; nothing is loaded from anywhere. */
const STYLE = [THEME_STYLE, asset('page.css'), CHART_STYLE].join('\n');

/** Sorts and filters tables. Nothing of a report's text is ever part of it. */
export const SCRIPT = asset('page.js');

const sourceOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** What the policy of a page that shows reports must allow: this script and this style, byte by byte. */
export const REPORT_SOURCES = { script: sourceOf(SCRIPT), style: sourceOf(`\n${STYLE}\n`) };

/** Ids that links may lead to. */
type Targets = ReadonlySet<string>;

const inlineMarkup = (inline: Inline, targets: Targets): Markup[] =>
  spansOf(inline).map(({ text, style, to }) => {
    if (to !== undefined && targets.has(to)) return markup`<a href="#${to}">${text}</a>`;
    if (style === undefined) return markup`${text}`;
    if (style === 'strong') return markup`<strong>${text}</strong>`;
    return style === 'code' ? markup`<code>${text}</code>` : markup`<span class="${style}">${text}</span>`;
  });

/** A box that scrolls by itself, by keyboard too, so that the page never does. */
const scrollBox = (label: string, body: Markup): Markup =>
  markup`<div class="scroll" tabindex="0" role="region" aria-label="${label}">${body}</div>\n`;

/** A longer cell has a line of its own in a card. */
const LONG_CELL = 16;
/** Words that a terminal leaves out this early stand below the row's other cells, across the table. */
const BELOW = 4;

/** A row is a body of its own, which a narrow page shows as a card: there each cell says what it is. */
function tableMarkup({ label, columns, rows }: BlockOf<'table'>, targets: Targets): Markup {
  const isBelow = columns.map(({ isShortened, drop = 0 }) => isShortened === true && drop >= BELOW);
  const cellMarkup = (cell: Inline, index: number): Markup => {
    const { title, align } = columns[index]!;
    const className = align === 'right' ? 'number' : plainOf(cell).length > LONG_CELL ? 'words' : 'plain';
    return markup`<td class="${className}" data-title="${title}">${inlineMarkup(cell, targets)}</td>`;
  };
  const head = columns.map(
    ({ title, align }, index) =>
      !isBelow[index] && markup`<th scope="col"${align === 'right' && markup` class="number"`}>${title}</th>`,
  );
  const body = ({ cells, id, isStrong }: Row): Markup => {
    const below = cells.map(
      (cell, index) =>
        isBelow[index] &&
        plainOf(cell) !== '' &&
        markup`<span class="part" data-title="${columns[index]!.title}">${inlineMarkup(cell, targets)}</span> `,
    );
    const span = isBelow.filter((is) => !is).length;
    return markup`<tbody${id !== undefined && markup` id="${id}"`}${isStrong && markup` class="strong"`}><tr>${cells.map((cell, index) => !isBelow[index] && cellMarkup(cell, index))}</tr>${below.some(Boolean) && markup`<tr class="below"><td colspan="${span}">${below}</td></tr>`}</tbody>\n`;
  };
  return scrollBox(label, markup`<table><thead><tr>${head}</tr></thead>\n${rows.map(body)}</table>`);
}

function listMarkup({ items }: BlockOf<'list'>, targets: Targets): Markup {
  if (items.some(({ term }) => term !== undefined))
    return markup`<dl>${items.map(({ term = '', text }) => markup`<dt>${term}</dt><dd>${inlineMarkup(text, targets)}</dd>\n`)}</dl>\n`;
  return markup`<ul class="list">${items.map(({ text }) => markup`<li>${inlineMarkup(text, targets)}</li>\n`)}</ul>\n`;
}

const WIDE = { width: 860, height: 400 };
const NARROW = { width: 345, height: 320 };

/** The same chart for a wide and for a narrow page: scaled text would not be read on a phone. */
function figureMarkup({ id, chart, legend: words }: BlockOf<'figure'>): Markup {
  const wide = chart({ ...WIDE, id: `${id}-wide` });
  const narrow = chart({ ...NARROW, id: `${id}-narrow` });
  return markup`<div class="wide">${wide}</div><div class="narrow">${narrow}</div>
${words && legend(words, wide)}\n`;
}

/** The first characters that make a line of a diff something else than context. */
const DIFF_CLASSES: readonly (readonly [start: string, className: string])[] = [
  ['---', 'file'],
  ['+++', 'file'],
  ['@@', 'place'],
  ['\\', 'place'],
  ['+', 'added'],
  ['-', 'removed'],
];

function diffLine(line: string): Markup {
  const [, className] = DIFF_CLASSES.find(([start]) => line.startsWith(start)) ?? [];
  return markup`<span${className !== undefined && markup` class="${className}"`}>${line === '' ? ' ' : line}</span>`;
}

const codeMarkup = ({ language, text }: BlockOf<'code'>): Markup =>
  language === 'diff'
    ? scrollBox('Sources compared', markup`<pre class="diff">${text.split('\n').map(diffLine)}</pre>`)
    : scrollBox('Code', markup`<pre class="${language === 'sh' ? 'command' : 'lines'}"><code>${text}</code></pre>`);

const blockMarkup = byKind<Block, Markup, [targets: Targets]>({
  heading: ({ text }, targets) => markup`<h3>${inlineMarkup(text, targets)}</h3>\n`,
  text: ({ text, isNote, large }, targets) => {
    const paragraph = markup`<p${isNote && markup` class="note"`}>${inlineMarkup(text, targets)}</p>\n`;
    return large === undefined
      ? paragraph
      : markup`<div class="result"><p class="figure">${large}</p>${paragraph}</div>`;
  },
  list: listMarkup,
  table: tableMarkup,
  figure: figureMarkup,
  code: codeMarkup,
  fold: ({ summary, blocks }, targets) =>
    markup`<details><summary>${inlineMarkup(summary, targets)}</summary><div class="inside">${blocksMarkup(blocks, targets)}</div></details>\n`,
});

const blocksMarkup = (blocks: readonly Block[], targets: Targets): Markup[] =>
  blocks.map((block) => blockMarkup(block, targets));

const sectionMarkup = ({ id, title, blocks }: Section, targets: Targets): Markup =>
  markup`<section class="section" id="${id}" aria-labelledby="${id}-heading">
<h2 id="${id}-heading">${title}</h2>
${blocksMarkup(blocks, targets)}</section>
`;

const rowIds = (blocks: readonly Block[]): string[] =>
  blocks.flatMap((block) => {
    if (block.kind === 'fold') return rowIds(block.blocks);
    return block.kind === 'table' ? block.rows.flatMap(({ id }) => id ?? []) : [];
  });

/** No network, no form, no script or style but the page's own: the file is only looked at. */
const POLICY = `default-src 'none'; script-src ${REPORT_SOURCES.script}; style-src ${REPORT_SOURCES.style}; img-src data:; base-uri 'none'; form-action 'none'`;

/** A document as one HTML file that needs nothing else. */
export function printHtml({ title, lead, sections, footer }: Document): string {
  const targets = new Set(sections.flatMap(({ id, blocks }) => [id, ...rowIds(blocks)]));
  const contents = sections.map((section) => markup`<li><a href="#${section.id}">${section.title}</a></li>`);
  // Style and script hold no text of elsewhere; escaping would break them.
  const style: Markup = { markup: `<style>\n${STYLE}\n</style>` };
  const script: Markup = { markup: `<script>${SCRIPT}</script>` };
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="warpsmith">
<title>${plainOf(title)} – warpsmith</title>
${style}
</head>
<body>
<div class="page">
<header class="hero">
<h1>${inlineMarkup(title, targets)}</h1>
${blocksMarkup(lead, targets)}</header>
<div class="columns">
<nav class="contents" aria-label="Contents"><ol>${contents}</ol></nav>
<main>
${sections.map((section) => sectionMarkup(section, targets))}</main>
</div>
${footer !== undefined && markup`<footer>${footer}</footer>\n`}</div>
${script}
</body>
</html>
`.markup;
}
