import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { agreementBySite, agreementOf, type CountedKernel } from '../../bench/counters/counter-recording.ts';
import type { LaunchCounters } from '../../src/core/counters.ts';

const text = await readFile('test/fixtures/h200-attention-times.json', 'utf8');
const [{ counters }] = (JSON.parse(text) as { runs: [{ counters: LaunchCounters }] }).runs;

const line = (file: string, number: number, globalLoadSectors: number) =>
  ({ location: { file, line: number }, globalLoadSectors, globalStoreSectors: 0 }) as LaunchCounters['lines'][number];
const kernel = (ncu: Partial<LaunchCounters>, virtual: Partial<LaunchCounters>): CountedKernel => ({
  kernel: 'k',
  parameters: {},
  workload: 'w',
  ptx: '',
  ncu: [{ ...counters, lines: [], ...ncu }],
  virtual: [{ ...counters, lines: [], ...virtual }],
});

it('counters agree launch by launch where they are equal; the ratio is of all that both count', () => {
  const [same, other] = [kernel({}, {}), kernel({ globalLoadSectors: 100 }, { globalLoadSectors: 300 })];
  const found = agreementOf([same, other]).find(({ counter }) => counter === 'globalLoadSectors')!;
  expect(found).toMatchObject({ count: 2, equal: 1 });
  expect(found.ratio).toBeCloseTo(Math.sqrt(3), 12);
});

it('sites are lines of a file, whatever its folder; one that only ncu counts is unequal', () => {
  const counted = kernel(
    { lines: [line('/tmp/x/kernel.cu', 3, 8), line('/tmp/x/kernel.cu', 4, 8)] },
    { lines: [line('kernel.cu', 3, 8)] },
  );
  const found = agreementBySite([counted]).find(({ counter }) => counter === 'globalLoadSectors')!;
  expect(found).toMatchObject({ count: 2, equal: 1, ratio: 1 });
});
