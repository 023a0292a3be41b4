import { describe, expect, it } from 'vitest';
import type { LaunchCounters, LineCounters } from '../../src/core/counters.ts';
import type { Finding } from '../../src/core/finding.ts';
import { FINDING_IDS, type FindingId } from '../../src/core/vocabulary.ts';
import { diagnose, diagnoseWhole } from '../../src/diagnosis/diagnose.ts';
import { RULES } from '../../src/diagnosis/rules/index.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { modelLaunch } from '../../src/hardware/launch-model/model-launch.ts';
import { predictTime } from '../../src/hardware/launch-model/predict-time.ts';
import { makeCounters, makeLaunch } from '../support/counters/make-launch.ts';

const spec = DEVICE_SPECS.get('l4')!;

function findings(launch: LaunchCounters | LaunchCounters[], halfPrecisionMatrixWork = false): Finding[] {
  const launches = Array.isArray(launch) ? launch : [launch];
  const timing = predictTime(launches, spec, { vetoNs: 0, attainableNs: 0 });
  return diagnose({ counters: makeCounters(...launches), timing, spec, halfPrecisionMatrixWork });
}

const find = (launch: LaunchCounters, id: FindingId, halfPrecisionMatrixWork = false): Finding | undefined =>
  findings(launch, halfPrecisionMatrixWork).find((finding) => finding.id === id);

/** 348 CTAs of 8 warps fill an L4 with 48 warps per SM exactly once. */
const CTAS = 58 * 6;
const WARPS = CTAS * 8;
const full = { ctaCount: CTAS, block: [256, 1, 1] as const };

const lanes = (counts: Record<number, number>): number[] => {
  const histogram = new Array<number>(33).fill(0);
  for (const [active, count] of Object.entries(counts)) histogram[Number(active)] = count;
  return histogram;
};

function line(number: number, counts: Partial<LineCounters>): LineCounters {
  return {
    location: { file: 'kernel.cu', line: number },
    instructions: 0,
    threadInstructions: 0,
    globalLoadRequests: 0,
    globalLoadSectors: 0,
    globalStoreRequests: 0,
    globalStoreSectors: 0,
    sharedLoadRequests: 0,
    sharedLoadWavefronts: 0,
    sharedStoreRequests: 0,
    sharedStoreWavefronts: 0,
    bankConflicts: 0,
    barriers: 0,
    atomics: 0,
    divergentBranches: 0,
    ...counts,
  };
}

/** Shared loads and fp32 work; `conflicts` wavefronts too many per request. */
const sharedWork = (conflicts: number, lines: LineCounters[] = []): LaunchCounters =>
  makeLaunch({
    ...full,
    classes: { 'shared-load': WARPS * 1000, fp32: WARPS * 1000 },
    sharedLoadRequests: WARPS * 1000,
    sharedLoadWavefronts: WARPS * 1000 * (1 + conflicts),
    sharedLoadBankConflicts: WARPS * 1000 * conflicts,
    lines,
  });

/** Global loads of `bytesPerLane` on `sectors` sectors per request, each sector once, and as much fp32 work. */
const globalWork = (bytesPerLane: number, sectors: number, rereads = 1): LaunchCounters =>
  makeLaunch({
    ...full,
    classes: { 'global-load': WARPS * 100, fp32: WARPS * 200 },
    globalLoadRequests: WARPS * 100,
    globalLoadSectors: WARPS * 100 * sectors,
    globalLoadBytes: WARPS * 100 * 32 * bytesPerLane,
    distinctSectorsRead: (WARPS * 100 * sectors) / rereads,
  });

/** One CTA per SM, whose 100 barriers nothing hides. */
const barriers = (instructionsPerBarrier: number): LaunchCounters =>
  makeLaunch({
    ctaCount: 58,
    block: [256, 1, 1],
    classes: { fp32: 58 * 8 * 100 * (instructionsPerBarrier - 1), barrier: 58 * 8 * 100 },
  });

const branchy = (lanesActive: number, divergentShare: number): LaunchCounters => {
  const instructions = WARPS * 1000;
  return makeLaunch({
    ...full,
    classes: { fp32: instructions },
    threadInstructions: instructions * lanesActive,
    activeLaneHistogram: lanes({ [lanesActive]: instructions }),
    branches: 1000,
    divergentBranches: 1000 * divergentShare,
  });
};

const serialLanes = (active: number, barrier: number): LaunchCounters => {
  const instructions = WARPS * 1000;
  return makeLaunch({
    ...full,
    classes: { fp32: instructions / 2 - barrier, 'shared-load': instructions / 2, barrier },
    sharedLoadRequests: instructions / 2,
    sharedLoadWavefronts: instructions / 2,
    activeLaneHistogram: lanes({ [active]: instructions / 2, 32: instructions / 2 }),
    threadInstructions: (instructions / 2) * (active + 32),
  });
};

const pathLonger = (ratio: number, barrier: number): LaunchCounters => {
  const launch = makeLaunch({ ...full, classes: { shuffle: WARPS * 1000, barrier } });
  return { ...launch, criticalPathInstructions: launch.criticalPathInstructions * ratio };
};

/** Loads of 16 sectors per request, each sector asked for 16 times, of which `times` come from DRAM. */
const fromDram = (times: number): LaunchCounters => ({
  ...globalWork(16, 16, 16),
  sampledCache: {
    sampledRatio: 0.125,
    sampledLines: 1000,
    start: 'cold',
    dramReadBytes: WARPS * 100 * 32 * times,
    dramWriteBytes: 0,
  },
});

/** Per warp 1000 special functions among 2000 instructions, or `special`. */
const exponentials = (special: number): LaunchCounters =>
  makeLaunch({ ...full, classes: { special: WARPS * special, fp32: WARPS * 1000 } });

const spilling = (requests: number): LaunchCounters =>
  makeLaunch({
    ...full,
    classes: { fp32: WARPS * 100, 'local-load': requests, 'local-store': requests },
    localLoadRequests: requests,
    localStoreRequests: requests,
  });

const atomicWork = (atomics: number): LaunchCounters =>
  makeLaunch({
    ...full,
    classes: { fp32: WARPS * 100, atomic: atomics },
    globalAtomicRequests: atomics,
    // Spread, so that they don't queue for one address.
    distinctSectorsWritten: 512,
  });

const occupied = (dynamicSharedBytes: number, ctaCount: number): LaunchCounters =>
  makeLaunch({
    ctaCount,
    block: [128, 1, 1],
    classes: { shuffle: ctaCount * 4 * 1000 },
    resources: { ...makeLaunch({ classes: {} }).resources, dynamicSharedBytes },
  });

const multiplying = (tensorFlop: number): LaunchCounters =>
  makeLaunch({
    ...full,
    classes: { fp32: WARPS * 1000, tensor: tensorFlop / 4096 },
    flop: { fp16: 0, fp32: WARPS * 1000 * 64, fp64: 0, tensor: tensorFlop },
  });

/** `factor` times the instructions, requests and wavefronts, all lanes active. */
function scaledWork(launch: LaunchCounters, factor: number): LaunchCounters {
  const classes = Object.fromEntries(
    Object.entries(launch.instructionsByClass).map(([name, count]) => [name, count * factor]),
  );
  const { instructionsByClass: _, instructions: __, activeLaneHistogram: ___, ...rest } = launch;
  return makeLaunch({
    ...rest,
    classes,
    criticalPathInstructions: launch.criticalPathInstructions * factor,
    longestCtaInstructions: launch.longestCtaInstructions * factor,
    sharedLoadRequests: launch.sharedLoadRequests * factor,
    sharedLoadWavefronts: launch.sharedLoadWavefronts * factor,
  });
}

interface Case {
  readonly id: FindingId;
  readonly defect: LaunchCounters;
  readonly healthy: LaunchCounters;
  /** First evidence item of the finding. */
  readonly value: number;
  /** The nearest launch to the threshold that must not fire. */
  readonly borderline?: LaunchCounters;
  /** The launch that the estimate assumes; the gain is the ratio of the modelled times. */
  readonly remedied?: LaunchCounters;
  readonly halfPrecisionMatrixWork?: boolean;
}

const CASES: readonly Case[] = [
  {
    id: 'parallelism',
    defect: makeLaunch({ ctaCount: 29, classes: { fp32: 29 * 4 * 100_000 } }),
    healthy: makeLaunch({ ctaCount: 58, classes: { fp32: 58 * 4 * 100_000 } }),
    value: 0.5,
    remedied: makeLaunch({ ctaCount: 58, classes: { fp32: 29 * 4 * 100_000 } }),
  },
  {
    // 64 CTAs: 6 SMs have 2, the mean 1.10.
    id: 'tail-effect',
    defect: makeLaunch({ ctaCount: 64, classes: { fp32: 64 * 4 * 100_000 } }),
    healthy: makeLaunch({ ctaCount: 116, classes: { fp32: 116 * 4 * 100_000 } }),
    value: 2 / (64 / 58),
    // 5 CTAs on the busiest SM, 4.4 in the mean: 1.137.
    borderline: makeLaunch({ ctaCount: 255, classes: { fp32: 255 * 4 * 100_000 } }),
  },
  {
    // 57 KiB per CTA: one CTA of 4 warps, 4 of 48; healthy: 8 KiB, 11 CTAs, 44 of 48.
    id: 'occupancy',
    defect: occupied(57 * 1024, 58 * 12),
    healthy: occupied(8 * 1024, 58 * 12),
    value: 4 / 48,
    // 15 KiB: 6 CTAs of 4 warps, exactly half.
    borderline: occupied(15 * 1024, 58 * 12),
    remedied: occupied(0, 58 * 12),
  },
  {
    id: 'serial-sections',
    defect: serialLanes(1, WARPS * 10),
    healthy: serialLanes(32, WARPS * 10),
    value: 0.5,
    borderline: serialLanes(5, WARPS * 10),
    // Half of the instructions shrink to a 32nd.
    remedied: scaledWork(serialLanes(32, WARPS * 10), 0.5 + 0.5 / 32),
  },
  {
    id: 'warp-imbalance',
    defect: pathLonger(4, 0),
    healthy: pathLonger(1, 0),
    value: 4,
    borderline: pathLonger(1.25, 0),
    remedied: pathLonger(1, 0),
  },
  // 4-byte loads: 4 sectors are ideal.
  {
    id: 'uncoalesced-access',
    defect: globalWork(4, 32),
    healthy: globalWork(4, 4),
    value: 8,
    borderline: globalWork(4, 8),
    remedied: { ...globalWork(4, 4), distinctSectorsRead: globalWork(4, 32).distinctSectorsRead },
  },
  {
    id: 'bank-conflicts',
    defect: sharedWork(7),
    healthy: sharedWork(0),
    value: 7 / 8,
    borderline: sharedWork(1 / 9),
    remedied: sharedWork(0),
  },
  {
    id: 'divergence',
    defect: branchy(16, 0.5),
    healthy: branchy(16, 0),
    value: 0.5,
    borderline: branchy(26, 0.5),
    remedied: scaledWork(branchy(32, 0), 0.5),
  },
  { id: 'barrier-heavy', defect: barriers(20), healthy: barriers(2000), value: 20, borderline: barriers(150) },
  {
    id: 'narrow-loads',
    defect: globalWork(2, 2, 2000),
    healthy: globalWork(16, 16, 2000),
    value: 2,
    borderline: globalWork(8, 8, 2000),
    remedied: makeLaunch({
      ...full,
      classes: { 'global-load': WARPS * 12.5, fp32: WARPS * 200 },
      globalLoadRequests: WARPS * 12.5,
      globalLoadSectors: WARPS * 200,
      globalLoadBytes: WARPS * 6400,
      distinctSectorsRead: (WARPS * 200) / 2000,
    }),
  },
  {
    id: 'redundant-global-loads',
    defect: globalWork(4, 4, 512),
    healthy: globalWork(4, 4, 2),
    value: 512,
    borderline: globalWork(4, 4, 32),
    // 16 of 512 reads remain; the others become shared loads.
    remedied: makeLaunch({
      ...full,
      classes: { 'global-load': (WARPS * 100) / 32, 'shared-load': (WARPS * 3100) / 32, fp32: WARPS * 200 },
      globalLoadRequests: (WARPS * 100) / 32,
      globalLoadSectors: (WARPS * 400) / 32,
      globalLoadBytes: (WARPS * 12_800) / 32,
      distinctSectorsRead: (WARPS * 400) / 512,
      sharedLoadRequests: (WARPS * 3100) / 32,
      sharedLoadWavefronts: (WARPS * 3100) / 32,
    }),
  },
  {
    // Each of 100 sectors of 32 B per warp comes from DRAM 8 times; at the threshold 1.5 times.
    id: 'cache-reuse',
    defect: fromDram(8),
    healthy: fromDram(1),
    value: 8,
    borderline: fromDram(1.5),
    remedied: fromDram(1),
  },
  {
    id: 'register-spills',
    defect: spilling(WARPS * 50),
    healthy: spilling(0),
    value: 0.5,
    borderline: spilling(WARPS * 0.5),
    remedied: spilling(0),
  },
  {
    id: 'atomics-contention',
    defect: atomicWork(WARPS * 25),
    healthy: atomicWork(CTAS),
    value: 0.2,
    borderline: atomicWork(WARPS * 2),
    remedied: atomicWork(CTAS),
  },
  {
    id: 'tensor-cores-unused',
    defect: multiplying(0),
    healthy: multiplying(WARPS * 64_000),
    value: 0,
    halfPrecisionMatrixWork: true,
    // All 1000 FMAs per warp are the products: 64,000 FLOP = 15.625 mma of 4096.
    remedied: makeLaunch({
      ...full,
      classes: { tensor: (WARPS * 64_000) / 4096 },
      flop: { fp16: 0, fp32: 0, fp64: 0, tensor: WARPS * 64_000 },
    }),
  },
];

describe.each(CASES)('$id', ({ id, defect, healthy, borderline, remedied, value, halfPrecisionMatrixWork = false }) => {
  it('fires on the defect, citing value, threshold and place', () => {
    const finding = find(defect, id, halfPrecisionMatrixWork);
    expect(finding).toBeDefined();
    const evidence = finding!.evidence[0]!;
    expect(evidence.value).toBeCloseTo(value, 6);
    if (evidence.comparison === 'above') expect(evidence.value).toBeGreaterThan(evidence.threshold);
    else expect(evidence.value).toBeLessThan(evidence.threshold);
    expect(evidence.where).toContain('kernel');
    expect(finding!.advice.length).toBeGreaterThan(20);
  });

  it('estimates a gain above 1 and shows its arithmetic', () => {
    const finding = find(defect, id, halfPrecisionMatrixWork)!;
    expect(finding.estimatedSpeedup).toBeGreaterThan(1);
    expect(finding.arithmetic).toMatch(/ → .* = [\d.]+×/);
  });

  it('is silent without the defect', () => {
    expect(find(healthy, id, halfPrecisionMatrixWork)).toBeUndefined();
  });

  if (borderline) {
    it('is silent at its threshold', () => {
      expect(find(borderline, id, halfPrecisionMatrixWork)).toBeUndefined();
    });
  }

  if (remedied) {
    it('estimates the gain as the ratio of the modelled times with and without the defect', () => {
      const finding = find(defect, id, halfPrecisionMatrixWork)!;
      const gain = modelLaunch(defect, spec).ns / modelLaunch(remedied, spec).ns;
      expect(finding.estimatedSpeedup).toBeCloseTo(gain, 6);
    });
  }
});

describe('serial-sections', () => {
  it('also fires where one warp walks most of the critical path between barriers', () => {
    const finding = find(pathLonger(4, WARPS * 10), 'serial-sections');
    expect(finding!.evidence[0]).toMatchObject({ counter: 'serial share of the critical path', value: 0.75 });
  });

  it('is warp-imbalance instead where no barrier makes the other warps wait', () => {
    expect(find(pathLonger(4, 0), 'serial-sections')).toBeUndefined();
    expect(find(pathLonger(4, WARPS * 10), 'warp-imbalance')).toBeUndefined();
  });

  it('leaves few-lane code alone where nobody waits for it', () => {
    expect(find(serialLanes(1, 0), 'serial-sections')).toBeUndefined();
  });
});

describe('atomics-contention', () => {
  // One per CTA, 20,000 CTAs, one address: 111 clocks each.
  const oneEach = (ctaCount: number): LaunchCounters =>
    makeLaunch({
      ctaCount,
      block: [256, 1, 1],
      classes: { fp32: ctaCount * 8 * 100, atomic: ctaCount },
      globalAtomicRequests: ctaCount,
      distinctSectorsWritten: 1,
    });

  it('also fires where one atomic per CTA is too many, and estimates one per SM', () => {
    const finding = find(oneEach(20_000), 'atomics-contention')!;
    expect(finding.evidence[0]).toMatchObject({ counter: 'atomics time ÷ predicted time', threshold: 0.5 });
    expect(finding.evidence[0]!.value).toBeGreaterThan(0.9);
    expect(finding.arithmetic).toContain('one atomic per SM (58)');
    expect(finding.estimatedSpeedup).toBeGreaterThan(10);
  });

  it('is silent where there is one per SM already', () => {
    expect(find(oneEach(58), 'atomics-contention')).toBeUndefined();
  });
});

describe('special-function-bound', () => {
  // 16 lanes per clock: a warp instruction every 2 clocks; 4 schedulers issue 8 in that time.
  const atLimit = exponentials(1000);

  it('takes the place of compute-bound where the special-function units bind', () => {
    const ids = findings(atLimit).map(({ id }) => id);
    expect(ids).toContain('special-function-bound');
    expect(ids).not.toContain('compute-bound');
  });

  it('cites the units’ time, and estimates what half of the special functions give', () => {
    const { ns, bounds } = modelLaunch(atLimit, spec);
    const finding = find(atLimit, 'special-function-bound')!;
    const evidence = finding.evidence[0]!;
    expect(evidence).toMatchObject({ counter: 'special-function time ÷ predicted time', comparison: 'above' });
    expect(evidence.value).toBeCloseTo(bounds.find(({ resource }) => resource === 'special')!.ns / ns, 9);
    expect(evidence.where).toContain('kernel');
    expect(finding.estimatedSpeedup).toBeCloseTo(ns / modelLaunch(exponentials(500), spec).ns, 6);
    expect(finding.arithmetic).toMatch(/ → .* = [\d.]+×/);
  });

  it('is silent where other pipes take longer: one in 17 instructions', () => {
    expect(find(exponentials(62), 'special-function-bound')).toBeUndefined();
  });
});

it('counts one CTA in the singular', () => {
  const finding = find(makeLaunch({ ctaCount: 1, classes: { fp32: 40_000 } }), 'parallelism')!;
  expect(finding.title).toMatch(/^1 CTA on 58 SMs/);
  expect(finding.evidence[0]!.where).toContain(': 1 CTA, 58 SMs');
});

describe('launch-bound', () => {
  const tiny = makeLaunch({ ctaCount: 58, classes: { fp32: 58 * 4 } });
  const overheadNs = spec.launchOverheadNs.value;

  it('fires where three launches do next to nothing, and estimates one instead', () => {
    const finding = findings([tiny, tiny, tiny]).find(({ id }) => id === 'launch-bound')!;
    const { ns } = modelLaunch(tiny, spec);
    expect(finding.evidence[0]).toMatchObject({ counter: 'launch overhead ÷ predicted time', comparison: 'above' });
    expect(finding.evidence[0]!.value).toBeCloseTo(overheadNs / ns, 9);
    expect(finding.estimatedSpeedup).toBeCloseTo((3 * ns) / (3 * ns - 2 * overheadNs), 9);
    expect(finding.title).toContain('3 launches');
  });

  it('fires on one launch too, and promises nothing: it has nothing to be fused with', () => {
    const finding = find(tiny, 'launch-bound')!;
    expect(finding.estimatedSpeedup).toBe(1);
    expect(finding.title).toContain('the launch takes');
    expect(finding.arithmetic).toContain('nothing to fuse');
    expect(finding.advice).toContain('batch more work');
  });

  it('is silent where the work takes as long as the launch', () => {
    const busy = makeLaunch({ ...full, classes: { fp32: WARPS * 1000 } });
    expect(modelLaunch(busy, spec).ns).toBeGreaterThan(2 * overheadNs);
    expect(findings([busy, busy]).map(({ id }) => id)).not.toContain('launch-bound');
  });
});

describe('warp-imbalance', () => {
  it('bears one barrier per warp: the warps still meet only once', () => {
    expect(find(pathLonger(4, WARPS), 'warp-imbalance')).toBeDefined();
    expect(find(pathLonger(4, WARPS + CTAS), 'warp-imbalance')).toBeUndefined();
  });
});

describe('tail-effect', () => {
  it('counts a CTA that works three times as long as the mean one, where CTAs fill the SMs evenly', () => {
    const even = makeLaunch({ ctaCount: 58, classes: { fp32: 58 * 4 * 100_000 } });
    const finding = find({ ...even, longestCtaInstructions: 3 * even.longestCtaInstructions }, 'tail-effect')!;
    expect(finding.evidence[0]!.value).toBeCloseTo(3, 9);
    expect(finding.estimatedSpeedup).toBeGreaterThan(2.5);
  });
});

describe('occupancy', () => {
  it('is silent where there are no CTAs to fill the SMs with', () => {
    expect(find(occupied(57 * 1024, 58), 'occupancy')).toBeUndefined();
  });
});

describe('bank-conflicts', () => {
  it('counts stores as well as loads', () => {
    const launch = makeLaunch({
      ...full,
      classes: { 'shared-store': WARPS * 1000 },
      sharedStoreRequests: WARPS * 1000,
      sharedStoreWavefronts: WARPS * 4000,
      sharedStoreBankConflicts: WARPS * 3000,
    });
    const finding = find(launch, 'bank-conflicts')!;
    expect(finding.evidence[0]!.value).toBeCloseTo(0.75, 9);
    expect(finding.title).toBe('bank conflicts: 75 % of shared-memory wavefronts, 4× the minimum');
    expect(finding.estimatedSpeedup).toBeCloseTo(
      modelLaunch(launch, spec).ns / modelLaunch({ ...launch, sharedStoreWavefronts: WARPS * 1000 }, spec).ns,
      6,
    );
  });
});

describe('tensor-cores-unused', () => {
  it('moves half of the conversions and what feeds the products with the products', () => {
    // Per warp 1000 fp32 instructions, of which 500 are multiply-adds (32,000 FLOP), 400 conversions, 800 shared loads.
    const launch = makeLaunch({
      ...full,
      classes: { fp32: WARPS * 1000, conversion: WARPS * 400, 'shared-load': WARPS * 800 },
      flop: { fp16: 0, fp32: WARPS * 32_000, fp64: 0, tensor: 0 },
      sharedLoadRequests: WARPS * 800,
      sharedLoadWavefronts: WARPS * 1600,
      sharedLoadBankConflicts: WARPS * 800,
    });
    const mmas = (WARPS * 32_000) / 4096;
    const wavefronts = mmas * 6;
    const remedied = makeLaunch({
      ...full,
      classes: {
        fp32: WARPS * 500,
        conversion: WARPS * 200,
        'shared-load': wavefronts / 2,
        tensor: mmas,
      },
      flop: { fp16: 0, fp32: WARPS * 16_000, fp64: 0, tensor: WARPS * 32_000 },
      sharedLoadRequests: wavefronts / 2,
      sharedLoadWavefronts: wavefronts,
    });
    const gain = modelLaunch(launch, spec).ns / modelLaunch(remedied, spec).ns;
    expect(find(launch, 'tensor-cores-unused', true)!.estimatedSpeedup).toBeCloseTo(gain, 6);
  });
});

describe('binding resources', () => {
  const bound = (launch: LaunchCounters): FindingId[] =>
    findings(launch)
      .map((finding) => finding.id as FindingId)
      .filter((id) => id.endsWith('-bound'));

  it('calls a streaming kernel memory-bound and nothing else', () => {
    const stream = { ...globalWork(16, 16), distinctSectorsRead: WARPS * 100 * 16 };
    expect(bound(stream)).toEqual(['memory-bound']);
  });

  it('calls a kernel of full warps of arithmetic compute-bound and nothing else', () => {
    expect(bound(makeLaunch({ ...full, classes: { fp32: WARPS * 10_000 } }))).toEqual(['compute-bound']);
  });

  it('calls a lone chain of shuffles latency-bound and nothing else', () => {
    const chain = makeLaunch({ ctaCount: 58, block: [32, 1, 1], classes: { shuffle: 58 * 10_000 } });
    expect(bound(chain)).toEqual(['latency-bound']);
  });

  it('estimates what half the demand gives', () => {
    const chain = makeLaunch({ ctaCount: 58, block: [32, 1, 1], classes: { shuffle: 58 * 10_000 } });
    const half = makeLaunch({ ctaCount: 58, block: [32, 1, 1], classes: { shuffle: 58 * 5000 } });
    const [finding] = findings(chain);
    // Shuffles also occupy their crossbar, which the estimate leaves as it is: 10,000 of 120,000 clocks.
    expect(finding!.estimatedSpeedup).toBeCloseTo(modelLaunch(chain, spec).ns / modelLaunch(half, spec).ns, 2);
    expect(finding!.evidence[0]!.value).toBeGreaterThan(0.9);
    expect(finding!.evidence[0]!.value).toBeLessThanOrEqual(1);
  });

  it('calls a launch whose overhead is all there is launch-bound and nothing else', () => {
    expect(findings(makeLaunch({ ctaCount: 58, classes: { fp32: 58 * 4 } })).map(({ id }) => id)).toEqual([
      'launch-bound',
    ]);
  });
});

describe('evidence', () => {
  it('names the hottest line', () => {
    const launch = sharedWork(7, [line(10, { bankConflicts: 5 }), line(42, { bankConflicts: 500 }), line(50, {})]);
    expect(find(launch, 'bank-conflicts')!.evidence[0]!.where).toContain('kernel.cu:42');
  });

  it('names the function alone when lines are unknown', () => {
    expect(find(sharedWork(7), 'bank-conflicts')!.evidence[0]!.where).toMatch(/^kernel: /);
  });
});

describe('diagnose', () => {
  const parallelAndMore = makeLaunch({
    ctaCount: 2,
    block: [128, 1, 1],
    classes: { 'shared-load': 8 * 10_000, fp32: 8 * 1000, shuffle: 8 * 1000 },
    sharedLoadRequests: 8 * 10_000,
    sharedLoadWavefronts: 8 * 10_000 * 32,
    sharedLoadBankConflicts: 8 * 10_000 * 31,
  });

  it('puts parallelism first: 2 CTAs on 58 SMs = 3.4 %', () => {
    const [first, ...others] = findings(parallelAndMore);
    expect(first).toMatchObject({ id: 'parallelism', title: '2 CTAs on 58 SMs = 3.4 % of the GPU used' });
    expect(others.map((finding) => finding.id)).toContain('bank-conflicts');
  });

  it('puts parallelism first even where another finding promises more', () => {
    const almost = makeLaunch({
      ...parallelAndMore,
      classes: { 'shared-load': 57 * 4 * 10_000 },
      ctaCount: 57,
      sharedLoadRequests: 57 * 4 * 10_000,
      sharedLoadWavefronts: 57 * 4 * 10_000 * 32,
      sharedLoadBankConflicts: 57 * 4 * 10_000 * 31,
    });
    const [first, second] = findings(almost);
    expect(first!.id).toBe('parallelism');
    expect(second!.estimatedSpeedup).toBeGreaterThan(first!.estimatedSpeedup);
  });

  it('sorts the rest by estimated speed-up', () => {
    const gains = findings(parallelAndMore)
      .slice(1)
      .map((finding) => finding.estimatedSpeedup);
    expect(gains.length).toBeGreaterThan(1);
    expect(gains).toEqual([...gains].sort((a, b) => b - a));
  });

  it('never estimates a speed-up below 1', () => {
    for (const { defect, healthy } of CASES) {
      for (const finding of [...findings(defect, true), ...findings(healthy, true)]) {
        expect(finding.estimatedSpeedup, finding.id).toBeGreaterThanOrEqual(1);
      }
    }
  });

  it('weighs a launch by its share of the sequence', () => {
    const long = makeLaunch({ ...full, functionName: 'long', classes: { fp32: WARPS * 10_000 } });
    const short = { ...sharedWork(7), functionName: 'short' };
    const alone = find(short, 'bank-conflicts')!.estimatedSpeedup;
    const together = findings([long, short]).find((finding) => finding.id === 'bank-conflicts')!;
    expect(together.estimatedSpeedup).toBeLessThan(alone);
    expect(together.evidence[0]!.where).toContain('short');
  });

  it('says nothing when nothing ran', () => {
    const empty = makeLaunch({ classes: {} });
    expect(findings(empty)).toEqual([]);
  });

  it('leaves tensor cores alone where the problem has no half-precision matrix work', () => {
    expect(find(multiplying(0), 'tensor-cores-unused', false)).toBeUndefined();
  });
});

it('has one rule for each finding id, in their order', () => {
  expect(RULES.map((rule) => rule.id)).toEqual([...FINDING_IDS]);
});

describe('a defect that another resource hides', () => {
  /** Bank conflicts beside so many loads from DRAM that they cost nothing. */
  const hidden = (loads: number): LaunchCounters => ({
    ...sharedWork(0.5),
    globalLoadRequests: loads,
    globalLoadSectors: loads * 4,
    globalLoadBytes: loads * 128,
    distinctSectorsRead: loads * 4,
  });
  const whole = (launch: LaunchCounters) => {
    const timing = predictTime([launch], spec, { vetoNs: 0, attainableNs: 0 });
    return diagnoseWhole({ counters: makeCounters(launch), timing, spec, halfPrecisionMatrixWork: false });
  };
  const ids = (found: readonly Finding[]) => found.map(({ id }) => id);

  it('is no finding, and is said all the same', () => {
    const { findings: found, hiddenFindings } = whole(hidden(WARPS * 3000));
    expect(ids(found)).not.toContain('bank-conflicts');
    expect(ids(hiddenFindings)).toContain('bank-conflicts');
    expect(hiddenFindings.find(({ id }) => id === 'bank-conflicts')!.arithmetic).toMatch(/then bound by \w+/);
  });

  it('is a finding where nothing hides it', () => {
    const { findings: found, hiddenFindings } = whole(hidden(1));
    expect(ids(found)).toContain('bank-conflicts');
    expect(ids(hiddenFindings)).not.toContain('bank-conflicts');
  });
});
