import { z } from 'zod';
import { measurementSchema } from './measurement.ts';
import { count, interval, ratio } from './schemas/common-schema.ts';

const bound = z.strictObject({ resource: z.string(), ns: z.number(), arithmetic: z.string() }).meta({ id: 'Bound' });

const occupancy = z.strictObject({
  ctasPerSm: count,
  warpsPerSm: count,
  maximumWarpsPerSm: count,
  ratio: ratio.describe('warpsPerSm ÷ maximumWarpsPerSm.'),
  limiter: z.enum(['warps', 'registers', 'shared-memory', 'ctas']),
  kind: z.literal('theoretical'),
});

/** Theoretical occupancy of one function on one device. */
export interface Occupancy extends z.infer<typeof occupancy> {}

const launchTiming = z.strictObject({
  functionName: z.string(),
  medianNs: z.number(),
  bindingResource: z.string(),
  bounds: z.array(bound),
  occupancy,
  ctaCount: count,
  waves: z.number().describe('Waves of CTAs, e.g. 1.3.'),
  tailRatio: ratio.describe('Whole waves ÷ waves: the cost of the last, partly filled wave.'),
  launchOverheadNs: z.number(),
  dramBytesEstimate: count,
  l2BytesEstimate: count.describe('Estimated from what misses L1, stores and atomics.').optional(),
  l2HitRatioEstimate: ratio.describe('Share of the loads’ L2 traffic that L2 serves without DRAM.').optional(),
  cacheSampledRatio: ratio
    .describe('Sampled share of the L2 sets behind the DRAM bytes; absent if they follow from capacities.')
    .optional(),
});

export interface LaunchTiming extends z.infer<typeof launchTiming> {}

export const timingSchema = z.strictObject({
  kind: z.enum(['measured', 'predicted']),
  medianNs: z.number(),
  intervalNs: interval.describe('Predicted: of the model; measured: of 95 % confidence.'),
  vetoNs: z.number().describe('Provable lower bound; a time below it is implausible.'),
  attainableNs: z.number().describe('What realistic peaks allow.'),
  bindingResource: z
    .string()
    .describe('What bounds the prediction, e.g. `fp32`, `shared`, `l2`, `dram`, `latency`, `issue`.'),
  bounds: z.array(bound).describe('Predicted only: every bound considered, slowest first.').optional(),
  launches: z.array(launchTiming).describe('Predicted only: per launch of the sequence.').optional(),
  measurement: measurementSchema.describe('Measured only: samples, conditions and statistics.').optional(),
});

/** A device time. `measured` and `predicted` are never compared or printed as one. */
export interface Timing extends z.infer<typeof timingSchema> {}
