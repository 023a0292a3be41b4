import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundlePage } from '../../scripts/build-page.ts';
import { pageFile } from '../../src/server/page-files.ts';
import { servePage } from '../../src/server/page-server.ts';
import { CHROMIUM, launchChromium } from './support/chromium.ts';

const TOKEN = 'a-token-of-this-test';
const folder = mkdtempSync(join(tmpdir(), 'warpsmith-page-'));
const store = join(folder, 'store');
const ending = new AbortController();

let address = '';
let served: Promise<void>;

beforeAll(async () => {
  const files = new Map([...(await bundlePage())].map(([name, text]) => pageFile(name, text)));
  const listening = Promise.withResolvers<string>();
  served = servePage(
    { store, port: 0, token: TOKEN, files },
    { signal: ending.signal, onListening: (url) => listening.resolve(url) },
  );
  address = await Promise.race([listening.promise, served.then(() => '')]);
}, 60_000);

afterAll(async () => {
  ending.abort();
  await served;
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(CHROMIUM === undefined)('the page in Chromium (skipped where there is none)', () => {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
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
  }, 60_000);

  afterAll(async () => {
    await browser?.close();
    expect({ elsewhere, complaints }).toEqual({ elsewhere: [], complaints: [] });
  });

  it('starts a run and shows it to its end, best so far, lineage and evaluations', async () => {
    expect(page.url()).not.toContain(TOKEN);
    await page.getByText('Start a run').click();
    await page.getByLabel('Problem or kernel').fill('examples/row-sum');
    await page.getByLabel('Device').selectOption('virtual:l4');
    await page.getByLabel('Workload').fill('rows=256,columns=64');
    await page.getByLabel('Evaluations').fill('3');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.getByText('evaluations-spent').waitFor({ timeout: 50_000 });
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    expect(await page.getByRole('region', { name: 'Evaluations' }).getByRole('row').count()).toBeGreaterThanOrEqual(4);
    expect(await page.locator('.lineage li').first().textContent()).toContain('e1 01_thread_per_row');
    expect(await page.getByRole('img', { name: /Best so far: predicted/ }).count()).toBe(1);
    await page.getByRole('link', { name: 'Report' }).click();
    await page.frameLocator('iframe').getByRole('heading', { level: 1 }).waitFor();
  }, 60_000);
});

it('answers nobody without the token, and no other site', async () => {
  const { origin } = new URL(address);
  const ask = (headers: Record<string, string>) => fetch(`${origin}/api/runs`, { headers });
  const bearer = { authorization: `Bearer ${TOKEN}` };
  expect((await ask(bearer)).status).toBe(200);
  expect((await ask({})).status).toBe(401);
  expect((await ask({ authorization: 'Bearer another' })).status).toBe(401);
  expect((await ask({ ...bearer, origin: 'http://elsewhere.example' })).status).toBe(403);
  expect((await ask({ ...bearer, 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  const answer = await ask({ ...bearer, origin });
  expect(answer.status).toBe(200);
  expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
});
