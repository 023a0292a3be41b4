import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { optimizeProblem } from '../../src/app/optimize.ts';
import { runDocument } from '../../src/reports/documents/run.ts';
import { printHtml } from '../../src/reports/print/html.ts';
import { buildRunView } from '../../src/reports/run-view.ts';
import { NOTHING_KEPT, UNLIMITED } from '../../src/store/events.ts';
import { NARROWEST, narrowAttention } from '../support/attention-problem.ts';
import { sampled } from '../support/sampling/matrix.ts';
import { fullRun, hostileRun, readHostileSource, readSource } from './full-run.ts';
import { RECORDED_SPEEDUP, readRecordedSource, recordedRun } from './recorded-run.ts';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const SECTIONS = [
  'progression',
  'ablation',
  'changes',
  'roofline',
  'workloads',
  'resources',
  'hot-lines',
  'findings',
  'negative',
  'parameters',
  'options',
  'advice',
  'evaluations',
  'ledger',
  'environment',
  'reproduce',
];
/** Nothing was counted by line, or few settings have times. */
const ABSENT: Readonly<Record<string, readonly string[]>> = {
  virtual: ['parameters'],
  recorded: ['hot-lines'],
  full: ['resources', 'hot-lines', 'parameters'],
  hostile: ['resources', 'hot-lines', 'parameters'],
};
const PHONE = { width: 390, height: 812 };
const WINDOW = { width: 1400, height: 900 };
const LOOKS = [PHONE, WINDOW].flatMap((size) => (['light', 'dark'] as const).map((scheme) => ({ ...size, scheme })));
const DARK_PAPER = 'rgb(20, 22, 26)';

// What runs in the page is text: the project has no types of a browser, and should not seem to have its globals.

const SCROLL_WIDTH = 'document.documentElement.scrollWidth';
const SECTION_IDS = "[...document.querySelectorAll('main > section')].map(({ id }) => id)";
/** Boxes that hold more than they show: whether of a table, and whether the keyboard reaches them. */
const SCROLLING = `[...document.querySelectorAll('.scroll')]
  .filter((box) => box.scrollWidth > box.clientWidth)
  .map((box) => ({ isTable: box.querySelector('table') !== null, tabIndex: box.tabIndex }))`;
/** Table cells that reach over the edge of the window. */
const OFF_SCREEN = `[...document.querySelectorAll('td, th')]
  .filter((cell) => cell.getBoundingClientRect().right > innerWidth)
  .map((cell) => cell.textContent)`;
const EVALUATIONS = `[...document.querySelectorAll('#evaluations tbody')]
  .filter((row) => !row.hidden)
  .map((row) => row.id.replace('evaluation-', ''))`;
const PROGRESSION_MARKS =
  "[...document.querySelectorAll('#progression .wide [data-mark]')].map((one) => one.dataset.mark)";
const OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })";

/** Every visible text with a contrast below 4.5 (WCAG 2, text of any size), as `text: ratio`. */
const FAINT_TEXTS = String.raw`(() => {
  const channels = (color) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = (color) => {
    const [r, g, b] = channels(color).map((channel) => {
      const share = channel / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const surfaceOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at);
      if (channels(backgroundColor)[3] !== 0) return backgroundColor;
    }
    return 'rgb(255, 255, 255)';
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (text === '' || element.closest('title, desc') || element.getClientRects().length === 0) continue;
    const style = getComputedStyle(element);
    const ink = element.closest('svg') ? style.fill : style.color;
    const [a, b] = [luminance(ink), luminance(surfaceOf(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (!(ratio >= 4.5)) faint.push(text.slice(0, 40) + ': ' + ratio.toFixed(2));
  }
  return faint;
})()`;

const isOpen = async (details: Locator): Promise<boolean> => (await details.getAttribute('open')) !== null;

describe.skipIf(!CHROMIUM)('the HTML report in a browser (needs Chromium in /usr/bin)', () => {
  let browser: Browser;
  let folder: string;
  const files: Record<string, string> = {};

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'warpsmith-html-'));
    const written = {
      recorded: printHtml(runDocument(buildRunView('recorded', recordedRun, { readSource: readRecordedSource }))),
      full: printHtml(runDocument(buildRunView('full', fullRun, { readSource }))),
      hostile: printHtml(runDocument(buildRunView('hostile', hostileRun, { readSource: readHostileSource }))),
    };
    for (const [name, html] of Object.entries(written)) {
      files[name] = path.join(folder, `${name}.html`);
      await writeFile(files[name], html);
    }
    browser = await chromium.launch({ executablePath: CHROMIUM!, args: ARGUMENTS });
  });
  afterAll(async () => {
    await browser?.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Of a search on a virtual GPU. */
  async function virtualReport(): Promise<string> {
    const { runFolder } = await optimizeProblem({
      target: narrowAttention(folder, NARROWEST),
      workloads: ['b1h1s32d64'],
      parameters: {},
      // Draws small shapes.
      seed: 14,
      budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 3 },
      store: folder,
      device: 'virtual:l4',
      threads: 1,
    });
    return path.join(runFolder, 'report.html');
  }

  /** Opens a report, and collects everything it should not do. */
  async function open(name: string, viewport: typeof PHONE): Promise<{ page: Page; complaints: string[] }> {
    const page = await browser.newPage({ viewport, colorScheme: 'light' });
    const complaints: string[] = [];
    const url = pathToFileURL(files[name]!).href;
    page.on('console', (message) => complaints.push(`console: ${message.text()}`));
    page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
    page.on('dialog', (dialog) => complaints.push(`dialog: ${dialog.message()}`));
    page.on('request', (request) => {
      if (request.url() !== url) complaints.push(`request: ${request.url()}`);
    });
    await page.goto(url);
    return { page, complaints };
  }

  sampled('reports in a browser', Object.keys(ABSENT), { oneIn: 4, placeOf: () => 'src/reports/print' })(
    '%s: quiet and whole; on a phone and in a window, light and dark, folded and open: no wider than the page, and readable',
    async (name) => {
      if (name === 'virtual') files.virtual = await virtualReport();
      const { page, complaints } = await open(name, WINDOW);
      expect(await page.evaluate(SECTION_IDS)).toEqual(SECTIONS.filter((id) => !ABSENT[name]!.includes(id)));
      for (const state of ['folded', 'open']) {
        if (state === 'open') await page.evaluate(OPEN_ALL);
        for (const { width, height, scheme } of LOOKS) {
          const look = `${state}, ${width} × ${height}, ${scheme}`;
          await page.setViewportSize({ width, height });
          await page.emulateMedia({ colorScheme: scheme });
          expect(await page.evaluate<number>(SCROLL_WIDTH), look).toBeLessThanOrEqual(width);
          expect(await page.evaluate(OFF_SCREEN), look).toEqual([]);
          const paper = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
          expect(paper === DARK_PAPER, look).toBe(scheme === 'dark');
          expect(await page.evaluate(FAINT_TEXTS), look).toEqual([]);
        }
      }
      expect(complaints).toEqual([]);
      await page.close();
    },
  );

  test('only sources scroll in a box of their own, which the keyboard reaches', async () => {
    const { page } = await open('recorded', PHONE);
    await page.evaluate(OPEN_ALL);
    const boxes = await page.evaluate<{ isTable: boolean; tabIndex: number }[]>(SCROLLING);
    expect(boxes.length).toBeGreaterThan(0);
    for (const box of boxes) expect(box).toEqual({ isTable: false, tabIndex: 0 });
    await page.close();
  });

  test('evaluations are sorted by what a column shows, whatever its unit, and filtered; a link finds a row all the same', async () => {
    const { page, complaints } = await open('recorded', WINDOW);
    const rows = () => page.evaluate<string[]>(EVALUATIONS);
    const logged = await rows();
    const byTime = recordedRun
      .flatMap((event) => (event.type === 'evaluation-finished' ? [event.evaluation] : []))
      .toSorted((a, b) => a.timing!.medianNs - b.timing!.medianNs);
    await page.getByRole('button', { name: 'Measured time' }).click();
    const sorted = await rows();
    expect(sorted).toHaveLength(logged.length);
    expect(sorted[0]).toBe(byTime[0]!.id);
    expect(sorted.at(-1)).toBe(byTime.at(-1)!.id);
    await page.getByRole('button', { name: 'Measured time' }).click();
    expect((await rows())[0]).toBe(byTime.at(-1)!.id);
    await page.getByRole('button', { name: 'Evaluation' }).click();
    expect(await rows()).toEqual(logged);

    const field = page.locator('#evaluations input');
    await field.fill('01_minimal keep');
    expect(await rows()).toEqual(['e1', 'e4']);
    expect(await page.locator('#evaluations output').innerText()).toBe(`2 of ${logged.length}`);
    await page.locator('.hero a[href="#evaluation-e10"]').click();
    // The page hears of the new place after the click.
    await expect.poll(rows).toEqual(logged);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('without scripts every row is there', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(pathToFileURL(files.recorded!).href);
    expect(await page.locator('#evaluations tbody').count()).toBe(
      recordedRun.filter(({ type }) => type === 'evaluation-finished').length,
    );
    expect(await page.locator('button, input').count()).toBe(0);
    await context.close();
  });

  test('the first screen says what was done, by how much, how sure, and on what', async () => {
    const { page } = await open('recorded', WINDOW);
    for (const text of [
      `${RECORDED_SPEEDUP}×`,
      '95 % interval',
      'NVIDIA H200',
      'measured on hardware',
      '03_rows → 04_warp',
    ]) {
      const box = await page.locator('.hero').getByText(text).first().boundingBox();
      expect(box!.y + box!.height, text).toBeLessThanOrEqual(WINDOW.height);
    }
    await page.close();
  });

  test('folded parts open and close by keyboard', async () => {
    const { page } = await open('full', WINDOW);
    const folded = page.locator('#options details').first();
    await folded.locator('summary').focus();
    expect(await isOpen(folded)).toBe(false);
    await page.keyboard.press('Enter');
    expect(await isOpen(folded)).toBe(true);
    await page.keyboard.press('Space');
    expect(await isOpen(folded)).toBe(false);
    await page.close();
  });

  test('charts have names, and only those that fit are there', async () => {
    const { page } = await open('full', PHONE);
    for (const size of [PHONE, WINDOW]) {
      await page.setViewportSize(size);
      expect(await page.getByRole('img').count()).toBe(3);
      for (const name of ['predicted time by evaluation', 'What each change of the best is worth', 'Roofline of'])
        expect(await page.getByRole('img', { name }).count(), name).toBe(1);
    }
    await page.close();
  });

  test('text that tries to be markup is shown as it is', async () => {
    const { page } = await open('hostile', WINDOW);
    expect(await page.title()).not.toBe('taken');
    expect(await page.locator('script').count()).toBe(1);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.locator('style').count()).toBe(1);
    expect(await page.locator('main').innerText()).toContain('<script>');
    await page.close();
  });

  test('every evaluation of the search has its mark', async () => {
    const { page } = await open('recorded', WINDOW);
    const marks = await page.evaluate<string[]>(PROGRESSION_MARKS);
    const evaluations = recordedRun.filter(({ type }) => type === 'evaluation-finished');
    const kept = recordedRun.filter((event) => event.type === 'decision' && event.decision === 'keep');
    expect(marks).toHaveLength(evaluations.length);
    expect(marks.filter((mark) => ['start', 'kept', 'best'].includes(mark))).toHaveLength(kept.length);
    expect(marks.filter((mark) => mark === 'confirmed')).toHaveLength(1);
    await page.close();
  });
});
