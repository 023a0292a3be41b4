import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { gpuPriceOf } from '../../src/app/gpu-price.ts';
import { GPU_PRICE } from '../../src/core/requests/kinds.ts';
import { ledgerView } from '../../src/reports/view/ledger.ts';
import { UNLIMITED } from '../../src/store/events.ts';

const asked = async (gpuPricePerHour: number | string, more: object = {}) => {
  const said: string[] = [];
  const price = await gpuPriceOf({ gpuPricePerHour, device: 'cuda:0', onStep: (text) => said.push(text), ...more });
  return { price, said };
};

test('a listed price is said with provider, date and source; a given one needs no word', async () => {
  const listed = await asked('h200');
  expect(listed.price).toEqual({
    gpuPricePerHour: 4.59,
    gpuPriceSource: '4.59 USD an hour for h200 (runpod-secure, read on 2026-09-25 at https://www.runpod.io/pricing)',
  });
  expect(listed.said).toEqual([expect.stringContaining('read on 2026-09-25 at https://www.runpod.io/pricing')]);
  expect(ledgerView([], { ...UNLIMITED, ...listed.price }).gpuPriceSource).toContain('2026-09-25');
  expect(await asked(3.5)).toEqual({ price: { gpuPricePerHour: 3.5 }, said: [] });
});

test('a provider or a kind of provider is chosen; auto takes the model of the workers', async () => {
  expect((await asked('h100-sxm@lambda')).price.gpuPricePerHour).toBe(4.29);
  expect((await asked('h100-sxm@marketplace')).price.gpuPriceSource).toContain('runpod-community');
  expect((await asked('auto@nebius', { device: 'queue', workers: 'gpu=h200' })).price.gpuPricePerHour).toBe(4.5);
});

test('a list of one’s own goes by the driver’s name of the GPU', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-prices-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const prices = join(folder, 'prices.json');
  const mine = { gpu: 'mine', provider: 'lab', kind: 'own', perHour: 0.4, source: 'accounting', date: '2026-11-01' };
  const write = (row: object) =>
    writeFileSync(prices, JSON.stringify({ schemaVersion: 1, currency: 'EUR', prices: [{ ...mine, ...row }] }));
  write({ names: ['nvidia l4 (VIRTUAL)'] });
  const { price } = await asked('auto', { device: 'virtual:l4', prices });
  expect(price.gpuPriceSource).toBe('0.4 EUR an hour for mine (lab, read on 2026-11-01 at accounting)');
  write({ names: ['NVIDIA L4'], date: 'yesterday' });
  await expect(asked('auto', { prices })).rejects.toMatchObject({ details: { path: 'prices[0].date' } });
  await expect(asked(2, { prices })).rejects.toMatchObject({ details: { code: 'option-missing' } });
});

test('a GPU that is not listed is refused, with those that are', async () => {
  await expect(asked('v100')).rejects.toMatchObject({
    details: { code: 'no-gpu-price', expected: expect.stringContaining('h200@runpod-secure') },
  });
  expect(() => GPU_PRICE.read('--gpu-price', '-3', undefined)).toThrow(/can't be "-3"/);
  expect(GPU_PRICE.read('--gpu-price', '3.5', undefined)).toBe(3.5);
});
