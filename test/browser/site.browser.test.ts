import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderSite } from '../../scripts/site/render-site.ts';
import { CHROMIUM, launchChromium } from './support/chromium.ts';

const LESSON = 'course/03_bank_conflicts/page.html';

describe.skipIf(CHROMIUM === undefined)(
  'the site, opened from a folder in Chromium (skipped where there is none)',
  () => {
    let folder: string;
    let browser: Browser;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'warpsmith-site-'));
      for (const [file, contents] of await renderSite()) {
        await mkdir(dirname(join(folder, file)), { recursive: true });
        await writeFile(join(folder, file), contents);
      }
      browser = await launchChromium();
    });

    afterAll(async () => {
      await browser?.close();
      await rm(folder, { recursive: true, force: true });
    });

    it.each([
      [1400, 'light'],
      [390, 'dark'],
    ] as const)('searches at %d px, fits, and asks nobody else', async (width, colorScheme) => {
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
      const elsewhere: string[] = [];
      page.on('request', (request) => void (request.url().startsWith('file:') || elsewhere.push(request.url())));
      page.on('pageerror', (error) => elsewhere.push(String(error)));
      await page.goto(pathToFileURL(join(folder, LESSON)).href);
      await page.keyboard.press('/');
      await page.keyboard.type('occupan');
      await page.waitForSelector('#found a');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.waitForURL(/05_occupancy|#occupancy/);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      expect(elsewhere).toEqual([]);
      await page.close();
    });
  },
);
