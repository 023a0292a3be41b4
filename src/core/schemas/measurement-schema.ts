import { z } from 'zod';
import { type Comparison, type Measurement, THROTTLE_REASONS, VERDICTS } from '../measurement.ts';
import { type Assert, count, type Matches, numberOrNaN } from './common-schema.ts';

const interval = (what: string) => z.tuple([numberOrNaN, numberOrNaN]).describe(what);

const gpuState = z
  .strictObject({
    smClockMhz: count.optional(),
    memoryClockMhz: count.optional(),
    temperatureC: z.number().optional(),
    powerW: count.optional(),
    powerLimitW: count.optional(),
    throttleReasons: z.array(z.enum(THROTTLE_REASONS)).optional(),
    otherProcessCount: count.optional(),
  })
  .meta({ id: 'GpuState', description: 'Values that NVML reports; others are absent.' });

const conditions = z.strictObject({
  tier: z.enum(['screen', 'accept']),
  cache: z.enum(['hot', 'cold']).describe('cold: a ring of at least 3 × L2, no flush; hot: at most half of L2.'),
  ringBytes: count,
  l2Bytes: count,
  slotCount: count.describe('The most that a block has; how many each has is secret.'),
  fewestSlotCount: count.optional(),
  sequencesPerReplay: count,
  replaysPerSample: count,
  replayOverheadNs: z.number().describe('The time of a replay beyond its launches; subtracted from every replay.'),
  inputs: z.enum(['drawn-on-device', 'drawn-on-host']),
});

const summary = z.strictObject({
  minNs: numberOrNaN,
  p5Ns: numberOrNaN,
  medianNs: numberOrNaN.describe('Of block medians; everything else is over all samples.'),
  p95Ns: numberOrNaN,
  maxNs: numberOrNaN,
  meanNs: numberOrNaN,
  coefficientOfVariation: numberOrNaN.describe('Standard deviation ÷ mean.'),
  sampleCount: count,
  blockCount: count,
  intervalNs: interval('95 % bootstrap interval of the median over blocks.'),
});

const block = z
  .strictObject({
    samples: z.array(z.strictObject({ contender: z.string(), samplesNs: z.array(numberOrNaN) })),
    before: gpuState,
    after: gpuState,
    discarded: z.string().describe('Why the block does not count.').optional(),
    powerCapped: z.boolean().optional(),
    unsteadyBaselines: z
      .array(z.string())
      .describe('Baselines more than 2 % off their median in the blocks before.')
      .optional(),
  })
  .meta({ id: 'MeasuredBlock' });

export const measurementSchema = z
  .strictObject({
    contender: z.string(),
    conditions,
    summary,
    eagerNs: z.number().describe('One sequence launched alone, outside a graph.').optional(),
    blocks: z.array(block),
    discardedBlockCount: count,
    powerCapped: z.boolean(),
    disturbances: z.array(z.string()),
    checkedSlotCount: count.describe('Slots compared with the oracle.'),
    rerunCount: count.describe('Launch sequences run again by themselves and compared with the replay.').optional(),
  })
  .meta({ id: 'Measurement' });

export const comparisonSchema = z
  .strictObject({
    candidate: z.string(),
    baseline: z.string(),
    verdict: z.enum(VERDICTS).describe('Of the candidate.'),
    ratio: numberOrNaN.describe('Baseline time ÷ candidate time, geometric mean over blocks.'),
    intervalRatio: interval('95 % bootstrap interval over blocks, 10,000 resamples.'),
    blockCount: count,
    mannWhitney: z.strictObject({ u: numberOrNaN, pValue: numberOrNaN }),
    cliffsDelta: numberOrNaN.describe('P(candidate faster) − P(candidate slower).'),
    baselineSlowdown: numberOrNaN.describe('Baseline’s time beside the candidate ÷ its time alone.').optional(),
  })
  .meta({ id: 'Comparison' });

export type MeasurementSchemaMatchesContract = Assert<Matches<z.infer<typeof measurementSchema>, Measurement>>;
export type ComparisonSchemaMatchesContract = Assert<Matches<z.infer<typeof comparisonSchema>, Comparison>>;
