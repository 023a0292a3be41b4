import { describe, expect, it } from 'vitest';
import type { LaunchCounters, WarpTime } from '../../../src/core/counters.ts';
import { DEVICE_SPECS } from '../../../src/hardware/device-specs.ts';
import { combineBounds, modelLaunch, overlapOf } from '../../../src/hardware/launch-model/model-launch.ts';
import { scheduleLaunch } from '../../../src/hardware/launch-model/schedule.ts';
import { l1Bytes, lineAccesses } from '../../../src/hardware/launch-model/traffic.ts';
import { type LaunchRequest, makeLaunch } from '../../support/counters/make-launch.ts';

const l4 = DEVICE_SPECS.get('l4')!;
const clockHz = l4.sustainedClockHz.value;
const ns = (clocks: number): number => (clocks / clockHz) * 1e9;
const boundOf = (launch: ReturnType<typeof makeLaunch>, resource: string) =>
  modelLaunch(launch, l4).bounds.find((bound) => bound.resource === resource)!;

/** 48 warps of pure fp32 on each SM, `instructions` per warp. */
const fp32Launch = (instructions: number, ctaCount = 58 * 6) =>
  makeLaunch({ ctaCount, block: [256, 1, 1], classes: { fp32: instructions * ctaCount * 8 } });

describe('throughput', () => {
  it('takes fp32 work ÷ 4 warp instructions per clock per SM', () => {
    // 6 CTAs × 8 warps × 1000 instructions on each SM ÷ 4 per clock = 12,000 clocks.
    const bound = boundOf(fp32Launch(1000), 'fp32');
    expect(bound.ns).toBeCloseTo(ns(12_000), 6);
    expect(bound.arithmetic).toContain('8000 warp instructions per CTA ÷ 4 per clock × 6 CTAs on the busiest SM');
  });

  it('takes half as many integer and an eighth as many special instructions per clock', () => {
    const special = makeLaunch({ ctaCount: 58, block: [256, 1, 1], classes: { special: 58 * 8 * 100 } });
    // 800 warp instructions ÷ 0.5 per clock.
    expect(boundOf(special, 'special').ns).toBeCloseTo(ns(1600), 6);
  });

  it('uses only as many schedulers as there are warps', () => {
    const oneWarp = makeLaunch({ ctaCount: 58, block: [32, 1, 1], classes: { fp32: 58 * 1000 } });
    expect(boundOf(oneWarp, 'issue').ns).toBeCloseTo(ns(1000), 6);
  });

  it('takes shared wavefronts one per clock', () => {
    const launch = makeLaunch({
      ctaCount: 58,
      classes: { 'shared-load': 58 * 100 },
      sharedLoadRequests: 58 * 100,
      sharedLoadWavefronts: 58 * 400,
    });
    expect(boundOf(launch, 'shared').ns).toBeCloseTo(ns(400), 6);
  });

  it('uses a quarter of the fp32 lanes where one warp occupies one scheduler', () => {
    const oneWarp = makeLaunch({ ctaCount: 58, block: [32, 1, 1], classes: { fp32: 58 * 1000 } });
    expect(boundOf(oneWarp, 'fp32').ns).toBeCloseTo(ns(1000), 6);
  });

  it('counts half a machine instruction for a move', () => {
    const moves = makeLaunch({ ctaCount: 58, classes: { move: 58 * 4 * 1000 } });
    expect(boundOf(moves, 'issue').ns).toBeCloseTo(ns(500), 6);
  });

  it('adds loads, stores and atomics of shared memory', () => {
    const launch = makeLaunch({
      ctaCount: 58,
      classes: { 'shared-load': 58 },
      sharedLoadWavefronts: 58 * 100,
      sharedStoreWavefronts: 58 * 20,
      sharedAtomicRequests: 58 * 3,
    });
    expect(boundOf(launch, 'shared').ns).toBeCloseTo(ns(123), 6);
  });

  it('counts loads from shared memory as ptxas merges them', () => {
    const launch = makeLaunch({
      ctaCount: 58,
      classes: { 'shared-load': 58 * 80 },
      sharedLoadRequests: 58 * 80,
      sharedLoadWavefronts: 58 * 400,
      sharedLoadMerging: { requestRatio: 0.25, wavefrontRatio: 0.5 },
    });
    expect(boundOf(launch, 'shared').ns).toBeCloseTo(ns(200), 6);
  });

  it('takes one global request in two clocks, of any kind', () => {
    const launch = makeLaunch({
      ctaCount: 58,
      classes: { 'global-load': 58 },
      globalLoadRequests: 58 * 10,
      globalStoreRequests: 58 * 20,
      localLoadRequests: 58 * 30,
      localStoreRequests: 58 * 40,
      globalAtomicRequests: 58 * 50,
    });
    expect(boundOf(launch, 'lsu').ns).toBeCloseTo(ns(300), 6);
    expect(boundOf(launch, 'lsu').arithmetic).toContain('150 global requests per CTA ÷ 0.5 per clock');
  });

  it('takes tensor FLOP at the dense rate', () => {
    const launch = makeLaunch({
      ctaCount: 58,
      classes: { tensor: 58 * 100 },
      flop: { fp16: 0, fp32: 0, fp64: 0, tensor: 58 * 1024 * 5000 },
    });
    expect(boundOf(launch, 'tensor').ns).toBeCloseTo(ns(5000), 6);
  });
});

describe('memory traffic', () => {
  /** A streaming read: 16 B per lane, every sector once. */
  const stream = (bytes: number) =>
    makeLaunch({
      ctaCount: 58 * 12,
      block: [128, 1, 1],
      classes: { 'global-load': bytes / 512, fp32: bytes / 512 },
      globalLoadRequests: bytes / 512,
      globalLoadSectors: bytes / 32,
      globalLoadBytes: bytes,
      distinctSectorsRead: bytes / 32,
    });

  it('of a streaming read is its bytes at every level, DRAM at the attainable rate', () => {
    const model = modelLaunch(stream(64e6), l4);
    expect(model.traffic).toMatchObject({
      l1Wavefronts: 64e6 / 128,
      l2Bytes: 64e6,
      dramBytes: 64e6,
      l1HitRatio: 0,
      l2HitRatio: 0,
    });
    // 64 MB ÷ (300 GB/s × 0.92) = 231.9 µs.
    expect(model.bounds.find((bound) => bound.resource === 'dram')!.ns).toBeCloseTo(231_884, -1);
    expect(model.bindingResource).toBe('dram');
    expect(model.ns).toBeGreaterThan(231_884);
    expect(model.ns).toBeLessThan(1.35 * 231_884);
  });

  it('of stores and atomics passes L2; what is written reaches DRAM once', () => {
    const launch = makeLaunch({
      ctaCount: 58,
      classes: { 'global-store': 1000, atomic: 1000 },
      globalStoreRequests: 1000,
      globalStoreSectors: 16_000,
      globalStoreBytes: 16_000 * 32,
      globalAtomicRequests: 1000,
      distinctSectorsWritten: 4000,
    });
    expect(modelLaunch(launch, l4).traffic).toMatchObject({
      l1Wavefronts: 4000,
      l2Bytes: 16_000 * 32 + 1000 * 128,
      dramBytes: 4000 * 32,
    });
  });

  it('makes atomics on one sector take turns, and lets spread ones flow', () => {
    const atomics = (distinctSectorsWritten: number) =>
      makeLaunch({ ctaCount: 58, classes: { atomic: 1000 }, globalAtomicRequests: 1000, distinctSectorsWritten });
    expect(boundOf(atomics(1), 'atomics').ns).toBeCloseTo(ns(111_000), 6);
    expect(boundOf(atomics(10), 'atomics').ns).toBeCloseTo(ns(11_100), 6);
    expect(boundOf(atomics(100_000), 'atomics').ns).toBeCloseTo(ns(260), 6);
    expect(boundOf(atomics(10), 'atomics').arithmetic).toContain('1000 requests on at most 10 sectors × 11.1 clocks');
  });

  /** 58 CTAs; whatever is not given is one request of one lane for each. */
  const atomicsNs = (given: Parameters<typeof makeLaunch>[0]) =>
    boundOf(makeLaunch({ ctaCount: 58, ...given }), 'atomics');
  const onOneLine = (requests: number, turns: number, sectors: number, lines = 1) =>
    atomicsNs({
      ...{ classes: { atomic: requests }, globalAtomicRequests: requests, globalAtomicTurns: turns },
      ...{ globalAtomicSectors: sectors, distinctSectorsWritten: 4 * lines },
    });

  it('makes counted atomics take turns: 3.47 clocks each, and 1.4 more for another sector; lines side by side', () => {
    expect(onOneLine(1e6, 1e6, 1e6).ns / ns(3.47e6)).toBeCloseTo(1, 6);
    expect(onOneLine(1e6, 32e6, 1e6).ns / ns(3.47 * 32e6)).toBeCloseTo(1, 6);
    // 32 neighbours: four sectors of one of two lines.
    const neighbours = onOneLine(1e6, 4e6, 4e6, 2);
    expect(neighbours.ns / ns((4e6 * 3.47 + 3e6 * 1.4) / 2)).toBeCloseTo(1, 6);
    expect(neighbours.arithmetic).toContain('4000000 turns × 3.47 + 3000000 other sectors × 1.4 clocks) ÷ 2 lines');
    expect(onOneLine(1000, 1000, 1000, 1e6).ns).toBeCloseTo(ns(260), 6);
  });

  it('makes the atomics of a counter take turns, however much else the launch writes', () => {
    const counter = { classes: { atomic: 1e6 }, globalAtomicRequests: 1e6, globalAtomicTurns: 1e6 };
    const beside = { globalAtomicSectors: 1e6, distinctSectorsWritten: 1e6 };
    expect(atomicsNs({ ...counter, ...beside, globalAtomicLines: 1 }).ns / ns(3.47e6)).toBeCloseTo(1, 6);
    expect(atomicsNs({ ...counter, ...beside, globalAtomicLines: 10 }).ns / ns(3.47e5)).toBeCloseTo(1, 3);
  });

  it('makes few atomics on one line take their turns alone', () => {
    expect(onOneLine(10, 10, 10).ns).toBeCloseTo(ns(34.7), 6);
    expect(onOneLine(100, 100, 100, 10).ns).toBeCloseTo(ns(34.7), 6);
  });

  it('gives each stored line one turn of L2, be it whole or a single sector', () => {
    const stores = (sectorsPerRequest: number, bytesPerRequest: number) =>
      modelLaunch(
        makeLaunch({
          ...{ ctaCount: 58, classes: { 'global-store': 1000 }, globalStoreRequests: 1000 },
          globalStoreSectors: 1000 * sectorsPerRequest,
          globalStoreBytes: 1000 * bytesPerRequest,
        }),
        l4,
      ).traffic.l2Bytes;
    expect(stores(4, 128)).toBe(1000 * 128);
    expect(stores(32, 128)).toBe(1000 * 32 * 128);
  });

  it('takes L1 hits from what the CTAs of an SM read together, and DRAM latency from what no SM has read', () => {
    const sampledCache = { sampledRatio: 1, sampledLines: 100, start: 'cold', dramWriteBytes: 0 } as const;
    const loads = (sectorsReadBySms: number, dramReadBytes: number) =>
      modelLaunch(
        makeLaunch({
          ...{ ctaCount: 58, classes: { 'global-load': 1000 }, globalLoadRequests: 1000, globalLoadSectors: 4000 },
          ...{ globalLoadBytes: 128_000, distinctSectorsRead: 500 },
          sampledCache: { ...sampledCache, sectorsReadBySms, dramReadBytes },
        }),
        l4,
      ).traffic;
    const { l1, l2, dram } = l4.latencyClocks;
    expect(loads(1000, 0)).toMatchObject({ l1HitRatio: 0.75, dramShare: 0, l2Bytes: 32_000 });
    expect(loads(4000, 0).globalLoadLatencyClocks).toBe(l2.value);
    // Each sector comes from DRAM once, and eight SMs wait for it.
    expect(loads(4000, 500 * 32)).toMatchObject({ l1HitRatio: 0, dramShare: 1, globalLoadLatencyClocks: dram.value });
    expect(loads(1000, 500 * 32).globalLoadLatencyClocks).toBeCloseTo(0.75 * l1.value + 0.25 * dram.value, 6);
  });

  it('finds less L1 where the resident CTAs claim shared memory', () => {
    const resources = (dynamicSharedBytes: number) => ({
      ...makeLaunch({ classes: {} }).resources,
      dynamicSharedBytes,
    });
    const launch = (dynamicSharedBytes: number) =>
      makeLaunch({ ctaCount: 58, classes: {}, resources: resources(dynamicSharedBytes) });
    // 128 KiB in all; the CTA takes its own KiB more.
    expect(l1Bytes(launch(0), 1, l4)).toBe(127 * 1024);
    expect(l1Bytes(launch(49 * 1024), 1, l4)).toBe(78 * 1024);
    expect(l1Bytes(launch(49 * 1024), 2, l4)).toBe(28 * 1024);
  });

  it('of re-reads that fit L2 reaches DRAM once', () => {
    const once = stream(8e6);
    const twentyTimes = { ...stream(160e6), distinctSectorsRead: once.distinctSectorsRead };
    expect(modelLaunch(twentyTimes, l4).traffic.dramBytes).toBeCloseTo(8e6, -4);
  });

  it('of re-reads beyond L2 goes to DRAM in part', () => {
    const twice = { ...stream(2 * 96 * 1024 * 1024), distinctSectorsRead: (96 * 1024 * 1024) / 32 };
    // Half of 96 MiB stays in 48 MiB: of the second pass half misses.
    expect(modelLaunch(twice, l4).traffic.dramBytes).toBeCloseTo(1.5 * 96 * 1024 * 1024, -5);
  });

  it('of narrow strided reads is caught by L1 while the lines of the resident warps fit', () => {
    const strided = makeLaunch({
      ctaCount: 58,
      block: [128, 1, 1],
      classes: { 'global-load': 58 * 4 * 1000 },
      globalLoadRequests: 58 * 4 * 1000,
      // 32 sectors for 64 bytes: one sixteenth used.
      globalLoadSectors: 58 * 4 * 1000 * 32,
      globalLoadBytes: 58 * 4 * 1000 * 64,
      distinctSectorsRead: 58 * 4 * 1000 * 2,
    });
    expect(modelLaunch(strided, l4).traffic.l1HitRatio).toBeCloseTo(15 / 16, 6);
    const crowded = { ...strided, block: [1024, 1, 1] as const };
    // 32 warps × 32 lines × 128 B = 128 KiB, 1 KiB more than L1 has left beside the reservation.
    expect(modelLaunch(crowded, l4).traffic.l1HitRatio).toBeLessThan(15 / 16);
  });
});

describe('line accesses', () => {
  it.each([
    ['a coalesced 2-byte load', 64, 2, 1],
    ['a coalesced 4-byte load', 128, 4, 1],
    ['a coalesced 16-byte load', 512, 16, 4],
    ['a broadcast', 128, 1, 1],
    ['2-byte loads 128 bytes apart', 64, 32, 32],
  ])('of %s: %i B on %i sectors are %i lines', (_name, bytes, sectors, lines) => {
    expect(lineAccesses(1, sectors, bytes)).toBe(lines);
  });
});

it('takes the lines of loads as counted, where they are: L1 looks up one after the other', () => {
  const loads = {
    ...{ ctaCount: 58, classes: { 'global-load': 58_000 }, globalLoadRequests: 58_000 },
    ...{ globalLoadSectors: 4 * 58_000, globalLoadBytes: 128 * 58_000, distinctSectorsRead: 400 },
  };
  const estimated = boundOf(makeLaunch(loads), 'l1').ns;
  expect(estimated).toBeCloseTo(ns((1000 * 128) / l4.l1BytesPerClock.value), 6);
  expect(boundOf(makeLaunch({ ...loads, globalLoadLines: 2 * 58_000 }), 'l1').ns).toBeCloseTo(2 * estimated, 6);
});

it('starts CTAs one after the other, and beside that their warps', () => {
  const startsOf = (threads: number) =>
    boundOf(makeLaunch({ ctaCount: 58 * 10, block: [threads, 1, 1], classes: { fp32: 58 } }), 'starts').ns;
  expect(startsOf(32)).toBeCloseTo(ns(10 * 45), 6);
  expect(startsOf(5 * 32)).toBeCloseTo(ns(10 * 45), 6);
  expect(startsOf(512)).toBeCloseTo(ns(10 * 16 * 8), 6);
});

describe('latency', () => {
  it('of one warp of shuffles is half the shuffle latency each: two chains interleave', () => {
    const launch = makeLaunch({ ctaCount: 1, block: [32, 1, 1], classes: { shuffle: 1000 } });
    const model = modelLaunch(launch, l4);
    expect(model.latency.clocksPerInstruction.wide).toBeCloseTo(12, 6);
    expect(model.bindingResource).toBe('latency');
    expect(model.ns).toBeCloseTo(ns(12_000) + 1500, -2);
  });

  it('halves when twice the warps are resident, until throughput binds', () => {
    const limited = makeLaunch({
      ctaCount: 58 * 48,
      block: [32, 1, 1],
      classes: { shuffle: 58 * 48 * 100 },
      resources: { ...makeLaunch({ classes: {} }).resources, dynamicSharedBytes: 49 * 1024 },
    });
    const model = modelLaunch(limited, l4);
    expect(model.schedule).toMatchObject({ residentCtas: 2, rounds: 24 });
    expect(modelLaunch(limited, l4, { ctasPerSm: 4 }).schedule.rounds).toBe(12);
    const latencyNs = model.bounds.find((bound) => bound.resource === 'latency')!.ns;
    expect(latencyNs).toBeCloseTo(ns(24 * 100 * 12), 3);
  });

  it('adds what one warp does while the others wait', () => {
    const balanced = fp32Launch(1000, 58);
    const serial = { ...balanced, criticalPathInstructions: 5000 };
    const before = modelLaunch(balanced, l4).latency;
    const after = modelLaunch(serial, l4).latency;
    expect(before.path).toEqual({ balanced: 1000, serial: 0 });
    expect(after.path).toEqual({ balanced: 1000, serial: 4000 });
    expect(after.totalClocks - before.totalClocks).toBeCloseTo(4000 * after.clocksPerInstruction.wide, 6);
  });

  /** 4 warps per CTA, 200 instructions per warp in the mean; `few` of a CTA's by one lane. */
  const walk = (few: number, criticalPathInstructions: number) => {
    const launch = makeLaunch({
      ctaCount: 58,
      classes: { fp32: 58 * 4 * 100, 'shared-load': 58 * 4 * 100 },
      sharedLoadRequests: 58 * 4 * 100,
      sharedLoadWavefronts: 58 * 4 * 100,
      criticalPathInstructions,
    });
    const activeLaneHistogram = new Array<number>(33).fill(0);
    activeLaneHistogram[1] = 58 * few;
    activeLaneHistogram[32] = launch.instructions - 58 * few;
    return modelLaunch({ ...launch, activeLaneHistogram }, l4).latency;
  };

  it('keeps the walk of one lane apart, whichever warps walk', () => {
    expect(walk(0, 200).path).toEqual({ balanced: 200, serial: 0 });
    // Every warp walks half of its instructions with one lane.
    expect(walk(400, 200).path).toEqual({ balanced: 100, serial: 100 });
    // One warp walks 400 instructions; the four share the other 400: 400 + 100 on the path.
    expect(walk(400, 500).path).toEqual({ balanced: 100, serial: 400 });
  });

  it('covers arithmetic by two chains and shared loads by eight', () => {
    // fp32: 4 ÷ 2; shared load: 30 ÷ 8.
    expect(walk(0, 200).clocksPerInstruction.wide).toBeCloseTo((2 + 3.75) / 2, 6);
  });

  it('covers four 2-byte global loads, two 4-byte ones, one of 8 bytes or more', () => {
    const loads = (bytesPerLane: number) =>
      modelLaunch(
        makeLaunch({
          ctaCount: 58,
          classes: { 'global-load': 58 * 4 * 100 },
          globalLoadRequests: 58 * 4 * 100,
          globalLoadSectors: 58 * 4 * 100 * bytesPerLane,
          globalLoadBytes: 58 * 4 * 100 * 32 * bytesPerLane,
        }),
        l4,
      ).latency.clocksPerInstruction.wide;
    // Nothing is counted as distinct: every load is a re-read that hits L1, 43 clocks.
    expect(loads(2)).toBeCloseTo(43 / 4, 6);
    expect(loads(4)).toBeCloseTo(43 / 2, 6);
    // 16 bytes: four lines, three clocks more.
    expect(loads(16)).toBeCloseTo(46, 6);
  });

  it('makes a scattered load take its lines one after the other', () => {
    const scattered = makeLaunch({
      ctaCount: 58,
      classes: { 'global-load': 58 * 4 * 100 },
      globalLoadRequests: 58 * 4 * 100,
      globalLoadSectors: 58 * 4 * 100 * 32,
      globalLoadBytes: 58 * 4 * 100 * 64,
    });
    expect(modelLaunch(scattered, l4).latency.clocksPerInstruction.wide).toBeCloseTo(31 * 3.5, 6);
  });

  it('lets fp64 wait for the two units of an Ada SM: 64 clocks, two chains', () => {
    const launch = makeLaunch({ ctaCount: 58, classes: { fp64: 58 * 4 * 100 } });
    expect(modelLaunch(launch, l4).latency.clocksPerInstruction.wide).toBeCloseTo(32, 6);
  });

  it('is what the schedule issues and waits for, where it is known', () => {
    const schedule = {
      wide: { issued: 58 * 4 * 100, waits: { 'shared-load': 58 * 4 * 10, shuffle: 58 * 4 * 5 } },
      narrow: { issued: 0, waits: {} },
    };
    const launch = makeLaunch({
      ...{ ctaCount: 58, classes: { fp32: 58 * 4 * 150, 'shared-load': 58 * 4 * 50 }, warpTime: schedule },
      ...{ sharedLoadRequests: 58 * 4 * 50, sharedLoadWavefronts: 58 * 4 * 50 },
    });
    const { shared, shuffle } = l4.latencyClocks;
    const clocks = 100 + 10 * shared.value + 5 * shuffle.value;
    const { latency, bounds } = modelLaunch(launch, l4);
    expect(latency.clocksPerInstruction.wide).toBeCloseTo(clocks / 200, 9);
    expect(latency.totalClocks).toBeCloseTo(clocks, 6);
    expect(bounds.find(({ resource }) => resource === 'issue')!.ns).toBeCloseTo(ns(100), 6);
  });

  it('prices the walk of few lanes by what they wait for', () => {
    const activeLaneHistogram = new Array<number>(33).fill(0);
    activeLaneHistogram[1] = 58 * 100;
    activeLaneHistogram[32] = 58 * 4 * 100;
    const launch = makeLaunch({
      ...{ ctaCount: 58, classes: { fp32: 58 * 500 }, activeLaneHistogram, criticalPathInstructions: 200 },
      warpTime: {
        wide: { issued: 58 * 4 * 100, waits: {} },
        narrow: { issued: 58 * 100, waits: { 'shared-load': 58 * 100 } },
      },
    });
    const { latency } = modelLaunch(launch, l4);
    expect(latency.path).toEqual({ balanced: 100, serial: 100 });
    expect(latency.serialClocks).toBeCloseTo(100 * (1 + l4.latencyClocks.shared.value), 6);
    // Walks of other warps, beside the path.
    const beside = modelLaunch({ ...launch, criticalPathNarrowInstructions: 0 }, l4).latency;
    expect(beside.serialClocks).toBeCloseTo(100, 6);
  });

  it('is at least the way of a warp’s requests, one line after the other', () => {
    const launch = makeLaunch({
      ...{ ctaCount: 58, block: [32, 1, 1], classes: { 'global-load': 58 * 100 }, globalLoadRequests: 58 * 100 },
      ...{ globalLoadSectors: 58 * 3200, globalLoadBytes: 58 * 12_800 },
      warpTime: { wide: { issued: 58 * 100, waits: {} }, narrow: { issued: 0, waits: {} } },
    });
    expect(modelLaunch(launch, l4).latency.arithmetic).toContain('its memory requests, 10850 clocks');
  });

  it('says in words whether latency or throughput sets the time of a CTA', () => {
    const arithmetic = (launch: ReturnType<typeof makeLaunch>): string => boundOf(launch, 'latency').arithmetic;
    expect(arithmetic(fp32Launch(1000, 58))).toContain('its throughput, 2000 clocks');
    expect(arithmetic(makeLaunch({ ctaCount: 1, block: [32, 1, 1], classes: { shuffle: 10 } }))).toContain(
      '10 instructions per warp × 12 clocks = 120 clocks',
    );
    const serial = { ...fp32Launch(1000, 58), criticalPathInstructions: 1500 };
    expect(arithmetic(serial)).toContain('+ 500 serial × 2 = 3000 clocks');
  });

  it('counts the threads of all three axes', () => {
    const launch = makeLaunch({ ctaCount: 58, block: [8, 4, 2], classes: { shuffle: 58 * 2 } });
    expect(modelLaunch(launch, l4).schedule.warpsPerCta).toBe(2);
  });

  it('makes a barrier wait for the loads before it', () => {
    const loads = { 'shared-load': 58 * 4 * 100, barrier: 58 * 4 * 10 };
    const launch = makeLaunch({ ctaCount: 58, classes: loads });
    // (100 × 30 ÷ 8 + 10 × (25 + 30)) ÷ 110.
    expect(modelLaunch(launch, l4).latency.clocksPerInstruction.wide).toBeCloseTo((375 + 550) / 110, 6);
    // One global load (L1, 43 clocks) to ten barriers: a tenth of it drains at each.
    const few = makeLaunch({
      ctaCount: 58,
      classes: { 'global-load': 58 * 4, barrier: 58 * 4 * 10 },
      globalLoadRequests: 58 * 4,
      globalLoadSectors: 58 * 4 * 4,
      globalLoadBytes: 58 * 4 * 128,
    });
    expect(modelLaunch(few, l4).latency.clocksPerInstruction.wide).toBeCloseTo((43 / 2 + 10 * (25 + 4.3)) / 11, 6);
  });
});

describe('waves and tail', () => {
  it('works on as many SMs as there are CTAs', () => {
    const two = fp32Launch(1000, 2);
    const all = makeLaunch({ ctaCount: 58, block: [256, 1, 1], classes: { fp32: 2 * 8 * 1000 } });
    expect(boundOf(two, 'fp32').ns / boundOf(all, 'fp32').ns).toBeCloseTo(29, 6);
  });

  it('counts a started warp as a whole one, and a fraction of a CTA as a resident one', () => {
    const odd = makeLaunch({ ctaCount: 59, block: [33, 1, 1], classes: { fp32: 59 * 2 } });
    expect(modelLaunch(odd, l4).schedule).toMatchObject({ warpsPerCta: 2, residentCtas: 2, ctasOnBusiestSm: 2 });
    expect(modelLaunch(odd, l4, { quantised: false }).schedule.residentCtas).toBe(2);
  });

  it('makes 59 CTAs as slow as 116 where one SM works on two', () => {
    expect(boundOf(fp32Launch(1000, 59), 'fp32').ns).toBe(boundOf(fp32Launch(1000, 116), 'fp32').ns);
    expect(modelLaunch(fp32Launch(1000, 59), l4).schedule.tailRatio).toBeCloseTo(1 / (59 / (58 * 6)), 6);
  });

  it('charges fractions of waves when asked what an even spread would give', () => {
    const launch = fp32Launch(1000, 64);
    const even = modelLaunch(launch, l4, { quantised: false });
    expect(even.schedule.ctasOnBusiestSm).toBeCloseTo(64 / 58, 9);
    expect(even.ns).toBeLessThan(modelLaunch(launch, l4).ns);
  });

  it('waits for the longest CTA', () => {
    const launch = fp32Launch(1000, 58);
    const uneven = { ...launch, longestCtaInstructions: 3 * launch.longestCtaInstructions };
    expect(boundOf(uneven, 'fp32').ns).toBeCloseTo(3 * boundOf(launch, 'fp32').ns, 6);
  });
});

describe('the chain through CTAs that look back', () => {
  const round = { issued: 40, waits: { 'global-load': 1, shuffle: 5 } };
  const stepClocks = 40 + l4.latencyClocks.l2.value + 5 * l4.latencyClocks.shuffle.value;
  /** One warp each, so that 24 of them are resident on an SM. */
  const chainOf = (ctaCount: number, requests: number, words: number) =>
    modelLaunch(
      makeLaunch({ ctaCount, block: [32, 1, 1], classes: { fp32: ctaCount }, polls: { requests, words, round } }),
      l4,
    ).bounds.find(({ resource }) => resource === 'chain');

  it('takes 2 √(CTAs ÷ window) steps, of which the first is the CTA’s own', () => {
    expect(chainOf(512, 512, 512 * 32)!.ns).toBeCloseTo(ns(7 * stepClocks), 6);
    expect(chainOf(512, 512, 512 * 8)!.ns).toBeCloseTo(ns(15 * stepClocks), 6);
    expect(chainOf(512, 512, 512 * 32)!.arithmetic).toContain(`7 steps of 32 CTAs × ${stepClocks} clocks`);
  });

  it('is as long as the CTAs are that run side by side', () => {
    const resident = 58 * 24;
    expect(chainOf(100 * resident, 100 * resident, 100 * resident * 32)!.ns).toBeCloseTo(
      ns((2 * Math.sqrt(resident / 32) - 1) * stepClocks),
      6,
    );
  });

  it('is unknown where CTAs read one word, or one CTA reads what many wrote', () => {
    expect(chainOf(512, 512, 512)).toBeUndefined();
    expect(chainOf(512, 513, 513 * 32)).toBeUndefined();
    expect(chainOf(8, 8, 8 * 32)).toBeUndefined();
    expect(modelLaunch(makeLaunch({ ctaCount: 512, classes: { fp32: 512 } }), l4).bounds).not.toContainEqual(
      expect.objectContaining({ resource: 'chain' }),
    );
  });
});

describe('turns in which an SM loads while it computes', () => {
  const KIB = 1024;
  const turnsOf = (request: Partial<LaunchRequest>): number =>
    scheduleLaunch(makeLaunch({ ctaCount: 8 * 58, block: [1024, 1, 1], classes: { fp32: 1000 }, ...request }), l4)
      .loadTurns;
  const shared = (bytes: number): LaunchCounters['resources'] => ({
    ...{ registersPerThread: 64, registersSource: 'estimated', localBytesPerThread: 0 },
    ...{ staticSharedBytes: bytes, dynamicSharedBytes: 0 },
  });

  it('are those of CTAs that share it: one where each has it to itself, or all are there at once', () => {
    expect(turnsOf({ resources: shared(0) })).toBe(1);
    expect(turnsOf({ block: [256, 1, 1] })).toBe(2);
    expect(turnsOf({ block: [256, 1, 1], ctaCount: 4 * 58 })).toBe(1);
  });

  it('are as many as its copies fill the shared memory of a CTA that computes beside them', () => {
    const streams = { ctaCount: 58, globalLoadBytes: 58 * 640 * KIB, resources: shared(64 * KIB) };
    expect(turnsOf({ ...streams, classes: { 'async-copy': 100 } })).toBe(10);
    expect(turnsOf({ ...streams, classes: { 'async-copy': 100 }, globalLoadBytes: 58 * 32 * KIB })).toBe(1);
    // Registers hold what loads bring, until it is stored.
    expect(turnsOf({ ...streams, classes: { 'async-copy': 100, 'global-load': 1000 } })).toBe(1);
  });
});

describe('combining resources', () => {
  const bound = (resource: string, time: number) => ({ resource, ns: time, arithmetic: '' });
  const combined = (bounds: Parameters<typeof combineBounds>[0], residentCtas: number, loadTurns: number): number =>
    combineBounds(bounds, { residentCtas, loadTurns });

  it('is the slowest alone when the others are small', () => {
    expect(combined([bound('fp32', 100), bound('dram', 1)], 8, 1e9)).toBeCloseTo(100, 3);
  });

  it('lies between the slowest and the sum', () => {
    expect(combined([bound('fp32', 100), bound('dram', 100)], 8, 1e9)).toBeCloseTo(100 * 2 ** (1 / 5), 6);
    expect(combined([bound('fp32', 100), bound('lsu', 100)], 1e9, 1)).toBeCloseTo(100 * 2 ** 0.4, 6);
  });

  it('overlaps SMs and chip less where all CTAs are resident at once: first all load, then all compute', () => {
    const both = [bound('fp32', 100), bound('dram', 100)];
    expect(combined(both, 8, 1)).toBeCloseTo(100 * 2 ** (1 / 1.2), 6);
    expect(combined(both, 8, 2)).toBeCloseTo(100 * 2 ** (1 / 3.1), 6);
  });

  it('overlaps the resources of an SM less where it holds one CTA, whose warps meet at barriers', () => {
    for (const both of [
      [bound('fp32', 100), bound('shared', 100)],
      [bound('l2', 100), bound('dram', 100)],
    ]) {
      expect(combined(both, 1, 4)).toBeCloseTo(100 * 2 ** (1 / 1.5), 6);
      expect(combined(both, 2, 4)).toBeCloseTo(100 * 2 ** (1 / 2), 6);
    }
  });

  it('lets atomics that nobody waits for run beside the rest, and adds the starts of CTAs', () => {
    const work = [bound('fp32', 100), bound('atomics', 50), bound('starts', 7)];
    expect(combined(work, 2, 2)).toBeCloseTo(Math.hypot(100, 50) + 7, 6);
  });

  it('adds atomics whose results warps wait for, whether they have many lanes or few', () => {
    const work = [bound('fp32', 100), bound('atomics', 50)];
    const none = { issued: 1, waits: {} };
    const waiting = { issued: 1, waits: { atomic: 1 } };
    const timeWith = (wide: WarpTime, narrow: WarpTime) =>
      combineBounds(
        work,
        { residentCtas: 2, loadTurns: 2 },
        overlapOf(makeLaunch({ classes: {}, warpTime: { wide, narrow } })),
      );
    expect(timeWith(waiting, none)).toBeCloseTo(150, 6);
    expect(timeWith(none, waiting)).toBeCloseTo(150, 6);
    expect(timeWith(none, none)).toBeCloseTo(Math.hypot(100, 50), 6);
  });

  it('lets the chain through CTAs grow while others take their numbers', () => {
    const work = [bound('atomics', 30), bound('chain', 40)];
    expect(combined(work, 2, 2)).toBeCloseTo(50, 6);
  });

  it('adds shared memory and L1, which take turns on one data pipe', () => {
    expect(combined([bound('shared', 100), bound('l1', 50)], 1, 1)).toBe(150);
  });

  it('counts one pipe of a group: issue slots contain fp32 instructions', () => {
    expect(combined([bound('issue', 100), bound('fp32', 90)], 1, 1)).toBe(100);
  });
});

it('adds the launch overhead and never undercuts it', () => {
  const tiny = makeLaunch({ ctaCount: 1, block: [32, 1, 1], classes: { fp32: 1 } });
  const model = modelLaunch(tiny, l4);
  expect(model.ns).toBeGreaterThan(1500);
  expect(model.bindingResource).toBe('launch');
});
