import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WriterLock } from '../../src/store/writer-lock.ts';
import { sampled } from '../support/sampling/matrix.ts';
import { CHROMIUM, launchChromium } from './support/chromium.ts';
import { describeDifferences } from './support/compare-screenshots.ts';
import { fixedFonts, HAS_FIXED_FONTS } from './support/fixed-fonts.ts';
import { fillStore } from './support/page-store.ts';
import { VIEWS } from './support/page-views.ts';
import type { Means } from './support/screenshot.ts';
import { DESK, LOOKS, type Look, openScreenshotTab, PHONE, type ScreenshotTab } from './support/screenshot-tab.ts';
import { openServedPage, type ServedPage } from './support/served-page.ts';

/** Set to anything, it renews the screenshots of all views. */
const UPDATE = 'WARPSMITH_UPDATE_SCREENSHOTS';
const isUpdate = Boolean(process.env[UPDATE]);

const SCREENSHOTS = join(import.meta.dirname, 'screenshots');
const OVERFLOW = 'document.documentElement.scrollWidth - innerWidth';
/** How long a page may take to become like its screenshot. */
const PATIENCE_MS = 5000;

const viewNames = Object.keys(VIEWS) as (keyof typeof VIEWS)[];

describe.skipIf(CHROMIUM === undefined || !HAS_FIXED_FONTS)(
  'screenshots of the page in Chromium (skipped where there is none, or no Liberation fonts)',
  () => {
    let folder: string;
    let store: string;
    let lock: WriterLock;
    let served: ServedPage;
    let browser: Browser;
    let tab: ScreenshotTab;

    const launch = (args: readonly string[] = []) => launchChromium({ env: fixedFonts(folder), args });

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'warpsmith-screenshots-'));
      store = join(folder, 'store');
      process.env.XDG_STATE_HOME = join(folder, 'state'); // Nobody has solved a lesson.
      lock = fillStore(store);
      [served, browser] = await Promise.all([openServedPage(store, 'a-token-of-this-test'), launch()]);
      tab = await openScreenshotTab(browser, { address: served.address, store });
    });

    afterAll(async () => {
      await browser?.close();
      await served?.close();
      lock?.release();
      rmSync(folder, { recursive: true, force: true });
    });

    /** Compares the page with its screenshot until they are alike; where they do not become so, it writes what the page looks like. */
    async function compare(name: string, look: Look): Promise<string[]> {
      const file = join(SCREENSHOTS, `${name}.webp`);
      const seen = join(SCREENSHOTS, `${name}.seen.webp`);
      rmSync(seen, { force: true });
      if (isUpdate) {
        writeFileSync(file, await takeStill(look));
        return [];
      }
      if (!existsSync(file)) return [`there is no screenshot; ${UPDATE}=1 makes it`];
      const stored = await tab.means(readFileSync(file), look);
      for (const end = Date.now() + PATIENCE_MS; ; ) {
        const taken = await tab.take(look);
        const differences = describeDifferences(stored, await tab.means(taken, look));
        if (differences.length === 0) return [];
        if (Date.now() > end) {
          writeFileSync(seen, taken);
          return [...differences, `compare ${seen} with the screenshot; ${UPDATE}=1 renews it`];
        }
        await sleep(250);
      }
    }

    /** Once two in a row are the same. */
    async function takeStill(look: Look): Promise<Buffer> {
      for (let before = await tab.take(look); ; ) {
        await sleep(250);
        const taken = await tab.take(look);
        if (taken.equals(before)) return taken;
        before = taken;
      }
    }

    sampled('screenshots of the page', viewNames, {
      oneIn: 8,
      placeOf: () => 'web',
      always: () => isUpdate,
    })('shows %s as in its screenshots, and nothing beyond the right edge', async (view) => {
      await tab.show(VIEWS[view]);
      const found: Record<string, unknown> = {};
      for (const look of LOOKS) {
        const name = `${view}-${look.width}-${look.colorScheme}`;
        await tab.look(look);
        const beyond = await tab.page.evaluate(OVERFLOW);
        const differences = [
          ...(beyond === 0 ? [] : [`${beyond} px beyond the right edge`]),
          ...(await compare(name, look)),
        ];
        if (differences.length > 0) found[name] = differences;
      }
      expect(found).toEqual({});
    });

    describe('a comparison', () => {
      /** For the view that is shown; the policy of the page has nothing against style sheets of scripts. */
      const restyle = (style: string) =>
        tab.page.evaluate(`(() => {
          const sheet = new CSSStyleSheet();
          sheet.replaceSync(${JSON.stringify(style)});
          document.adoptedStyleSheets = [sheet];
        })()`);
      const see = async (style: string) => {
        await restyle(style);
        await tab.look(PHONE);
        return tab.means(await tab.take(PHONE), PHONE);
      };
      let plain: Means;

      beforeAll(async () => {
        await tab.show(VIEWS.run);
        plain = await see('');
      });
      afterAll(() => restyle(''));

      it.each([
        ['a button that is missing', '.controls button { visibility: hidden }'],
        ['a button elsewhere', '.controls { transform: translateX(3rem) }'],
        ['what reaches beyond the right edge', 'main h1 { width: 110vw }'],
        ['an empty chart', '.chart * { display: none }'],
        ['a chart without its curve', '.chart polyline { display: none }'],
        ['a list that is missing', '.lineage { visibility: hidden }'],
        ['a heading that is missing', '.progress + h2 { visibility: hidden }'],
        ['a figure elsewhere', '.large { transform: translateY(1.5rem) }'],
        ['another colour of links', ':root { --blue: #2f6fe0 }'],
        ['fainter text', ':root { --muted: #9a9a9a }'],
        ['another paper', ':root { --paper: #f4f4f2 }'],
        ['more room', 'h2 { margin-top: 4rem }'],
      ])('finds %s', async (_what, style) => {
        expect(describeDifferences(plain, await see(style))).not.toEqual([]);
      });

      it('finds nothing in the same page, drawn again', async () => {
        await tab.page.reload();
        await tab.show(VIEWS.run);
        expect(describeDifferences(plain, await see(''))).toEqual([]);
      });

      it('finds nothing where glyphs are hinted and stand at whole pixels', async () => {
        const other = await launch(['--font-render-hinting=full', '--disable-font-subpixel-positioning']);
        try {
          const beside = await openScreenshotTab(other, { address: served.address, store });
          await beside.show(VIEWS.run);
          for (const look of [DESK, PHONE]) {
            await Promise.all([tab, beside].map((one) => one.look(look)));
            const [ours, theirs] = await Promise.all([tab, beside].map((one) => one.take(look)));
            expect(ours!.equals(theirs!)).toBe(false);
            const [a, b] = [await tab.means(ours!, look), await tab.means(theirs!, look)];
            expect(describeDifferences(a, b)).toEqual([]);
          }
        } finally {
          await other.close();
        }
      });
    });
  },
);
