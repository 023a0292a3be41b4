import { describe, expect, it } from 'vitest';
import { DEVICE_SPECS } from '../../../src/hardware/device-specs.ts';
import { predictTime } from '../../../src/hardware/launch-model/predict-time.ts';
import { makeLaunch } from '../../support/counters/make-launch.ts';

const l4 = DEVICE_SPECS.get('l4')!;
const bounds = { vetoNs: 100, attainableNs: 200 };

const compute = makeLaunch({
  functionName: 'multiply',
  ctaCount: 58 * 6,
  block: [256, 1, 1],
  classes: { fp32: 58 * 48 * 100_000 },
});
const chain = makeLaunch({
  functionName: 'reduce',
  ctaCount: 58,
  block: [32, 1, 1],
  classes: { shuffle: 58 * 100_000 },
});

describe('predictTime', () => {
  it('is labelled predicted and carries both bounds', () => {
    expect(predictTime([compute], l4, bounds)).toMatchObject({ kind: 'predicted', ...bounds });
  });

  it('names the binding resource, with the arithmetic of every bound, slowest first', () => {
    const timing = predictTime([compute], l4, bounds);
    // 48 warps × 100,000 ÷ 4 per clock = 1.2 M clocks ÷ 1.7 GHz = 706 µs.
    expect(timing.bindingResource).toMatch(/fp32|issue/);
    expect(timing.medianNs).toBeGreaterThan(705_882);
    expect(timing.medianNs).toBeLessThan(705_882 * 1.2);
    const all = timing.bounds!;
    expect(all.map((bound) => bound.ns)).toEqual(all.map((bound) => bound.ns).sort((a, b) => b - a));
    for (const bound of all) expect(bound.arithmetic).toMatch(/\d/);
  });

  it('adds the launches of a sequence', () => {
    const alone = predictTime([compute], l4, bounds).medianNs;
    const twice = predictTime([compute, compute], l4, bounds);
    expect(twice.medianNs).toBeCloseTo(2 * alone, 6);
    expect(twice.launches).toHaveLength(2);
    expect(twice.launches![0]).toMatchObject({ functionName: 'multiply', ctaCount: 348, launchOverheadNs: 1500 });
  });

  it('adds memsets: a fixed time each, and what DRAM takes for their bytes', () => {
    const alone = predictTime([compute], l4, bounds).medianNs;
    const drained = 1e6 / (l4.dramBytesPerSecond.value * l4.dramAttainableRatio.value * 1e-9);
    const timing = predictTime([compute], l4, bounds, { memsetBytes: [4, 1e6 - 4] });
    expect(timing.medianNs).toBeCloseTo(alone + 2 * 2500 + drained, 6);
    expect(timing.bounds!.find(({ resource }) => resource === 'memset')!.ns).toBeCloseTo(5000 + drained, 6);
    expect(timing.intervalNs[1]).toBeCloseTo(1.5 * timing.medianNs, 6);
    const small = makeLaunch({ ctaCount: 1, block: [32, 1, 1], classes: { fp32: 1 } });
    expect(predictTime([small], l4, bounds, { memsetBytes: [4] }).bindingResource).toBe('memset');
    // A spec from before it was kept.
    expect(predictTime([compute], { ...l4, memsetNs: undefined }, bounds, { memsetBytes: [0] }).medianNs).toBe(alone);
  });

  it.each([
    ['h200', 0.35, 0.5],
    ['h100', 0.4, 0.55],
    ['l4', 0.5, 0.65],
    ['a100', 0.5, 0.65],
    ['rtx4090', 0.5, 0.65],
  ])('gives %s an interval of ±%d where throughput binds and ±%d where latency does', (id, throughput, latency) => {
    const device = DEVICE_SPECS.get(id)!;
    const sure = predictTime([compute], device, bounds);
    expect(sure.intervalNs[0]).toBeCloseTo(sure.medianNs * (1 - throughput), 3);
    expect(sure.intervalNs[1]).toBeCloseTo(sure.medianNs * (1 + throughput), 3);
    const unsure = predictTime([chain], device, bounds);
    expect(unsure.bindingResource).toBe('latency');
    expect(unsure.intervalNs[1]).toBeCloseTo(unsure.medianNs * (1 + latency), 3);
  });

  it('takes a spec that does not say what it rests on as published', () => {
    const { calibration: _, ...unsaid } = DEVICE_SPECS.get('h200')!;
    const timing = predictTime([compute], unsaid, bounds);
    expect(timing.intervalNs[1]).toBeCloseTo(timing.medianNs * 1.5, 3);
  });

  it('says which traffic it estimated, and what share of L2 was sampled for it', () => {
    const sampledCache = { sampledRatio: 0.125, sampledLines: 999, start: 'cold', dramReadBytes: 3200 } as const;
    const loads = makeLaunch({
      ctaCount: 58,
      classes: { 'global-load': 58 * 4 },
      globalLoadRequests: 58 * 4,
      globalLoadSectors: 58 * 4 * 4,
      globalLoadBytes: 58 * 4 * 128,
      distinctSectorsRead: 58 * 4 * 4,
      sampledCache: { ...sampledCache, dramWriteBytes: 640 },
    });
    const [launch] = predictTime([loads], l4, bounds).launches!;
    expect(launch).toMatchObject({ dramBytesEstimate: 3840, l2BytesEstimate: 58 * 4 * 128, cacheSampledRatio: 0.125 });
    expect(launch!.l2HitRatioEstimate).toBeCloseTo(1 - 3200 / (58 * 4 * 128), 9);
    const { sampledCache: _, ...unsampled } = loads;
    expect(predictTime([unsampled], l4, bounds).launches![0]!.cacheSampledRatio).toBeUndefined();
  });

  it('never predicts less than the provable bound', () => {
    const timing = predictTime([compute], l4, { vetoNs: 1e9, attainableNs: 2e9 });
    expect(timing.medianNs).toBe(1e9);
    expect(timing.intervalNs[0]).toBeGreaterThanOrEqual(1e9);
  });

  it('is deterministic', () => {
    expect(predictTime([compute, chain], l4, bounds)).toEqual(predictTime([compute, chain], l4, bounds));
  });

  it('says that a launch of next to nothing costs the launch', () => {
    const tiny = makeLaunch({ classes: { fp32: 4 } });
    expect(predictTime([tiny], l4, bounds).bindingResource).toBe('launch');
  });
});
