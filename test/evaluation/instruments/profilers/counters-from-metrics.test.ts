import { describe, expect, it } from 'vitest';
import type { PlannedLaunch } from '../../../../src/core/launch-plan.ts';
import { sumCounters } from '../../../../src/core/sum-counters.ts';
import { diagnose } from '../../../../src/diagnosis/diagnose.ts';
import {
  countersFromMetrics,
  type ProfiledLaunch,
} from '../../../../src/evaluation/instruments/profilers/counters-from-metrics.ts';
import { parseDetailsPage } from '../../../../src/evaluation/instruments/profilers/parse-details-page.ts';
import { DEVICE_SPECS } from '../../../../src/hardware/device-specs.ts';
import { PLAN, sample } from './fixtures.ts';

const { metrics, instances } = parseDetailsPage(sample('details-page.csv')).launches[0]!;
const planned = PLAN.steps.find((step): step is PlannedLaunch => step.kind === 'launch')!;
const count = (of: Partial<ProfiledLaunch> = {}) =>
  countersFromMetrics({ profiled: { metrics, instances }, planned, plan: PLAN, lines: [], ...of });

/** Counts by opcode alone, for instructions that the excerpt's kernel has none of. */
const countOpcodes = (warps: Record<string, number>, lanes: Record<string, number>) =>
  count({
    profiled: {
      metrics: {},
      instances: {
        sass__inst_executed_per_opcode_with_modifier_all: new Map(Object.entries(warps)),
        sass__thread_inst_executed_true_per_opcode: new Map(Object.entries(lanes)),
      },
    },
  });

describe('countersFromMetrics', () => {
  const counters = count();

  it('takes what the hardware counts as it is', () =>
    expect(counters).toMatchObject({
      functionName: 'attention<64>',
      grid: [16, 8, 1],
      ctaCount: 128,
      countedCtas: 128,
      instructions: 14384128,
      threadInstructions: 460292096,
      globalLoadRequests: 33792,
      globalLoadSectors: 540672,
      globalStoreRequests: 8192,
      globalStoreSectors: 32768,
      sharedLoadWavefronts: 2621440,
      sharedLoadBankConflicts: 0,
      sharedStoreWavefronts: 212992,
      sharedStoreBankConflicts: 8192,
      divergentBranches: 0,
    }));

  it('derives the rest from how often each opcode ran', () => {
    expect(counters).toMatchObject({
      sharedLoadRequests: 1376256,
      sharedStoreRequests: 51200,
      localLoadRequests: 0,
      barriers: 8192,
      branches: 144384,
    });
    const sum = Object.values(counters.instructionsByClass).reduce((a, b) => a + b, 0);
    expect(sum).toBe(14384128);
    expect(counters.instructionsByClass).toMatchObject({ special: 102400, shuffle: 184320, barrier: 8192, tensor: 0 });
  });

  it('weights with the lanes of each opcode', () => {
    // FFMA, FADD, FMUL, FMNMX and MUFU by the lanes that ran them.
    expect(counters.flop.fp32).toBe(2 * 269746176 + 4980736 + 286720 * (3145728 / 286720) + 8388608 + 3276800);
    expect(counters.globalLoadBytes).toBe(33792 * 32 * 16);
    expect(counters.globalStoreBytes).toBe(8192 * 32 * 2);
  });

  it('knows matrix, atomic and local instructions', () => {
    const others = countOpcodes(
      { 'HMMA.16816.F32': 100, 'ATOMS.ADD': 40, 'RED.E.ADD': 60, STL: 300, 'LDL.LU': 500, 'LDG.E.64': 10 },
      { LDG: 160 },
    );
    expect(others.flop.tensor).toBe(100 * 4096);
    expect(others).toMatchObject({
      sharedAtomicRequests: 40,
      globalAtomicRequests: 60,
      localStoreRequests: 300,
      localLoadRequests: 500,
      globalLoadRequests: 10,
      globalLoadBytes: 10 * 16 * 8,
    });
  });

  it('bounds distinct sectors by the buffers a launch is given', () => {
    expect(counters.distinctSectorsRead).toBe(8192 / 32);
    expect(counters.distinctSectorsWritten).toBe(8192 / 32);
  });

  it('takes resources from the driver, else from the profiler', () => {
    const asked = {
      ...metrics,
      launch__registers_per_thread: { value: 96, unit: 'register/thread' },
      launch__shared_mem_per_block_static: { value: 2048, unit: 'byte/block' },
    };
    const own = count({ profiled: { metrics: asked, instances } });
    expect(own.resources).toMatchObject({ registersPerThread: 96, staticSharedBytes: 2048 });
    const resources = { ...own.resources, registersPerThread: 80, localBytesPerThread: 16 };
    expect(count({ resources }).resources).toMatchObject({ registersPerThread: 80, localBytesPerThread: 16 });
  });

  it('takes the waits as shares of the time between two instructions, and the tensor pipe', () => {
    const metric = (value: number) => ({ value, unit: '' });
    // Of 09_fragments at b1h8s512d64 on an H200: 2.2 of 6.7 clocks are waits for global loads.
    const waits = {
      'smsp__average_warp_latency_per_inst_issued.ratio': metric(6.7),
      'smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio': metric(2.2),
    };
    const tensor = { 'sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active': metric(56) };
    const activity = (given: Record<string, { value: number; unit: string }>) =>
      count({ profiled: { metrics: given, instances: {} } }).activity;
    expect(activity({ ...waits, ...tensor })).toEqual({
      tensorPipeRatio: 0.56,
      stallRatios: { long_scoreboard: 2.2 / 6.7 },
    });
    expect(activity(tensor)).toEqual({ tensorPipeRatio: 0.56 });
    expect(activity({})).toBeUndefined();
  });

  it('leaves 0 where a metric is missing', () =>
    expect(count({ profiled: { metrics: {}, instances: {} } })).toMatchObject({
      instructions: 0,
      globalLoadSectors: 0,
    }));
});

describe('rules on hardware counters', () => {
  const timing = { kind: 'measured', minNs: 1, medianNs: 1, q3Ns: 1, sampleCount: 1, vetoNs: 0, attainableNs: 0 };
  const diagnosed = (launch: ReturnType<typeof count>) =>
    diagnose({
      counters: sumCounters([launch]),
      timing: timing as never,
      spec: DEVICE_SPECS.get('h200')!,
      halfPrecisionMatrixWork: true,
    });
  const resources = { ...count().resources, registersPerThread: 96 };

  it('work without what the hardware does not tell', () => {
    const findings = diagnosed(count({ resources }));
    expect(findings.map(({ id }) => id)).toContain('parallelism');
    for (const finding of findings) expect(Number.isFinite(finding.estimatedSpeedup)).toBe(true);
    expect(findings.map(({ id }) => id)).not.toContain('divergence');
  });

  it('see divergence in the mean of the lanes', () => {
    const counted = count({ resources });
    const parted = { ...counted, threadInstructions: counted.instructions * 12, divergentBranches: 100_000 };
    const divergence = diagnosed(parted).find(({ id }) => id === 'divergence')!;
    expect(divergence.evidence[0]!.value).toBeCloseTo(12 / 32);
    expect(divergence.estimatedSpeedup).toBeGreaterThan(1.02);
  });
});
