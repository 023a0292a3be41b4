import type { Browser, Page } from 'playwright-core';
import type { DevicesReport } from '../../../src/server/wire.ts';
import type { View } from './page-views.ts';
import { type Means, meansOf, takeScreenshot } from './screenshot.ts';

/** How a page is looked at. */
export interface Look {
  /** Of the window, px. */
  readonly width: number;
  /** px of a screenshot for each of the page: those of a desk are halved, which keeps them small. */
  readonly scale: number;
  readonly colorScheme: 'light' | 'dark';
}

export const DESK: Look = { width: 1400, scale: 0.5, colorScheme: 'light' };
export const PHONE: Look = { width: 390, scale: 1, colorScheme: 'light' };

/** In this order the window changes its size once. */
export const LOOKS: readonly Look[] = [
  DESK,
  { ...DESK, colorScheme: 'dark' },
  { ...PHONE, colorScheme: 'dark' },
  PHONE,
];

const HEIGHT = 900;

/** Stands for the store's path, which differs between machines. */
const STORE = '/home/ann/softmax/.warpsmith';

/** A tab of the page in which screenshots are taken: nothing in it depends on the machine or moves. */
export interface ScreenshotTab {
  readonly page: Page;
  show(view: View): Promise<void>;
  look(look: Look): Promise<void>;
  take(look: Look): Promise<Buffer>;
  means(screenshot: Buffer, look: Look): Promise<Means>;
}

/** @param address of the page, with its token. */
export async function openScreenshotTab(
  browser: Browser,
  { address, store }: { address: string; store: string },
): Promise<ScreenshotTab> {
  const context = await browser.newContext({ viewport: { width: 1400, height: HEIGHT } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await page.route(/\/api\/(runs|patterns)$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replaceAll(store, STORE) });
  });
  await page.route('**/api/devices', async (route) => {
    const response = await route.fetch();
    const report = (await response.json()) as DevicesReport;
    // GPUs of this machine are in no screenshot.
    const devices = report.devices.filter(({ kind }) => kind === 'virtual');
    await route.fulfill({ response, json: { ...report, devices } });
  });
  await page.goto(address);
  return {
    page,
    async show({ place, open }) {
      await page.goto(`${new URL(address).origin}/#/${place}`);
      await open(page);
    },
    async look({ width, colorScheme }) {
      await page.setViewportSize({ width, height: HEIGHT });
      await page.emulateMedia({ colorScheme });
      await page.evaluate(SETTLED);
    },
    take: ({ scale }) => takeScreenshot(session, scale),
    means: (screenshot, { scale }) => meansOf(page, screenshot, scale),
  };
}

/** No caret blinks, nothing is scrolled, and what follows the width of the window has been drawn. */
const SETTLED = `(async () => {
  document.activeElement?.blur();
  scrollTo(0, 0);
  await document.fonts.ready;
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
})()`;
