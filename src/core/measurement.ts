import { z } from 'zod';
import { count, intervalOrNaN, numberOrNaN } from './schemas/common-schema.ts';
import { THROTTLE_REASONS, VERDICTS } from './vocabulary.ts';

const gpuState = z
  .strictObject({
    smClockMhz: count.optional(),
    memoryClockMhz: count.optional(),
    temperatureC: z.number().optional(),
    powerW: count.optional(),
    powerLimitW: count.optional(),
    throttleReasons: z.array(z.enum(THROTTLE_REASONS)).describe('Idle is none.').optional(),
    otherProcessCount: count.describe('Processes with a context on this GPU that are not ours.').optional(),
  })
  .meta({ id: 'GpuState', description: 'Values that NVML reports; others are absent.' });

/** State of a GPU at one moment, from NVML. */
export interface GpuState extends z.infer<typeof gpuState> {}

const tier = z.enum(['screen', 'accept']);

/** `screen`: enough to tell whether a candidate is worth more time; `accept`: enough for a verdict. */
export type Tier = z.infer<typeof tier>;

const conditions = z.strictObject({
  tier,
  cache: z.enum(['hot', 'cold']).describe('cold: a ring of at least 3 × L2, no flush; hot: at most half of L2.'),
  ringBytes: count.describe('Of the smallest block.'),
  l2Bytes: count,
  slotCount: count.describe('The most that a block has; how many each has is secret.'),
  fewestSlotCount: count.optional(),
  sequencesPerReplay: count.describe('Launch sequences in one graph replay: as many as the block has slots.'),
  rereadsInputs: z
    .boolean()
    .optional()
    .describe(
      'Whether inputs were read once more before each replay, as L2 can’t hold the ring. Absent: they never were.',
    ),
  replaysPerSample: count.describe('Replays whose times are added up for one sample.'),
  replayOverheadNs: z.number().describe('The time of a replay beyond its launches; subtracted from every replay.'),
  inputs: z.enum(['drawn-on-device', 'drawn-on-host']).describe('Where the inputs of every sample come from.'),
});

/** What the samples were taken on. */
export interface MeasurementConditions extends z.infer<typeof conditions> {}

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
  intervalNs: intervalOrNaN('95 % bootstrap interval of the median over blocks.'),
});

/** Summary of samples, in ns. */
export interface SampleSummary extends z.infer<typeof summary> {}

const block = z
  .strictObject({
    samples: z
      .array(z.strictObject({ contender: z.string(), samplesNs: z.array(numberOrNaN) }))
      .describe('By contender: device time of one launch sequence, each the mean over one sample.'),
    before: gpuState,
    after: gpuState,
    discarded: z.string().describe('Why the block does not count, e.g. `thermal-slowdown`.').optional(),
    powerCapped: z.boolean().optional(),
    unsteadyBaselines: z
      .array(z.string())
      .describe('Baselines more than 2 % off their median in the blocks before.')
      .optional(),
  })
  .meta({ id: 'MeasuredBlock' });

/** One fresh allocation with fresh inputs, in which all contenders are timed in a random order. */
export interface MeasuredBlock extends z.infer<typeof block> {}

export const measurementSchema = z
  .strictObject({
    contender: z.string(),
    conditions,
    summary,
    eagerNs: z
      .number()
      .describe('Median device time of one sequence launched alone, outside a graph, between two events.')
      .optional(),
    blocks: z.array(block),
    discardedBlockCount: count,
    powerCapped: z.boolean().describe('Some blocks ran at the power cap.'),
    disturbances: z.array(z.string()).describe('Other activity on the GPU, in words.'),
    checkedSlotCount: count.describe('Slots compared with the oracle.'),
    rerunCount: count.describe('Launch sequences run again by themselves and compared with the replay.').optional(),
  })
  .meta({ id: 'Measurement' });

/** Everything measured about one contender. Plain JSON. */
export interface Measurement extends z.infer<typeof measurementSchema> {}

export const comparisonSchema = z
  .strictObject({
    candidate: z.string(),
    baseline: z.string(),
    verdict: z.enum(VERDICTS).describe('Of the candidate.'),
    ratio: numberOrNaN.describe(
      'Baseline time ÷ candidate time, geometric mean over blocks; above 1 the candidate is faster.',
    ),
    intervalRatio: intervalOrNaN('95 % bootstrap interval over blocks, 10,000 resamples.'),
    blockCount: count,
    mannWhitney: z.strictObject({
      u: numberOrNaN.describe('U of the candidate’s samples.'),
      pValue: numberOrNaN.describe('Two-sided, normal approximation with tie correction.'),
    }),
    cliffsDelta: numberOrNaN.describe('P(candidate faster) − P(candidate slower) over all pairs of samples, −1…1.'),
    baselineSlowdown: numberOrNaN
      .describe(
        'Baseline’s time beside the candidate ÷ its time in blocks without it; above 1, the candidate slows it down. Only for ' +
          'baseline kernels, if a verdict was requested.',
      )
      .optional(),
  })
  .meta({ id: 'Comparison' });

/** Comparison of a candidate's samples with a baseline's, from the same blocks. */
export interface Comparison extends z.infer<typeof comparisonSchema> {}
