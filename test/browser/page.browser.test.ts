import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampledOne } from '../support/sampling/matrix.ts';
import { smallRowSum } from '../support/small-row-sum.ts';
import { CHROMIUM, launchChromium } from './support/chromium.ts';
import { openServedPage, type ServedPage } from './support/served-page.ts';

const POLL = { timeout: 50_000, interval: 100 };

/** One thread per row, as the example's first kernel, that reads each row twice. */
const TWICE = `extern "C" __global__ void row_sum(const float* x, float* y, int rows, int columns) {
  const int row = blockIdx.x * 128 + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int turn = 0; turn < 2; ++turn)
    for (int column = 0; column < columns; ++column) sum += 0.5f * x[row * columns + column];
  y[row] = sum;
}
`;

const SOLUTION = join(import.meta.dirname, '../course/solutions/03_bank_conflicts/kernel.cu');

const TOKEN = 'a-token-of-this-test';
const folder = mkdtempSync(join(tmpdir(), 'warpsmith-page-'));
const store = join(folder, 'store');

let served: ServedPage;
let address = '';

beforeAll(async () => {
  // Where solved lessons are noted.
  process.env.XDG_STATE_HOME = join(folder, 'state');
  served = await openServedPage(store, TOKEN);
  address = served.address;
});

afterAll(async () => {
  await served?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Parts of the page that need no more than a run, which the first tests make. */
const part = sampledOne('parts of the page', ['compares', 'predicts', 'draws many', 'teaches'], {
  oneIn: 3,
  placeOf: () => 'web',
});

describe.skipIf(CHROMIUM === undefined)('the page in Chromium (skipped where there is none)', () => {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let firstRun = '';
  /** Addresses outside the server that the page asked for, and what its scripts or its policy complained of. */
  const elsewhere: string[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    browser = await launchChromium();
    context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    page = await context.newPage();
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(new URL(address).origin) && /^(https?|wss?):/.test(url)) elsewhere.push(url);
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    await page.goto(address);
  });

  afterAll(async () => {
    await browser?.close();
    expect({ elsewhere, complaints }).toEqual({ elsewhere: [], complaints: [] });
  });

  /** Replaces the source, as somebody does who dictates. */
  const type = async (text: string): Promise<void> => {
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(text);
  };

  it('starts a run, stops and resumes it, and shows it to its end: best so far, lineage, evaluations', async () => {
    expect(page.url()).not.toContain(TOKEN);
    await page.getByText('Start a run').click();
    await page.getByLabel('Problem or kernel').fill(smallRowSum(folder));
    await page.getByLabel('Device').selectOption('virtual:l4');
    await page.getByLabel('Workload').fill('rows=256,columns=64');
    await page.getByLabel('Evaluations').fill('3');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('evaluations-spent').waitFor({ timeout: 50_000 });
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    expect(await page.getByRole('region', { name: 'Evaluations' }).getByRole('row').count()).toBeGreaterThanOrEqual(4);
    expect(await page.locator('.lineage li').first().textContent()).toContain('e1 01_thread_per_row');
    expect(await page.getByRole('img', { name: /Best so far: predicted/ }).count()).toBe(1);
    firstRun = readdirSync(join(store, 'runs'))[0]!;
    await page.getByRole('link', { name: 'Report' }).click();
    await page.frameLocator('iframe').getByRole('heading', { level: 1 }).waitFor();
  });

  it('shows a candidate line by line, with its PTX, beside the findings', async () => {
    await page.getByRole('link', { name: 'Progress' }).click();
    await page.getByRole('link', { name: 'e1', exact: true }).first().click();
    await page.getByText('uncoalesced-access').waitFor();
    await page.getByRole('button', { name: 'PTX of line 11' }).click({ timeout: 50_000 });
    await page
      .getByText(/ld\.global/)
      .first()
      .waitFor();
    expect(await page.getByRole('button', { name: /kernel\.cu:11/ }).count()).toBeGreaterThan(0);
  });

  part('compares')('compares two runs that are chosen', async () => {
    const id = firstRun;
    cpSync(join(store, 'runs', id), join(store, 'runs', `${id}-2`), { recursive: true });
    await page.goto(`${new URL(address).origin}/#/runs`);
    await page.reload();
    for (const name of [id, `${id}-2`]) await page.getByLabel(`Compare ${name}`, { exact: true }).check();
    await page.getByRole('link', { name: 'Compare both' }).click();
    await page.frameLocator('iframe').getByText('row-sum').first().waitFor();
  });

  part('predicts')('predicts anew as a kernel is typed, and marks what does not compile', async () => {
    await page.goto(`${new URL(address).origin}/#/playground?target=examples/row-sum/01_thread_per_row`);
    await page.getByLabel('Shapes').fill('rows=256,columns=64');
    await page.getByLabel('Shapes').press('Enter');
    const time = page.locator('.verdict:not(.stale) .large');
    await time.waitFor({ timeout: 50_000 });
    const before = await time.textContent();
    expect(before).toMatch(/s$/);
    await page.locator('.cm-figures .heat4').first().waitFor();
    await type(TWICE);
    await expect.poll(() => page.locator('.verdict:not(.stale) .large').textContent(), POLL).not.toBe(before);
    await page.getByText('right in two checks').waitFor();

    await page.getByRole('tab', { name: 'Lanes' }).click();
    await page.getByRole('button', { name: '6', exact: true }).click();
    await page.getByRole('img', { name: '32 lanes in 32 sectors' }).waitFor();
    await page.getByRole('tab', { name: 'Divergence' }).click();
    await page.getByRole('img', { name: /^Lanes of the warp/ }).waitFor();

    await page.getByRole('tab', { name: 'Result' }).click();
    await type(TWICE.replace('sum +=', 'summe +='));
    await page.getByText('compile-failed').waitFor();
    await page.locator('.cm-lintRange-error').waitFor();
  });

  /** Opens the page anew until it takes less than a second: other tests may keep the machine busy for a while. */
  const showsWithinASecond = (awaited: Locator): Promise<void> =>
    expect
      .poll(async () => {
        const began = performance.now();
        await page.reload();
        await awaited.waitFor();
        return performance.now() - began;
      }, POLL)
      .toBeLessThan(1000);

  part('draws many')(
    'draws of a thousand runs, and of five thousand evaluations, the rows in view, within a second',
    async () => {
      manyRuns(store, firstRun);
      await page.goto(`${new URL(address).origin}/#/runs`);
      await page.reload();
      // The index has them after the first time.
      await page.getByText(/^10\d\d runs/).waitFor();
      await showsWithinASecond(page.getByText(/^10\d\d runs/));
      expect(await page.getByText('unreadable').count()).toBe(0);
      expect(await page.locator('tbody tr').count()).toBeLessThan(60);
      await page.goto(`${new URL(address).origin}/#/run/${LONG_RUN}`);
      const table = page.getByRole('region', { name: 'Evaluations' });
      await showsWithinASecond(table.getByRole('link', { name: 'e1', exact: true }));
      await table.press('End');
      await table.getByRole('link', { name: 'e5000', exact: true }).waitFor();
      expect(await table.getByRole('row').count()).toBeLessThan(60);
    },
  );

  part('teaches')('teaches a lesson, which is solved where the referee says so', async () => {
    await page.goto(`${new URL(address).origin}/#/course`);
    await page.getByRole('link', { name: /Bank conflicts/ }).click();
    await page.getByText('has 32 banks, like 32 doors').waitFor();
    await page.locator('.cm-line').first().waitFor();
    await type(readFileSync(SOLUTION, 'utf8'));
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByRole('status').filter({ hasText: 'Solved.' }).waitFor({ timeout: 110_000 });
    expect(await page.getByText('not yet').count()).toBe(0);
  });

  it('is closed to a page of elsewhere, even one that knows the token', async () => {
    const { origin } = new URL(address);
    const elsewherePage = createServer((_, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<!doctype html><title>elsewhere</title><iframe src="${origin}"></iframe>`);
    });
    elsewherePage.listen(0, '127.0.0.1');
    await once(elsewherePage, 'listening');
    const stranger = await browser.newPage();
    try {
      const unframed = stranger.waitForEvent('console', (message) => message.text().includes('frame-ancestors'));
      await stranger.goto(`http://127.0.0.1:${(elsewherePage.address() as AddressInfo).port}/`);
      await unframed;
      const runs = readdirSync(join(store, 'runs')).length;
      const told = await stranger.evaluate(
        async ({ origin, token }) => {
          const ask = (options: RequestInit) =>
            fetch(`${origin}/api/runs`, options).catch((error: Error) => error.name);
          const authorization = `Bearer ${token}`;
          const body = JSON.stringify({ target: 'softmax', device: 'virtual:l4' });
          return [
            await ask({ headers: { authorization } }),
            await ask({ method: 'POST', headers: { authorization, 'content-type': 'application/json' }, body }),
            // What a form may send.
            await ask({ method: 'POST', mode: 'no-cors', body }),
          ];
        },
        { origin, token: TOKEN },
      );
      expect(told).toEqual(['TypeError', 'TypeError', 'TypeError']);
      expect(readdirSync(join(store, 'runs'))).toHaveLength(runs);
    } finally {
      await stranger.close();
      elsewherePage.close();
    }
  });

  it('is reached by keyboard', async () => {
    await page.goto(`${new URL(address).origin}/#/runs`);
    await page.reload();
    await page.locator('.long-table').waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('warpsmith');
    for (const name of ['Runs', 'Playground']) {
      await page.keyboard.press('Tab');
      expect(await page.evaluate('document.activeElement.textContent')).toBe(name);
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Playground' }).waitFor();
    // Tab indents in the editor, and must not keep the keyboard there.
    await page.locator('.cm-content').focus();
    for (const key of ['Escape', 'Tab']) await page.keyboard.press(key);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Result');
  });
});

const LONG_RUN = '2026-01-01T00-00-00-long';

/** A thousand short runs, and one of 5,000 evaluations, made from the log of a run; without counters. */
function manyRuns(store: string, of: string): void {
  const folder = join(store, 'runs');
  const log = readFileSync(join(folder, of, 'events.jsonl'), 'utf8');
  const events = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const [started, finished] = ['run-started', 'run-finished'].map((type) =>
    events.find((event) => event.type === type),
  );
  const first = events.find(({ type }) => type === 'evaluation-finished');
  const { counters: _counters, ...evaluation } = { ...first.evaluation, findings: [] };
  const write = (id: string, count: number): void => {
    const judged = Array.from({ length: count }, (_, i) => ({
      ...first,
      iteration: i,
      evaluation: { ...evaluation, id: `e${i + 1}` },
    }));
    const all = [started, ...judged, { ...finished, best: 'e1', speedup: 1 }];
    mkdirSync(join(folder, id));
    writeFileSync(
      join(folder, id, 'events.jsonl'),
      all.map((event, i) => `${JSON.stringify({ ...event, sequence: i + 1 })}\n`).join(''),
    );
  };
  for (let run = 0; run < 1000; run++) write(`2026-01-02T00-00-00-short-${run}`, 1);
  write(LONG_RUN, 5000);
}

it('answers nobody without the token, no other site, and no other name of this machine', async () => {
  const { origin } = new URL(address);
  const ask = (headers: Record<string, string>) => fetch(`${origin}/api/runs`, { headers });
  const bearer = { authorization: `Bearer ${TOKEN}` };
  expect((await ask(bearer)).status).toBe(200);
  expect((await ask({})).status).toBe(401);
  expect((await ask({ authorization: 'Bearer another' })).status).toBe(401);
  expect((await ask({ ...bearer, origin: 'http://elsewhere.example' })).status).toBe(403);
  expect((await ask({ ...bearer, 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  for (const host of ['elsewhere.example', '127.0.0.1:1']) expect(await statusOf(host)).toBe(403);
  const answer = await ask({ ...bearer, origin });
  expect(answer.status).toBe(200);
  expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
});

/** fetch sets the host by itself. */
async function statusOf(host: string): Promise<number | undefined> {
  const { hostname, port } = new URL(address);
  const asked = request({ hostname, port, path: '/', headers: { host } });
  asked.end();
  const [answer] = await once(asked, 'response');
  answer.resume();
  return answer.statusCode;
}
