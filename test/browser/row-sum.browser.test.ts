import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleForBrowser } from '../../scripts/build-browser.ts';
import { sumCounters } from '../../src/core/sum-counters.ts';
import { diagnose } from '../../src/diagnosis/diagnose.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { predictTime } from '../../src/hardware/launch-model/predict-time.ts';
import { runInline } from '../../src/virtual-gpu/run-inline.ts';
import { rowSumRequest } from './row-sum-request.ts';
import { CHROMIUM, launchChromium } from './support/chromium.ts';

const spec = DEVICE_SPECS.get('l4')!;
const BOUNDS = { vetoNs: 0, attainableNs: 0 };

/** Nothing but own scripts, and WebAssembly: what a careful page allows. */
const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'";

// What runs in the page is text: the project has no types of a browser, and should not seem to have its globals.

/** Decodes the request's buffers, runs it, predicts, diagnoses; bytes travel as arrays of numbers. */
const IN_PAGE = `async (json) => {
  const warpsmith = await import('/warpsmith.js');
  const given = JSON.parse(json);
  const spec = warpsmith.DEVICE_SPECS.get('l4');
  const buffers = Object.fromEntries(Object.entries(given.buffers).map(([name, bytes]) => [name, Uint8Array.from(bytes)]));
  const outcome = await warpsmith.runInline({ ...given, spec, buffers });
  if (!outcome.ok) return JSON.stringify(outcome);
  const counters = warpsmith.sumCounters(outcome.counters);
  const timing = warpsmith.predictTime(outcome.counters, spec, { vetoNs: 0, attainableNs: 0 });
  const findings = warpsmith.diagnose({ counters, timing, spec, halfPrecisionMatrixWork: false });
  return JSON.stringify({ y: Array.from(outcome.buffers.y), counters: outcome.counters, timing, findings });
}`;

describe.skipIf(CHROMIUM === undefined)('in Chromium (skipped where there is none)', () => {
  let server: Server;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    const code = await bundleForBrowser();
    server = createServer((request, response) => {
      const isScript = request.url === '/warpsmith.js';
      response.setHeader('Content-Security-Policy', POLICY);
      response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html');
      response.end(isScript ? code : '<!doctype html><title>warpsmith</title>');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    browser = await launchChromium();
    page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  });

  afterAll(async () => {
    await browser?.close();
    await new Promise((resolve) => server.close(resolve));
  });

  it('a kernel gives the bits, counters, prediction and findings that it gives in Node', async () => {
    const ptx = await readFile(join(import.meta.dirname, '..', 'fixtures', 'ptx', 'row-sum.ptx'), 'utf8');
    const request = rowSumRequest(ptx, spec);
    const here = await runInline(request);
    if (!here.ok) throw new Error(here.message);
    const timing = predictTime(here.counters, spec, BOUNDS);
    const input = { counters: sumCounters(here.counters), timing, spec, halfPrecisionMatrixWork: false };

    const { spec: _, ...sent } = request;
    const buffers = Object.fromEntries(Object.entries(sent.buffers).map(([name, bytes]) => [name, Array.from(bytes)]));
    const text = await page.evaluate<string>(`(${IN_PAGE})(${JSON.stringify(JSON.stringify({ ...sent, buffers }))})`);
    const there = JSON.parse(text) as Record<string, unknown>;

    expect(there.y).toEqual(Array.from(here.buffers.y!));
    expect(there.counters).toEqual(JSON.parse(JSON.stringify(here.counters)));
    expect(there.timing).toEqual(JSON.parse(JSON.stringify(timing)));
    expect(there.findings).toEqual(JSON.parse(JSON.stringify(diagnose(input))));
    expect(here.counters[0]!.instructions).toBeGreaterThan(1000);
  });
});
