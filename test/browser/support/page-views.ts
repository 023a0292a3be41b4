import type { Page } from 'playwright-core';
import { RUNS } from './page-store.ts';

/** What a screenshot shows. */
export interface View {
  /** Behind `#/`. */
  readonly place: string;
  /** Opens what is closed at first, and waits until all is there. */
  readonly open: (page: Page) => Promise<unknown>;
}

const WAIT = { timeout: 50_000 };

const framed = (page: Page) => page.frameLocator('iframe').getByRole('heading', { level: 1 }).waitFor();
const drawn = (page: Page) => page.getByRole('img', { name: /^Best so far/ }).waitFor();
const judged = (page: Page) => page.locator('.verdict:not(.stale) .large').waitFor(WAIT);

/** Every kind of page. */
export const VIEWS = {
  runs: {
    place: 'runs',
    async open(page) {
      await page.getByText('Start a run').click();
      await page.getByRole('row').nth(4).waitFor();
      await page.getByLabel('Device').getByRole('option').first().waitFor({ state: 'attached' });
    },
  },
  run: { place: `run/${RUNS.finished}`, open: drawn },
  'live-run': {
    place: `run/${RUNS.running}`,
    open: (page) => page.getByRole('region', { name: 'Options' }).waitFor(),
  },
  report: { place: `run/${RUNS.finished}/report`, open: framed },
  comparison: { place: `compare/${RUNS.other}/${RUNS.finished}`, open: framed },
  candidate: {
    place: `candidate/${RUNS.finished}/e3`,
    open: (page) => page.getByRole('button', { name: 'PTX of line 32' }).click(WAIT),
  },
  patterns: { place: 'patterns', open: framed },
  devices: { place: 'devices', open: (page) => page.getByRole('listitem').first().waitFor() },
  playground: { place: 'playground?target=examples/row-sum/01_thread_per_row', open: judged },
  course: { place: 'course', open: (page) => page.getByRole('listitem').first().waitFor() },
  lesson: {
    place: 'playground?lesson=3',
    async open(page) {
      await judged(page);
      await page.getByRole('tab', { name: 'Lanes' }).click();
      await page.getByRole('button', { name: '19', exact: true }).click(WAIT);
      await page.locator('.lanes').getByRole('img').waitFor();
    },
  },
} as const satisfies Readonly<Record<string, View>>;
