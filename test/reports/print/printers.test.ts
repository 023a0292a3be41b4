import { describe, expect, it } from 'vitest';
import {
  type Block,
  bad,
  code,
  type Document,
  figures,
  flattened,
  fold,
  heading,
  link,
  list,
  names,
  section,
  strong,
  table,
  text,
  words,
} from '../../../src/reports/document.ts';
import { evaluationDocument } from '../../../src/reports/documents/evaluation.ts';
import { runDocument } from '../../../src/reports/documents/run.ts';
import { printHtml } from '../../../src/reports/print/html.ts';
import { escapeMarkdown, printMarkdown } from '../../../src/reports/print/markdown.ts';
import { type Paint, printTerminal } from '../../../src/reports/print/terminal.ts';
import { buildRunView } from '../../../src/reports/run-view.ts';
import { fullRun, hostileRun, readHostileSource, readSource } from '../full-run.ts';
import { measuredEvaluation } from '../measured-evaluation.ts';
import { measuredRun } from '../measured-run.ts';
import { recordedRun } from '../recorded-run.ts';

const ESC = '\u001b';
/** Everything that means something to a terminal, to Markdown or to HTML. */
const HOSTILE = `${ESC}[2J<script>alert(1)</script> & &lt; **x** _y_ \`z\` [a](b) | \u202e "q" 'r'`;

/** The text in every place that a document has for one. */
const everywhere = (hostile: string): Document => ({
  title: hostile,
  lead: flattened([text(hostile), text([strong(hostile), code(hostile), bad(hostile), link(hostile, 'rows')])]),
  sections: section('rows', hostile, [
    heading(hostile),
    list([hostile, { term: hostile, text: hostile }]),
    table(hostile, [hostile], [words<string>(hostile, (cell) => cell), words('bold', (cell) => strong(cell))]),
    { kind: 'code', language: 'diff', text: hostile },
    { kind: 'code', language: 'sh', text: hostile },
    fold(hostile, [text(hostile)]),
  ]),
  footer: hostile,
});

describe('text that means something to a format', () => {
  it('is text on a terminal: no control character is left', () => {
    const printed = printTerminal(everywhere(HOSTILE), { isVerbose: true });
    expect(printed).not.toContain(ESC);
    expect(printed).not.toContain('\u202e');
    expect(printed).toContain('\\x1b[2J<script>alert(1)</script>');
  });

  it('keeps our own colours, and only those', () => {
    const paint: Paint = (style, painted) => `{${style}:${painted}}`;
    const printed = printTerminal({ title: 't', lead: [text([bad(`a${ESC}[1m`), ' b'])], sections: [] }, { paint });
    expect(printed).toBe('{bold:t}\n\n{red:a\\x1b[1m} b\n');
  });

  it('is text in HTML, in elements and in attributes', () => {
    const page = printHtml(everywhere(HOSTILE));
    expect(page).not.toContain(ESC);
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page).not.toContain('alert(1)</script>');
    expect(page).toContain('&lt;script&gt;');
    expect(page).not.toMatch(/aria-label="[^"]*<|aria-label="[^"]*"q"/);
  });

  it('is text in Markdown', () => {
    const printed = printMarkdown(everywhere(HOSTILE));
    expect(printed).not.toContain(ESC);
    const outsideCode = printed
      .replaceAll(/^<summary>.*$/gm, '')
      .replaceAll(/^```[\s\S]*?^```$/gm, '')
      .replaceAll(/(`+) .*? \1/g, '');
    expect(outsideCode).not.toMatch(/(?<!\\)<script>/);
    expect(outsideCode).not.toMatch(/[^\\]\]\(b\)/);
    expect(outsideCode).not.toMatch(/(?<!\\)&lt; (?!&gt;)\*\*x/);
    const rows = printed.split('\n').filter((line) => line.startsWith('| '));
    // Two cells each: no bar of a text begins a third.
    for (const row of rows) expect(row.match(/(?<!\\)\|/g), row).toHaveLength(3);
  });

  it.each([
    ['# a', String.raw`\# a`],
    ['- a', String.raw`\- a`],
    ['1. a', String.raw`1\. a`],
    ['> a', String.raw`\> a`],
    ['a\n# b', 'a # b'],
  ])('begins nothing at the beginning of a line: %j', (given, printed) => {
    expect(printMarkdown({ title: 't', lead: [text(given)], sections: [] })).toBe(`# t\n\n${printed}\n`);
  });

  it.each([
    ['BLOCK_M=64, [1.0, 2.0] (e3)', 'BLOCK_M=64, [1.0, 2.0] (e3)'],
    ['a < b, x_1', 'a < b, x_1'],
    ['*a* _b_ `c` \\', String.raw`\*a\* \_b\_ \`c\` \\`],
    ['<b> &amp; [a](b)', String.raw`\<b> \&amp; [a\](b)`],
  ])('is escaped no more than need be: %s', (given, escaped) => expect(escapeMarkdown(given)).toBe(escaped));
});

describe('a terminal', () => {
  const wide = table(
    'wide',
    [{ name: 'a-name-that-is-to-be-copied', words: 'words '.repeat(20).trim(), ns: '1,234.5 µs' }],
    [
      names('name', ({ name }) => name),
      words('words', (row) => row.words),
      figures('time', ({ ns }) => ns),
      words('less', (row) => row.words, 1),
    ],
  );
  const print = (width: number): string[] =>
    printTerminal({ title: 't', lead: flattened([wide]), sections: [] }, { width })
      .split('\n')
      .slice(2, 4);

  it('shortens words, leaves columns out by their number, and never cuts names and figures', () => {
    const [head, row] = print(80);
    expect(head).toMatch(/^name +words +time +less$/);
    expect(row).toMatch(/^a-name-that-is-to-be-copied {2}words (?:words )*words… +1,234\.5 µs {2}words .*…$/);
    const [shorter, cut] = print(64);
    expect(shorter).toMatch(/^name +words +time$/);
    expect(cut).toMatch(/a-name-that-is-to-be-copied {2}words (?:words )*words… +1,234\.5 µs$/);
  });

  it('says that something was cut, or folded', () => {
    const document: Document = {
      title: 't',
      lead: flattened([wide]),
      sections: [
        ...section('a', 'Here', [text('shown'), fold('more', [text('hidden')])]),
        ...section('b', 'Detail', [text('deep')], true),
      ],
    };
    const short = printTerminal(document);
    expect(short).toContain('--verbose prints more of: Here; Detail.');
    expect(short).toContain('Tables are cut to 80 columns; --json has all of it.');
    expect(short).not.toMatch(/hidden|deep/);
    const long = printTerminal(document, { isVerbose: true, width: 1000 });
    expect(long).toMatch(/more\n {4}hidden/);
    expect(long).toMatch(/Detail\n {2}deep/);
    expect(long).not.toContain('--verbose');
  });

  it('prints a row a paragraph where no table fits', () => {
    const names2 = table('n', ['x'.repeat(30)], [names('a', (x) => x), names('b', (x) => x), names('c', (x) => x)]);
    const printed = printTerminal({ title: 't', lead: flattened([names2]), sections: [] }, { width: 60 });
    expect(printed).toBe(`t\n\n${'x'.repeat(30)}\n  b: ${'x'.repeat(30)}\n  c: ${'x'.repeat(30)}\n`);
  });

  it('breaks a shell command where a shell joins it again', () => {
    const command = `warpsmith optimize 'a folder/with  spaces' ${'--set BLOCK_M=64 '.repeat(6).trim()}`;
    const printed = printTerminal({
      title: 't',
      lead: [{ kind: 'code', language: 'sh', text: command }],
      sections: [],
    });
    const lines = printed.split('\n').slice(2, -1);
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.map((line) => line.replace(/ \\$/, '').trim()).join(' ')).toBe(command);
  });
});

/** A quoted word of a command is one. */
const WORDS = /(?:'[^']*'|\\'|[^\s'])+/g;

const codeLines = (blocks: readonly Block[]): string[] =>
  blocks.flatMap((block) => {
    if (block.kind === 'fold') return codeLines(block.blocks);
    return block.kind === 'code' && block.language !== 'sh' ? block.text.split('\n').map((line) => line.trim()) : [];
  });

describe('no line is longer than 80 columns but for a word that is longer', () => {
  const run = (events: Parameters<typeof buildRunView>[1], read = readSource) =>
    runDocument(buildRunView('r', events, { readSource: read }));
  it.each([
    ['a full run', run(fullRun)],
    ['a measured run', run(measuredRun('accepted'))],
    ['a recorded run', run(recordedRun)],
    ['a hostile run', run(hostileRun, readHostileSource)],
    ['an evaluation', evaluationDocument(measuredEvaluation())],
  ])('%s', (_, document) => {
    const sources = new Set(document.sections.flatMap(({ blocks }) => codeLines(blocks)));
    for (const isVerbose of [false, true]) {
      const lines = printTerminal(document, { isVerbose }).split('\n');
      // Sources are printed as they are.
      const prose = lines.filter((line) => !sources.has(line.trim()));
      for (const line of prose) if ([...line].length > 80) expect(line.trim().match(WORDS), line).toHaveLength(1);
    }
  });
});
