import { describe, expect, it } from 'vitest';
import type { PlannedLaunch } from '../../../src/core/launch-plan.ts';
import { diagnose } from '../../../src/diagnosis/diagnose.ts';
import { countersFromMetrics } from '../../../src/evaluation/profilers/counters-from-metrics.ts';
import { parseRawPage } from '../../../src/evaluation/profilers/parse-raw-page.ts';
import { sumCounters } from '../../../src/evaluation/sum-counters.ts';
import { DEVICE_SPECS } from '../../../src/hardware/device-specs.ts';
import { PLAN, sample } from './fixtures.ts';

const launches = parseRawPage(sample('raw-page.csv'));
const planned = PLAN.steps.filter((step): step is PlannedLaunch => step.kind === 'launch');
const count = (index: number) =>
  countersFromMetrics({ raw: launches[index]!, planned: planned[index]!, plan: PLAN, lines: [] });

describe('countersFromMetrics', () => {
  const counters = count(0);

  it('takes what the hardware counts as it is', () =>
    expect(counters).toMatchObject({
      functionName: 'attention<64>',
      grid: [16, 8, 1],
      ctaCount: 128,
      countedCtas: 128,
      instructions: 20000,
      threadInstructions: 620000,
      globalLoadRequests: 1000,
      globalLoadSectors: 16000,
      globalStoreSectors: 2000,
      sharedLoadWavefronts: 4300,
      sharedLoadBankConflicts: 300,
      divergentBranches: 12,
    }));

  it('derives the rest from how often each opcode ran', () => {
    expect(counters).toMatchObject({
      sharedLoadRequests: 2000,
      globalStoreRequests: 500,
      localLoadRequests: 500,
      localStoreRequests: 300,
      barriers: 256,
      branches: 744,
      sharedAtomicRequests: 40,
      globalAtomicRequests: 60,
    });
    const sum = Object.values(counters.instructionsByClass).reduce((a, b) => a + b, 0);
    expect(sum).toBe(20000);
    expect(counters.instructionsByClass).toMatchObject({ fp32: 8000, conversion: 1000, move: 700, special: 3000 });
  });

  it('weights with the lanes of each opcode', () => {
    // 240,000 lane FFMAs of 8,000 warp ones = 30 lanes; MUFU 32 lanes; HFMA2 32 lanes on two halves.
    expect(counters.flop.fp32).toBe(8000 * 2 * 30 + 3000 * 32);
    expect(counters.flop.fp16).toBe(500 * 4 * 32);
    expect(counters.flop.tensor).toBe(100 * 4096);
    expect(counters.globalLoadBytes).toBe(1000 * 32 * 16);
    expect(counters.globalStoreBytes).toBe(500 * 16 * 2);
  });

  it('bounds distinct sectors by the buffers a launch is given', () => {
    expect(counters.distinctSectorsRead).toBe(8192 / 32);
    expect(counters.distinctSectorsWritten).toBe(8192 / 32);
  });

  it('takes resources from the driver, else from the profiler', () => {
    expect(counters.resources).toMatchObject({ registersPerThread: 94, staticSharedBytes: 2048 });
    const resources = { ...counters.resources, registersPerThread: 80, localBytesPerThread: 16 };
    const known = countersFromMetrics({ raw: launches[0]!, planned: planned[0]!, plan: PLAN, resources, lines: [] });
    expect(known.resources).toMatchObject({ registersPerThread: 80, localBytesPerThread: 16 });
  });

  it('leaves 0 where a metric is missing', () =>
    expect(count(1)).toMatchObject({ instructions: 120, sharedLoadRequests: 0, globalLoadRequests: 8 }));
});

describe('rules on hardware counters', () => {
  const counters = sumCounters([count(0), count(1)]);
  const timing = { kind: 'measured', minNs: 1, medianNs: 1, q3Ns: 1, sampleCount: 1, vetoNs: 0, attainableNs: 0 };

  it('work without what the hardware does not tell', () => {
    const findings = diagnose({
      counters,
      timing: timing as never,
      spec: DEVICE_SPECS.get('h200')!,
      halfPrecisionMatrixWork: true,
    });
    expect(findings.map(({ id }) => id)).toContain('parallelism');
    for (const finding of findings) expect(Number.isFinite(finding.estimatedSpeedup)).toBe(true);
    expect(findings.map(({ id }) => id)).not.toContain('divergence');
  });

  it('see divergence in the mean of the lanes', () => {
    const parted = { ...count(0), threadInstructions: 20000 * 12, divergentBranches: 700 };
    const findings = diagnose({
      counters: sumCounters([parted]),
      timing: timing as never,
      spec: DEVICE_SPECS.get('h200')!,
      halfPrecisionMatrixWork: true,
    });
    const divergence = findings.find(({ id }) => id === 'divergence')!;
    expect(divergence.evidence[0]!.value).toBeCloseTo(12 / 32);
    expect(divergence.estimatedSpeedup).toBeGreaterThan(1.02);
  });
});
