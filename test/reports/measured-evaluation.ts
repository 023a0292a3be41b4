import type { Evaluation } from '../../src/core/evaluation.ts';
import type { MeasuredBlock, Measurement } from '../../src/core/measurement.ts';
import { compareContenders } from '../../src/stats/compare-contenders.ts';
import { summarise } from '../../src/stats/summarise.ts';
import { evaluation } from './sample-run.ts';

const SEED = 1;

/** Blocks of two contenders, a little different from each other; the last was spoilt. */
export const twoContenders = (candidateNs: number, baselineNs: number): MeasuredBlock[] =>
  Array.from({ length: 11 }, (_, index) => {
    const factor = 1 + index / 10_000;
    return {
      samples: [
        { contender: 'candidate', samplesNs: [candidateNs * factor, candidateNs * factor * 1.001] },
        { contender: 'flash', samplesNs: [baselineNs * factor, baselineNs * factor * 1.002] },
      ],
      before: {
        smClockMhz: 1980,
        memoryClockMhz: 2619,
        temperatureC: 40 + index,
        powerW: 350,
        powerLimitW: 700,
        throttleReasons: index === 3 ? ['sw-power-cap'] : [],
      },
      after: { smClockMhz: 1950, throttleReasons: [] },
      ...(index === 3 && { powerCapped: true }),
      ...(index === 10 && { discarded: 'thermal-slowdown' }),
    };
  });

export const measurementOf = (
  blocks: MeasuredBlock[],
  contender: string,
  tier: 'screen' | 'accept' = 'accept',
): Measurement => ({
  contender,
  conditions: {
    tier,
    cache: 'cold',
    ringBytes: 180 * 2 ** 20,
    l2Bytes: 60 * 2 ** 20,
    slotCount: 90,
    sequencesPerReplay: 90,
    replaysPerSample: 1,
    replayOverheadNs: 1500,
    inputs: 'drawn-on-device',
  },
  summary: summarise(blocks, contender, SEED),
  eagerNs: 75_000,
  blocks,
  discardedBlockCount: 1,
  powerCapped: true,
  disturbances: ['another process held a context on this GPU'],
  checkedSlotCount: 150,
});

/** A passed evaluation on a real GPU, beside a library that is 1.4 times slower. */
export function measuredEvaluation(id = 'e1', candidateNs = 69_120, more: Partial<Evaluation> = {}): Evaluation {
  const blocks = twoContenders(candidateNs, candidateNs * 1.4);
  const measurement = measurementOf(blocks, 'candidate');
  return {
    ...evaluation(id, '03_rows', { BLOCK_M: 32 }, 1),
    device: { id: 'cuda:0', kind: 'cuda', name: 'NVIDIA H200', uuid: 'GPU-1', driver: '580.159.04' },
    timing: {
      kind: 'measured',
      medianNs: measurement.summary.medianNs,
      intervalNs: measurement.summary.intervalNs,
      vetoNs: 4430,
      attainableNs: 8300,
      bindingResource: 'measured',
      measurement,
    },
    comparisons: [compareContenders(blocks, { candidate: 'candidate', baseline: 'flash' }, SEED)],
    baselines: [
      {
        name: 'flash',
        kind: 'library',
        measurement: measurementOf(blocks, 'flash'),
        versions: { torch: '2.11.0+cu130' },
        gpuKernels: ['flash_fwd_kernel'],
      },
    ],
    missingBaselines: [{ name: 'cudnn', reason: 'does not take fp32' }],
    countersSource: { kind: 'virtual-gpu', detail: 'counted on virtual:h200, not on this GPU' },
    sanitizer: {
      outcome: 'unsanitized',
      version: '2025.3.0',
      tools: [
        { tool: 'memcheck', outcome: 'clean', errorCount: 0, detail: '', elapsedMs: 900 },
        { tool: 'racecheck', outcome: 'timed-out', errorCount: 0, detail: 'over 60 s', elapsedMs: 60_000 },
      ],
    },
    profile: {
      tool: 'ncu',
      version: '2025.3.0',
      level: 'light',
      clockControl: 'none',
      cacheControl: 'all',
      launches: [{ functionName: 'rows', metrics: { 'gpu__time_duration.sum': { value: 123_456, unit: 'ns' } } }],
      rules: [
        {
          id: 'A',
          title: 'Small',
          message: 'a\n  b',
          functionName: 'rows',
          estimatedSpeedupPercent: 60,
          estimateScope: 'unit',
        },
        {
          id: 'B',
          title: 'Large',
          message: 'c',
          functionName: 'rows',
          estimatedSpeedupPercent: 41.5,
          estimateScope: 'launch',
        },
      ],
      elapsedMs: 5000,
    },
    ...more,
  };
}
