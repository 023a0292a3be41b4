import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { SCRIPT } from '../../src/reports/print/html.ts';
import { buildRunView } from '../../src/reports/run-view.ts';
import { fullRun, HOSTILE, hostileRun, readHostileSource, readSource } from './full-run.ts';
import { measuredRun } from './measured-run.ts';
import { runHtml, runMarkdown, runTerminal } from './printed-run.ts';
import { RECORDED_SPEEDUP, readRecordedSource, recordedRun } from './recorded-run.ts';
import { sampleRun } from './sample-run.ts';

const full = buildRunView('run-1', fullRun, { readSource });
const html = runHtml(full);

/** What a reader sees, roughly: no style, no tags. */
const textOf = (page: string): string =>
  page
    .replaceAll(/<(style|script)>[\s\S]*?<\/\1>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

/** Everything but the part's own section, so that a test sees what is missing. */
const sectionOf = (page: string, id: string): string =>
  new RegExp(`<section class="section" id="${id}"[\\s\\S]*?</section>`).exec(page)?.[0] ?? '';

const SCRIPTS = /<script>([\s\S]*?)<\/script>/g;

describe('the HTML report', () => {
  test('loads nothing, and runs nothing but its own script, which the policy names by its bytes, as it does the style', () => {
    const scripts = [...html.matchAll(SCRIPTS)].map(([, text]) => text!);
    expect(scripts).toHaveLength(1);
    const hash = createHash('sha256').update(scripts[0]!).digest('base64');
    const [, style] = /<style>([\s\S]*?)<\/style>/.exec(html)!;
    const styleHash = createHash('sha256').update(style!).digest('base64');
    expect(html).toContain(
      `default-src &#39;none&#39;; script-src &#39;sha256-${hash}&#39;; style-src &#39;sha256-${styleHash}&#39;; img-src data:`,
    );
    expect(html).not.toMatch(/ style=/);
    expect(html.replace(SCRIPTS, '')).not.toMatch(/<script|<link|<iframe|<object|@import|url\(|javascript:/i);
    // No text of a run is part of it.
    expect(scripts[0]).toBe(SCRIPT);
    expect(html.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:\/\//);
  });

  test.each([
    ['progression', 'predicted time, log scale'],
    ['ablation', '03_rows → 02_tiled'],
    ['ablation', '1.30× [1.200, 1.400]'],
    ['changes', '+int two;'],
    ['changes', 'kernel: 02_tiled → 03_rows'],
    ['roofline', 'provable: lower bound 1.2 µs'],
    ['roofline', 'attainable: 4.3 µs'],
    ['workloads', 'vetoed by b4h1s64d64: 0.90× there'],
    ['findings', '1 ÷ 0.4 = 2.5'],
    ['negative', 'pad/03_rows.PAD (failed)'],
    ['options', '(1.40 − 1) × 0.50 ÷ (1.0 + 0.2) = 0.100'],
    ['options', 'iteration 0: 4 open moves (2 of them not listed), a share of 1.5 evaluations each'],
    ['advice', 'the workload under-fills the device'],
    ['advice', 'none of this is a speed-up'],
    ['evaluations', 'active lanes per instruction 9.31'],
    ['ledger', 'money, at 3.5 per GPU hour'],
    ['environment', 'clang 21.1.0'],
    ['reproduce', 'warpsmith optimize /home/user/attention'],
  ])('%s says: %s', (id, text) => {
    expect(textOf(sectionOf(html, id)).replaceAll('&#39;', "'")).toContain(text);
  });

  test('the last options table is in full, earlier ones are folded', () => {
    const options = sectionOf(html, 'options');
    expect(options.indexOf('= 0.100')).toBeLessThan(options.indexOf('<details>'));
    expect(options.match(/<details>/g)).toHaveLength(1);
  });

  test('of earlier turns, the best moves and those given up are shown, the others counted', () => {
    const [first, ...others] = full.options;
    const row = first!.options[1]!;
    const many = Array.from({ length: 30 }, (_, index) => ({ ...row, change: `open-${index}` }));
    const abandoned = { ...row, change: 'given-up', state: 'abandoned' as const };
    const view = { ...full, options: [{ ...first!, options: [...many, abandoned], omitted: 2 }, ...others] };
    for (const page of [sectionOf(runHtml(view), 'options'), runMarkdown(view)]) {
      expect(page).toContain('iteration 0: 32 open moves (24 of them not listed)');
      expect(page.match(/open-\d+/g)).toHaveLength(8);
      expect(page).toContain('given-up');
    }
  });

  test('evaluations that figures name are there to be followed', () => {
    const targets = [...html.matchAll(/href="#([^"]+)"/g)].map(([, target]) => target!);
    expect(targets).toContain('evaluation-e2');
    for (const target of new Set(targets)) expect(html).toContain(`id="${target}"`);
  });

  test('predicted is never called measured', () => {
    const text = textOf(runHtml(buildRunView('r', sampleRun)));
    expect(text).toContain('predicted 2.00× faster than the start');
    expect(text.replaceAll(/not measured|nothing here was measured on hardware|measured times vary/gi, '')).not.toMatch(
      /measured/i,
    );
  });

  test('measured keeps its verdicts, intervals, confirmation and sanitizer, and never says predicted', () => {
    const text = textOf(runHtml(buildRunView('r', measuredRun('accepted')))).replaceAll(/(?<=\() | (?=\))/g, '');
    for (const said of [
      'measured 1.40× faster than the start',
      '95 % interval [1.380, 1.420], faster than the start on fresh blocks, accepted; sanitizer: clean',
      'screened',
      '[1.390, 1.430]',
      '03_rows (e4): accepted: faster, measured 1.400× the speed of the start [1.380, 1.420] on fresh blocks',
      'only the confirmation says how much faster the best is than the start',
    ])
      expect(text).toContain(said);
    expect(text).not.toMatch(/predict/i);
  });

  test('claims nothing where there is nothing to claim', () => {
    expect(textOf(runHtml(buildRunView('r', measuredRun('refused'))))).toContain('No kept change was confirmed');
    const unconfirmed = measuredRun('accepted').filter(({ type }) => type !== 'confirmation');
    expect(textOf(runHtml(buildRunView('r', unconfirmed)))).toContain('so no speed-up is claimed');
    const failed = buildRunView('r', sampleRun.slice(0, 1), { tornLastLine: true });
    const text = textOf(runHtml(failed));
    expect(text).toContain('The start has no valid time');
    expect(text).toContain('the log has no end');
    expect(text).toContain('The last line of the event log was cut off');
  });

  test('text that tries to be markup stays text, in every format that has markup', () => {
    const hostile = buildRunView(HOSTILE, hostileRun, { readSource: readHostileSource });
    expect(HOSTILE).toContain('<script>');
    for (const page of [runHtml(hostile)]) {
      expect(page.replace(SCRIPTS, '')).not.toMatch(/<script|<img|onerror=alert\(1\)>/);
      expect(page.match(/<\/script>/g)).toHaveLength(1);
      expect(page.match(/<\/style>/g)).toHaveLength(1);
      expect(page).toContain('&lt;script&gt;');
    }
    const summaries = [...runMarkdown(hostile).matchAll(/<summary>(.*)<\/summary>/g)].map(([, text]) => text!);
    expect(summaries.length).toBeGreaterThan(0);
    for (const summary of summaries) expect(summary).not.toContain('<script>');
  });
});

describe('Markdown and the terminal have the same parts', () => {
  const markdown = runMarkdown(full);
  const terminal = runTerminal(full);

  test.each([
    '## What each change of the best is worth',
    '| 03_rows → 02_tiled | e1 | 3.17× | – |  |',
    'Start to best: kernel.cu +2 −1',
    '+int two;',
    '## Workloads',
    '## Roofline',
    '## Options',
    '(1.40 − 1) × 0.50 ÷ (1.0 + 0.2) = 0.100',
    '## How the best fills the device',
    '| money, at 3.5 per GPU hour | 0.00 | 5 |',
    'warpsmith optimize /home/user/attention',
    'Search: guided by findings',
    'over 2 workloads (weighted geometric mean)',
  ])('Markdown: %s', (text) => expect(markdown).toContain(text));

  test.each([
    'What each change of the best is worth',
    'Workloads',
    'vetoed by b4h1s64d64',
    'How the best fills the device',
    'Start to best: kernel.cu +2 −1',
    'How to do it again',
    'guided by findings',
  ])('terminal: %s', (text) => expect(terminal).toContain(text));

  test('a source can’t end the block it lies in', () => {
    const fenced = buildRunView('r', fullRun, { readSource: (hash) => `${readSource(hash)}\n\`\`\`\n# taken\n` });
    expect(runMarkdown(fenced)).toMatch(/^````diff$/m);
  });

  test('a recorded run reports as what it was', () => {
    const view = buildRunView('r', recordedRun, { readSource: readRecordedSource });
    expect(view.speedup!.toFixed(2)).toBe(RECORDED_SPEEDUP);
    expect(runMarkdown(view)).toContain(`measured ${RECORDED_SPEEDUP}× faster than the start [`);
  });
});
