import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { LaunchCounters } from '../../../src/core/counters.ts';
import { DEVICE_SPECS } from '../../../src/hardware/device-specs.ts';
import { predictTime } from '../../../src/hardware/launch-model/predict-time.ts';

interface MeasuredRun {
  kernel: string;
  parameters: Record<string, number>;
  measuredUs: number;
  counters: LaunchCounters;
}

interface Pair extends MeasuredRun {
  predictedUs: number;
  interval: [number, number];
}

async function pairsOf(
  fixture: string,
  change: (counters: LaunchCounters) => LaunchCounters = (counters) => counters,
): Promise<Pair[]> {
  const text = await readFile(join(import.meta.dirname, '..', '..', 'fixtures', fixture), 'utf8');
  const { runs } = JSON.parse(text) as { runs: MeasuredRun[] };
  return runs.map((run) => predict({ ...run, counters: change(run.counters) }));
}

const h200 = DEVICE_SPECS.get('h200')!;

function predict(run: MeasuredRun): Pair {
  const { medianNs, intervalNs } = predictTime([run.counters], h200, { vetoNs: 0, attainableNs: 0 });
  return { ...run, predictedUs: medianNs / 1000, interval: [intervalNs[0] / 1000, intervalNs[1] / 1000] };
}

/** Kendall's τ between two rankings of the same things; ties of the measurement (3 %) are left out. */
function kendallTau(pairs: readonly Pair[]): number {
  let balance = 0;
  let count = 0;
  pairs.forEach((a, i) => {
    for (const b of pairs.slice(0, i)) {
      if (Math.abs(a.measuredUs / b.measuredUs - 1) < 0.03) continue;
      balance += Math.sign(a.measuredUs - b.measuredUs) * Math.sign(a.predictedUs - b.predictedUs);
      count += 1;
    }
  });
  return balance / count;
}

const errorFactor = ({ predictedUs, measuredUs }: Pair): number =>
  Math.max(predictedUs / measuredUs, measuredUs / predictedUs);

const geometricMean = (values: readonly number[]): number =>
  Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);

describe('the time model against 32 attention kernels measured on an H200, which calibrated it', () => {
  let pairs: Pair[];
  beforeAll(async () => {
    pairs = await pairsOf('h200-attention-times.json');
  });

  it('ranks them: Kendall τ of at least 0.85', () => {
    expect(pairs).toHaveLength(32);
    expect(kendallTau(pairs)).toBeGreaterThanOrEqual(0.85);
  });

  it('errs by less than a factor of 1.3 in the geometric mean, of 2 anywhere', () => {
    const factors = pairs.map(errorFactor);
    expect(geometricMean(factors)).toBeLessThan(1.3);
    expect(Math.max(...factors)).toBeLessThan(2);
  });

  it('is no less right where L2 is warm, as it was: 2 MB that stay in 60 MB', async () => {
    const sampledCache = { sampledRatio: 1, sampledLines: 16384, start: 'hot', dramReadBytes: 0, dramWriteBytes: 0 };
    const warm = await pairsOf('h200-attention-times.json', (counters) => ({
      ...counters,
      sampledCache: { ...sampledCache, start: 'hot' },
    }));
    expect(geometricMean(warm.map(errorFactor))).toBeLessThan(geometricMean(pairs.map(errorFactor)));
    expect(kendallTau(warm)).toBeGreaterThanOrEqual(kendallTau(pairs) - 1e-9);
  });

  it('has the measured time within its interval in at least three of four cases', () => {
    const within = pairs.filter(({ measuredUs, interval: [low, high] }) => measuredUs >= low && measuredUs <= high);
    expect(within.length).toBeGreaterThanOrEqual(24);
  });

  it('orders the four kernels at their defaults as measured: warp, rows, minimal, tiled', () => {
    const first = (kernel: string): Pair => pairs.find((pair) => pair.kernel === kernel)!;
    const order = ['04_warp', '03_rows', '01_minimal', '02_tiled'].map(first);
    const ascending = (values: number[]): boolean => values.every((value, i) => i === 0 || value > values[i - 1]!);
    expect(ascending(order.map((pair) => pair.measuredUs))).toBe(true);
    expect(ascending(order.map((pair) => pair.predictedUs))).toBe(true);
  });
});

describe('the time model against 32 small kernels measured on an H200, which it had not seen', () => {
  let pairs: Pair[];
  beforeAll(async () => {
    pairs = await pairsOf('h200-small-kernel-times.json');
  });

  it('errs by less than a factor of 1.4 in the geometric mean, of 2.6 anywhere', () => {
    const factors = pairs.map(errorFactor);
    expect(factors).toHaveLength(32);
    expect(geometricMean(factors)).toBeLessThan(1.4);
    expect(Math.max(...factors)).toBeLessThan(2.6);
  });

  it('ranks them: Kendall τ of at least 0.75', () => {
    expect(kendallTau(pairs)).toBeGreaterThanOrEqual(0.75);
  });

  it('is no less right with the simulated cache than with capacities alone, which know no warm cache', async () => {
    const withoutCache = await pairsOf('h200-small-kernel-times.json', ({ sampledCache: _, ...counters }) => counters);
    expect(pairs.filter(({ counters }) => counters.sampledCache).length).toBeGreaterThan(20);
    expect(geometricMean(pairs.map(errorFactor))).toBeLessThan(geometricMean(withoutCache.map(errorFactor)));
    expect(kendallTau(pairs)).toBeGreaterThanOrEqual(kendallTau(withoutCache));
  });

  it.each([
    'serial-sections',
    'uncoalesced-access',
    'bank-conflicts',
    'barrier-heavy',
    'atomics-contention',
    'occupancy',
  ])('agrees on which of two kernels is faster: %s', (id) => {
    const [defect, healthy] = ['defect', 'healthy'].map(
      (kind) => pairs.find(({ kernel }) => kernel === `${id}/${kind}`)!,
    );
    const faster = (read: (pair: Pair) => number): boolean => read(healthy!) < read(defect!);
    expect(faster((pair) => pair.predictedUs)).toBe(faster((pair) => pair.measuredUs));
  });
});
